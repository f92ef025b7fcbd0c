//! The cells of the comparison: each tool on each model.

use std::process::Command;
use std::time::Duration;

use crate::compared_protocol::Scope;
use crate::measure::{self, Failure, this_program};
use crate::spin::{self, Search};
use crate::traceforge_program::VIOLATION;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    RicartAgrawala,
    Maekawa,
    ChangRoberts,
    RaftElection,
}

impl Model {
    pub(crate) const ALL: [Model; 4] =
        [Model::RicartAgrawala, Model::Maekawa, Model::ChangRoberts, Model::RaftElection];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Model::RicartAgrawala => "ricart_agrawala",
            Model::Maekawa => "maekawa",
            Model::ChangRoberts => "chang_roberts",
            Model::RaftElection => "raft_election",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Model::RicartAgrawala => "Ricart–Agrawala",
            Model::Maekawa => "Maekawa",
            Model::ChangRoberts => "Chang–Roberts",
            Model::RaftElection => "Raft's election",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Model> {
        Model::ALL.into_iter().find(|model| model.name() == name)
    }

    /// Returns the groups to explore. The list also contains the control experiment, if the model
    /// has one: a group whose processes follow a mistaken rule.
    fn scopes(self, is_quick: bool) -> Vec<Scope> {
        let scopes = self.sizes(is_quick).iter();
        let mut scopes: Vec<Scope> =
            scopes.map(|&(size, times)| Scope { size, times, is_mistaken: false }).collect();
        if self == Model::RicartAgrawala {
            scopes.push(Scope { size: 2, times: 1, is_mistaken: true });
        }
        scopes
    }

    /// Returns the sizes of the groups to explore. Each pair contains the number of processes, and
    /// the number of entries of each user.
    fn sizes(self, is_quick: bool) -> &'static [(u32, u32)] {
        match (self, is_quick) {
            (Model::RicartAgrawala, false) => &[(3, 3), (4, 1)],
            (Model::RicartAgrawala, true) => &[(2, 2), (3, 1)],
            (Model::Maekawa, false) => &[(3, 3), (4, 1)],
            (Model::Maekawa, true) => &[(3, 1)],
            (Model::ChangRoberts, false) => &[(6, 1), (7, 1)],
            (Model::ChangRoberts, true) => &[(4, 1)],
            (Model::RaftElection, false) => &[(3, 1), (4, 1)],
            (Model::RaftElection, true) => &[(3, 1)],
        }
    }

    pub(crate) const fn is_lock(self) -> bool {
        matches!(self, Model::RicartAgrawala | Model::Maekawa)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Tenure,
    /// Tenure's checker, which also checks a progress property. For this, it stores all
    /// transitions.
    TenureProgress,
    Stateright,
    Spin(Search),
    TraceForge,
}

impl Tool {
    const ALL: [Tool; 7] = [
        Tool::Tenure,
        Tool::TenureProgress,
        Tool::Stateright,
        Tool::Spin(Search::Full),
        Tool::Spin(Search::Reduced),
        Tool::Spin(Search::Bitstate),
        Tool::TraceForge,
    ];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Tool::Tenure => "`tenure check`",
            Tool::TenureProgress => "`tenure check`, with progress",
            Tool::Stateright => "stateright",
            Tool::Spin(Search::Full) => "Spin, all states",
            Tool::Spin(Search::Reduced) => "Spin, partial-order reduction",
            Tool::Spin(Search::Bitstate) => "Spin, bitstate",
            Tool::TraceForge => "TraceForge, executions",
        }
    }

    /// Returns true if the tool must count the same states as the others.
    const fn counts_all_states(self) -> bool {
        matches!(
            self,
            Tool::Tenure | Tool::TenureProgress | Tool::Stateright | Tool::Spin(Search::Full)
        )
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Number of explored states. For TraceForge, number of complete executions.
    pub(crate) count: u64,
    /// Number of explored transitions. For TraceForge, number of blocked executions.
    pub(crate) second: u64,
    pub(crate) holds: bool,
    pub(crate) cpu_seconds: f64,
    pub(crate) wall_seconds: f64,
    /// CPU seconds of generating and compiling a verifier.
    pub(crate) build_seconds: f64,
    /// Memory in bytes. `None` for a tool whose memory does not depend on the number of states.
    pub(crate) memory: Option<f64>,
}

