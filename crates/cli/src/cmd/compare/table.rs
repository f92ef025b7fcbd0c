//! The table of all algorithms.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::Property;
use tenure_sim::{Moments, Summary};

use super::Kind;
use crate::cmd::output::{width, wrapped};
use crate::cmd::simulate::books::{self, Outside};
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
    /// What it offers, where a table has several services.
    #[serde(skip_serializing_if = "Option::is_none")]
    offers: Option<&'static str>,
    /// Per entry, election or agreement.
    messages: Moments,
    /// Everything that was sent in a run, of other layers too.
    total: Moments,
    /// Everything that arrived, and whatever came twice once more.
    received: Moments,
    theory: Theory,
    /// Whether messages are fewer or more than the card says.
    outside: bool,
    /// Of locks, in virtual units.
    delays: Delays,
    election_time: Moments,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement_time: Option<Moments>,
    bypass_max: f64,
    /// By property: in how many runs it was violated.
    violated: BTreeMap<Property, u64>,
    /// Those of them whose violation is a failure.
    broken: Vec<Property>,
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
    /// From when all ask until the last of them is told, of an agreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bypass: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Delays {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    synchronisation: Option<f64>,
}

impl Row {
    /// What an algorithm came to.
    pub(super) fn new(name: &'static str, plan: &Plan, outcome: &Outcome) -> Self {
        let page = books::of_lock(&plan.card);
        let agrees = plan.card.service.is_agreement();
        let expected = books::expected(plan);
        let cost = &plan.card.messages;
        let summary = &outcome.summary;
        let mean = |path| summary.figure(path).map(Moments::mean);
        let theory = Theory {
            formula: cost.formula,
            least: cost.least,
            most: cost.most,
            expected: expected.map(|expected| expected.messages),
            expected_is: expected.map(|expected| expected.says.words()),
            entry: page.map(|page| page.entry),
            synchronisation: page.map(|page| page.delay.words),
            delay: plan.card.theory.filter(|_| agrees).map(|theory| theory.delay.words),
            bypass: page.map(|page| page.bypass),
            order: page.map(|page| page.order),
        };
        let delays = Delays {
            entry: mean("delays.entry.mean"),
            exit: mean("delays.exit.mean"),
            synchronisation: mean("delays.synchronisation.mean"),
        };
        let broken = outcome.violations.iter().map(|violation| violation.finding.property);
        let figures = Figures {
            offers: agrees.then(|| plan.card.service.name()),
            messages: outcome.messages,
            total: summary.figure("messages.total").copied().unwrap_or_default(),
            received: summary.figure("messages.received").copied().unwrap_or_default(),
            outside: outcome.outside == Outside::Plainly,
            theory,
            delays,
            election_time: summary.figure("election_time").copied().unwrap_or_default(),
            agreement_time: summary.figure("agreement_time").copied(),
            bypass_max: summary.figure("bypass_max").map_or(0.0, Moments::max),
            violated: violated(summary),
            broken: broken.collect(),
            replay: outcome.violations.iter().map(|it| it.replay.clone()).collect(),
        };
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

fn violated(summary: &Summary) -> BTreeMap<Property, u64> {
    summary.violated().map(|(property, it)| (property, it.runs)).collect()
}

/// What the column of the order needs in order to say something.
const OF_ORDER: &str = "  Users who talk lose the order of requests: `--app-messages 0.5 --latency \
    1..9 --think 0..20`.\n  What one fault does to each, over every schedule: `--faults`.";

/// A row that has all columns takes so many.
const WHOLE_ROW: usize = 98;

/// One of agreements takes so many.
const WHOLE_AGREEMENT: usize = 84;

/// The table, ready to be printed.
pub(super) fn table(kind: Kind, size: u32, runs: u64, seed: u64, rows: &[Row]) -> String {
    let last = seed.wrapping_add(runs - 1);
    let name = kind.name();
    let mut text = Rows::new(&format!("{name}: {size} processes, seeds {seed} to {last}"));
    head(&mut text, kind);
    for row in rows {
        match &row.figures {
            Some(figures) => tell(&mut text, row.name, figures, kind, runs),
            None => text.line(&format!("{:<32}(see below)", row.name)),
        }
    }
    text.line("");
    for row in rows {
        notes(&mut text, row);
    }
    if kind == Kind::Mutex {
        text.line("");
        text.line(OF_ORDER);
    }
    text.into_text()
}

/// What stands above the columns.
fn head(text: &mut Rows, kind: Kind) {
    match kind {
        Kind::Mutex => {
            let [entry, exit] = ["delay at", "at"];
            text.line(&of_mutex(["", "messages", "theory", entry, exit, "synchro-", "", "", ""]));
            let [entry, exit, synchronisation] = ["entry", "exit", "nisation"];
            let [bypass, order, broken] = ["bypass", "order", "broken"];
            let second =
                ["algorithm", "/entry", "", entry, exit, synchronisation, bypass, order, broken];
            text.line(&of_mutex(second));
        }
        Kind::Election => {
            text.line(&of_election(["", "messages", "theory", "", ""]));
            text.line(&of_election(["algorithm", "/election", "", "time", "broken"]));
        }
        Kind::Agreement => {
            text.line(&of_agreement(["", "", "messages", "theory", "", "", ""]));
            let [name, offers, each] = ["algorithm", "offers", "/agreement"];
            let [time, delay, broken] = ["time", "theory of the time", "broken"];
            text.line(&of_agreement([name, offers, each, "", time, delay, broken]));
        }
    }
}

/// One line of the table of locks, by column; delays are left out where there is no room.
fn of_mutex(cells: [&str; 9]) -> String {
    let [name, messages, theory, entry, exit, synchronisation, bypass, order, broken] = cells;
    if width() < WHOLE_ROW {
        return format!("{name:<25}{messages:>8}  {theory:<12}{broken}");
    }
    let line = format!("{name:<25}{messages:>8}  {theory:<10}{entry:>8}{exit:>5}");
    format!("{line}{synchronisation:>10}{bypass:>8}  {order:<11}{broken}")
}

/// One line of the table of elections, by column.
fn of_election([name, messages, theory, time, broken]: [&str; 5]) -> String {
    if width() < WHOLE_ROW {
        return format!("{name:<25}{messages:>9}  {theory:<14}{broken}");
    }
    format!("{name:<25}{messages:>9}  {theory:<16}{time:>9}  {broken}")
}

/// One line of the table of agreements, by column; services and times are left out where there is
/// no room. The theory of a delay is words, and so comes last.
fn of_agreement(cells: [&str; 7]) -> String {
    let [name, offers, messages, theory, time, delay, broken] = cells;
    if width() < WHOLE_AGREEMENT {
        return format!("{name:<23}{messages:>10}  {theory:<12}{broken}");
    }
    let line = format!("{name:<23}{offers:<12}{messages:>10}  {theory:<11}{time:>7}  {broken:<10}");
    format!("{line}{delay}").trim_end().to_owned()
}

/// A mean; nothing where nothing was measured, which is no 0.
fn measured(moments: &Moments) -> Option<f64> {
    (moments.count() > 0).then(|| moments.mean())
}

fn shown(measured: Option<f64>) -> String {
    measured.map_or("–".to_owned(), figure)
}

fn tell(text: &mut Rows, name: &str, figures: &Figures, kind: Kind, runs: u64) {
    let messages = shown(measured(&figures.messages));
    let theory = figures.theory.short();
    let broken = if figures.broken.is_empty() { "nothing" } else { "VIOLATED" };
    if kind == Kind::Election {
        let time = shown(measured(&figures.election_time));
        text.line(&of_election([name, &messages, &theory, &time, broken]));
        return;
    }
    if kind == Kind::Agreement {
        let time = shown(figures.agreement_time.as_ref().and_then(measured));
        let (offers, delay) = (figures.offers.unwrap_or(""), figures.theory.delay.unwrap_or("–"));
        // The rest of it is in the notes.
        let delay = delay.split(';').next().unwrap_or(delay);
        text.line(&of_agreement([name, offers, &messages, &theory, &time, delay, broken]));
        return;
    }
    let delays = &figures.delays;
    let delays = [delays.entry, delays.exit, delays.synchronisation].map(shown);
    let ([entry, exit, synchronisation], bypass) = (delays, figure(figures.bypass_max));
    let order = match figures.out_of_order() {
        0 => "kept".to_owned(),
        violated => format!("lost {violated}/{runs}"),
    };
    let cells =
        [name, &messages, &theory, &entry, &exit, &synchronisation, &bypass, &order, broken];
    text.line(&of_mutex(cells));
}

impl Theory {
    /// How many messages, as short as a column is wide.
    fn short(&self) -> String {
        let Theory { expected, expected_is, least, most, .. } = self;
        match (expected, *expected_is, most) {
            (Some(expected), Some("exactly"), _) => format!("= {}", figure(*expected)),
            (Some(expected), Some("on average"), _) => format!("≈ {}", figure(*expected)),
            (Some(expected), Some("at most"), _) => format!("≤ {}", figure(*expected)),
            (Some(expected), Some("at least"), _) => format!("≥ {}", figure(*expected)),
            (_, _, Some(most)) if most == least => format!("= {most}"),
            (_, _, Some(most)) => format!("{least} … {most}"),
            (_, _, None) => format!("{least} … ∞"),
        }
    }
}

impl Figures {
    /// In how many runs somebody entered before whose request had happened before its own,
    /// whether by the lock's messages or by the users'.
    fn out_of_order(&self) -> u64 {
        let runs = |property| self.violated.get(&property).copied().unwrap_or(0);
        runs(Property::Order).max(runs(Property::OrderWithMessages))
    }
}

/// What does not fit into a line of the table.
fn notes(text: &mut Rows, row: &Row) {
    let mut note = |says: &str| {
        for (place, line) in wrapped(says, width() - 32).into_iter().enumerate() {
            let name = if place == 0 { row.name } else { "" };
            text.line(&format!("{name:<32}{line}"));
        }
    };
    if let Some(refused) = &row.refused {
        note(&format!("not run: {refused}"));
    }
    let Some(figures) = &row.figures else { return };
    let Theory { formula, entry, synchronisation, bypass, order, .. } = &figures.theory;
    let mut says = match figures.offers {
        Some(_) => format!("messages: {formula}"),
        None => format!("{formula} messages"),
    };
    if let (Some(entry), Some(synchronisation)) = (entry, synchronisation) {
        says.push_str(&format!(", entry {entry} hops alone, synchronisation {synchronisation}"));
    }
    if let (Some(bypass), Some(order)) = (bypass, order) {
        says.push_str(&format!(", bypass {bypass}, order of requests kept: {order}"));
    }
    if let Some(delay) = figures.theory.delay {
        says.push_str(&format!("; time: {delay}"));
    }
    note(&says);
    let (sent, received) = (figures.total.mean(), figures.received.mean());
    if (sent - received).abs() > 1e-9 {
        note(&format!("of {} messages of a run {} arrived", figure(sent), figure(received)));
    }
    if figures.outside {
        note("this is outside of what its card says");
    } else if figures.theory.most.is_some_and(|most| figures.messages.mean() > most as f64 + 1e-9) {
        note("more than the card's figure, which leaves out what happens but now and then");
    }
    let runs = |property: &Property| figures.violated.get(property).copied().unwrap_or(0);
    let broken = figures.broken.iter().zip(&figures.replay);
    for (property, replay) in broken {
        text.line(&format!("  VIOLATED: {property}, in {} runs", runs(property)));
        text.line(&format!("  again:  {replay}"));
    }
}
