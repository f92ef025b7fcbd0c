//! The table of all algorithms.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::Service;
use tenure_sim::{Moments, Summary};

use crate::cmd::output::{WIDTH, wrapped};
use crate::cmd::simulate::books;
use crate::cmd::simulate::experiment::Outcome;
use crate::cmd::simulate::plan::Plan;
use crate::cmd::simulate::rows::{Rows, figure};

/// One algorithm: what was measured, and what theory says beside it.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// Its name.
    pub(super) name: &'static str,
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    #[serde(flatten)]
    figures: Option<Figures>,
}

#[derive(Debug, Serialize)]
struct Figures {
    /// Per entry, or per election.
    messages: Moments,
    /// Everything that was sent in a run, of other layers too.
    total: Moments,
    theory: Theory,
    /// Whether messages are fewer or more than the card says.
    outside: bool,
    delays: Delays,
    election_time: Moments,
    bypass_max: f64,
    /// By property: in how many runs it was violated.
    violated: BTreeMap<&'static str, u64>,
    /// Those of them whose violation is a failure.
    broken: Vec<&'static str>,
    /// The commands that show them again.
    replay: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Theory {
    formula: &'static str,
    least: u64,
    most: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_is: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    synchronisation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bypass: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Delays {
    entry: f64,
    exit: f64,
    synchronisation: f64,
}

impl Row {
    /// What an algorithm came to.
    pub(super) fn new(name: &'static str, plan: &Plan, outcome: &Outcome) -> Self {
        let page = books::look_up(name);
        let expected = books::expected(plan);
        let cost = &plan.card.messages;
        let summary = &outcome.summary;
        let mean = |path| summary.figure(path).map_or(0.0, Moments::mean);
        let theory = Theory {
            formula: cost.formula,
            least: cost.least,
            most: cost.most,
            expected: expected.map(|expected| expected.messages),
            expected_is: expected.map(|expected| expected.says.words()),
            entry: page.map(|page| page.entry),
            synchronisation: page.map(|page| page.synchronisation),
            bypass: page.map(|page| page.bypass),
        };
        let delays = Delays {
            entry: mean("delays.entry.mean"),
            exit: mean("delays.exit.mean"),
            synchronisation: mean("delays.synchronisation.mean"),
        };
        let broken = outcome.violations.iter().map(|violation| violation.finding.property);
        let figures = Figures {
            messages: outcome.messages,
            total: summary.figure("messages.total").copied().unwrap_or_default(),
            outside: books::is_outside(cost, outcome.messages.mean()),
            theory,
            delays,
            election_time: summary.figure("election_time").copied().unwrap_or_default(),
            bypass_max: summary.figure("bypass_max").map_or(0.0, Moments::max),
            violated: violated(summary),
            broken: broken.collect(),
            replay: outcome.violations.iter().map(|it| it.replay.clone()).collect(),
        };
        debug_assert!(matches!(plan.card.service, Service::Mutex | Service::Election));
        Row { name, refused: None, figures: Some(figures) }
    }

    /// An algorithm that does not run like this.
    pub(super) fn refused(name: &'static str, says: &str) -> Self {
        Row { name, refused: Some(says.to_owned()), figures: None }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }
}

fn violated(summary: &Summary) -> BTreeMap<&'static str, u64> {
    summary.violated().map(|(property, it)| (property, it.runs)).collect()
}

/// The table, ready to be printed.
pub(super) fn table(service: &str, size: u32, runs: u64, seed: u64, rows: &[Row]) -> String {
    let election = service == "election";
    let last = seed.wrapping_add(runs - 1);
    let mut text = Rows::new(&format!("{service}: {size} processes, seeds {seed} to {last}"));
    text.line(&if election {
        cells(["", "messages", "theory", "time", "", "", ""])
    } else {
        cells(["", "messages", "theory", "delay at", "synchro-", "", ""])
    });
    text.line(&if election {
        cells(["algorithm", "/election", "", "", "", "", "broken"])
    } else {
        cells(["algorithm", "/entry", "", "entry", "nisation", "bypass", "broken"])
    });
    for row in rows {
        match &row.figures {
            Some(figures) => measured(&mut text, row.name, figures, election),
            None => text.line(&format!("{:<32}(see below)", row.name)),
        }
    }
    text.line("");
    for row in rows {
        notes(&mut text, row);
    }
    text.into_text()
}

/// One line of the table, by column.
fn cells([name, messages, theory, first, second, third, last]: [&str; 7]) -> String {
    let line = format!("{name:<32}{messages:>8}  {theory:<16}{first:>9}{second:>10}{third:>7}");
    format!("{line}  {last}")
}

fn measured(text: &mut Rows, name: &str, figures: &Figures, election: bool) {
    let messages = figure(figures.messages.mean());
    let Theory { expected, expected_is, least, most, .. } = figures.theory;
    let theory = match (expected, expected_is, most) {
        (Some(expected), Some("exactly"), _) => format!("= {}", figure(expected)),
        (Some(expected), Some("on average"), _) => format!("≈ {}", figure(expected)),
        (Some(expected), Some("at most"), _) => format!("≤ {}", figure(expected)),
        (Some(expected), Some("at least"), _) => format!("≥ {}", figure(expected)),
        (_, _, Some(most)) if most == least => format!("= {most}"),
        (_, _, Some(most)) => format!("{least} … {most}"),
        (_, _, None) => format!("{least} … ∞"),
    };
    let broken = if figures.broken.is_empty() { "nothing" } else { "VIOLATED" };
    let (first, second, third) = if election {
        (figure(figures.election_time.mean()), String::new(), String::new())
    } else {
        let delays = &figures.delays;
        (figure(delays.entry), figure(delays.synchronisation), figure(figures.bypass_max))
    };
    text.line(&cells([name, &messages, &theory, &first, &second, &third, broken]));
}

/// What does not fit into a line of the table.
fn notes(text: &mut Rows, row: &Row) {
    let mut note = |says: &str| {
        for (place, line) in wrapped(says, WIDTH - 32).into_iter().enumerate() {
            let name = if place == 0 { row.name } else { "" };
            text.line(&format!("{name:<32}{line}"));
        }
    };
    if let Some(refused) = &row.refused {
        note(&format!("not run: {refused}"));
    }
    let Some(figures) = &row.figures else { return };
    let Theory { formula, entry, synchronisation, bypass, .. } = &figures.theory;
    let mut says = format!("{formula} messages");
    if let (Some(entry), Some(synchronisation), Some(bypass)) = (entry, synchronisation, bypass) {
        says.push_str(&format!(", entry {entry} hops alone, synchronisation {synchronisation}"));
        says.push_str(&format!(", bypass {bypass}"));
    }
    note(&says);
    if figures.outside {
        note("this is outside of what its card says");
    }
    let runs = |property| figures.violated.get(property).copied().unwrap_or(0);
    let broken = figures.broken.iter().zip(&figures.replay);
    for (property, replay) in broken {
        text.line(&format!("  VIOLATED: {property}, in {} runs", runs(*property)));
        text.line(&format!("  again:  {replay}"));
    }
}
