//! A run of a system as a table, with one row for each state.

use std::fmt;

use tenure_core::ProcessId;
use tenure_core::stabilization::{StabilizingSystem, SystemStep};

/// A run of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StabilizationRun {
    rows: Vec<Row>,
    /// True if the last state equals the first one, so that the run can repeat for ever.
    pub(super) repeats: bool,
    /// Explanation of the notation in the cells of the table.
    legend: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// Machine that took the step to this state, and the name of the rule that it applied; `None`
    /// in the first row.
    step: Option<(ProcessId, &'static str)>,
    cells: Vec<Cell>,
}

/// State of one machine in one row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    text: String,
    /// True if the machine can move in this state of the system.
    is_privileged: bool,
}

impl StabilizationRun {
    pub(super) fn from(system: &dyn StabilizingSystem, state: &[u8]) -> Self {
        let row = Row { step: None, cells: cells(system, state) };
        StabilizationRun { rows: vec![row], repeats: false, legend: system.legend() }
    }

    pub(super) fn record_step(
        &mut self,
        system: &dyn StabilizingSystem,
        step: SystemStep,
        state: &[u8],
    ) {
        let step = Some((step.machine, system.rules()[step.rule]));
        self.rows.push(Row { step, cells: cells(system, state) });
    }

    /// Returns the number of steps.
    pub fn step_count(&self) -> usize {
        self.rows.len() - 1
    }

    /// Returns the steps as text, such as `P2 moves: 1 → 0`.
    pub fn step_descriptions(&self) -> Vec<String> {
        let pairs = self.rows.iter().zip(&self.rows[1..]);
        let words = |(before, after): (&Row, &Row)| {
            let (machine, rule) = after.step?;
            let [old, new] = [before, after].map(|row| row.cells[machine.index()].text.trim_end());
            Some(format!("{machine} {rule}: {old} → {new}"))
        };
        pairs.filter_map(words).collect()
    }

    /// Returns the text of each machine's state in the first row.
    pub fn initial_machine_states(&self) -> Vec<&str> {
        self.rows[0].cells.iter().map(|cell| cell.text.trim_end()).collect()
    }
}

fn cells(system: &dyn StabilizingSystem, state: &[u8]) -> Vec<Cell> {
    let mut privileged = Vec::new();
    system.for_each_step(state, &mut |step, _| {
        if step.is_move {
            privileged.push(step.machine);
        }
    });
    let machines = (0..system.size()).map(ProcessId);
    let cell = |machine| Cell {
        text: system.format_machine(state, machine),
        is_privileged: privileged.contains(&machine),
    };
    machines.map(cell).collect()
}

/// Writes the table. The sign `●` precedes the state of the machine that took the step to this row.
/// The sign `*` follows the state of each machine that has a privilege, because it can move.
impl fmt::Display for StabilizationRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.text.chars());
        let width = texts.map(Iterator::count).max().unwrap_or(0).max(2);
        let mut line = format!("{:>4}", "");
        for machine in (0..self.rows[0].cells.len()).map(ProcessId::from_index) {
            line.push_str(&format!("   {:<width$} ", machine.to_string()));
        }
        writeln!(f, "{}", line.trim_end())?;
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = format!("{number:>4}");
            for (machine, cell) in row.cells.iter().enumerate() {
                let has_moved = row.step.is_some_and(|(moved, _)| moved.index() == machine);
                let mark = if has_moved { '●' } else { ' ' };
                let privilege = if cell.is_privileged { '*' } else { ' ' };
                let padded = format!("{}{privilege}", cell.text);
                line.push_str(&format!(" {mark} {padded:<width$}", width = width + 1));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        if self.repeats {
            writeln!(f, "   … and again from 0")?;
        }
        writeln!(f, "{}\n● took the step   * privileged", self.legend)
    }
}