/// Figures to report if TraceForge finds a violation. TraceForge then ends its process before the
/// process prints any counts, so the figures are fixed.
const VIOLATED: Figures = Figures {
    count: 0,
    second: 0,
    holds: false,
    cpu_seconds: 0.01,
    wall_seconds: 0.01,
    build_seconds: 0.0,
    memory: None,
};

pub(crate) struct Cell {
    pub(crate) model: Model,
    pub(crate) scope: Scope,
    pub(crate) tool: Tool,
    pub(crate) result: Result<Figures, Failure>,
}

/// Runs every tool on every model, one after the other.
///
/// # Panics
///
/// If two tools disagree about the property, or tools that explore all states count different
/// states or transitions.
pub(crate) fn run(is_quick: bool, timeout: Duration) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for model in Model::ALL {
        for scope in model.scopes(is_quick) {
            let mut of_scope = Vec::new();
            for tool in Tool::ALL {
                eprintln!("{}, {scope:?}: {tool:?}", model.name());
                // If a tool has timed out for a group, it would also time out for a larger group.
                let has_timed_out = cells.iter().any(|cell| {
                    let is_same = (cell.model, cell.tool) == (model, tool);
                    let is_within =
                        cell.scope.size <= scope.size && cell.scope.times <= scope.times;
                    is_same && is_within && cell.result.as_ref().err() == Some(&Failure::TimedOut)
                });
                let result = if has_timed_out && !scope.is_mistaken {
                    Err(Failure::NotTried)
                } else {
                    measured(tool, model, scope, timeout)
                };
                of_scope.push(Cell { model, scope, tool, result });
            }
            compare(&of_scope);
            cells.append(&mut of_scope);
        }
    }
    cells
}

fn compare(cells: &[Cell]) {
    let results = || cells.iter().filter_map(|cell| Some((cell.tool, cell.result.as_ref().ok()?)));
    let Some((_, first)) = results().next() else { return };
    for (tool, figures) in results() {
        assert_eq!(figures.holds, first.holds, "{tool:?} disagrees about the property");
        // If the property does not hold, a search ends at the first violation, so counts differ.
        if tool.counts_all_states() && figures.holds {
            assert_eq!(figures.count, first.count, "{tool:?} counts other states");
            assert_eq!(figures.second, first.second, "{tool:?} counts other transitions");
        }
    }
}

fn measured(tool: Tool, model: Model, scope: Scope, timeout: Duration) -> Result<Figures, Failure> {
    let name = match tool {
        Tool::Spin(search) => return spin_figures(model, scope, search, timeout),
        Tool::Tenure => "tenure",
        Tool::TenureProgress => "tenure-progress",
        Tool::Stateright => "stateright",
        Tool::TraceForge => "traceforge",
    };
    let mut command = Command::new(this_program());
    let Scope { size, times, is_mistaken } = scope;
    command.args([name, model.name(), &size.to_string(), &times.to_string()]);
    command.arg(is_mistaken.to_string());
    let finished = match measure::run(&mut command, timeout) {
        Err(Failure::Failed(errors)) if errors.contains(VIOLATION) => return Ok(VIOLATED),
        finished => finished?,
    };
    let explored = measure::explored(&finished.output);
    let explored = explored.ok_or_else(|| Failure::Failed("the tool printed no counts".into()))?;
    Ok(Figures {
        count: explored.first,
        second: explored.second,
        holds: explored.holds,
        cpu_seconds: finished.cpu_seconds,
        wall_seconds: finished.wall_seconds,
        build_seconds: 0.0,
        memory: (tool != Tool::TraceForge).then_some(explored.memory),
    })
}

fn spin_figures(
    model: Model,
    scope: Scope,
    search: Search,
    timeout: Duration,
) -> Result<Figures, Failure> {
    let verified = spin::verify(&format!("{}.pml", model.name()), scope, search, timeout)?;
    Ok(Figures {
        count: verified.states,
        second: verified.transitions,
        holds: verified.holds,
        cpu_seconds: verified.run.cpu_seconds,
        wall_seconds: verified.run.wall_seconds,
        build_seconds: verified.build_seconds,
        memory: (search != Search::Bitstate).then_some(verified.memory),
    })
}
