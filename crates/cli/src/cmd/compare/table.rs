//! The result of a comparison as a table.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::Property;
use tenure_sim::{Moments, RunStatistics};

use super::ComparedService;
use crate::cmd::output::{format_row, json_name, line_width};
use crate::cmd::rows::{LabelledRows, format_figure};
use crate::cmd::simulate::experiment::SimulationOutcome;
use crate::cmd::simulate::plan::SimulationPlan;
use crate::cmd::simulate::theory::{self, CostDeviation};

#[derive(Debug, Serialize)]
pub(super) struct ComparisonRow {
    pub(super) name: String,
    /// Reason why the algorithm was not run, such as an interrupt; `None` if it was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    #[serde(flatten)]
    figures: Option<Figures>,
}

#[derive(Debug, Serialize)]
struct Figures {
    /// Name of the service that the algorithm provides, for a table with several services. `None`
    /// for locks and elections, because a table of locks or elections is about a single service.
    #[serde(skip_serializing_if = "Option::is_none")]
    offers: Option<&'static str>,
    /// Number of messages per entry, election or agreement.
    messages: Moments,
    /// Number of messages sent in a run, including the messages of lower layers.
    total: Moments,
    /// Number of messages received in a run, including duplicates.
    received: Moments,
    theory: Theory,
    /// True if the number of messages of an election, or the mean number per entry or agreement, is
    /// outside the bounds on the card. Elections with a crash or a recovery are not compared with
    /// the bounds.
    outside: bool,
    /// Delays of a lock, in virtual units of time.
    delays: Delays,
    election_time: Moments,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement_time: Option<Moments>,
    bypass_max: f64,
    violated: BTreeMap<Property, u64>,
    /// Violated properties that make the command fail.
    broken: Vec<Property>,
    /// Commands that replay the violations of the properties in `broken`, in the same order.
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
    /// Formula of the synchronisation delay. It ends with `under load` if it also holds while
    /// further processes wait.
    #[serde(skip)]
    conditional_synchronisation: Option<String>,
    /// Formula of the theoretical delay of an agreement, as a number of messages sent one after the
    /// other. The delay lasts from the common request of all processes until all know the result.
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

impl ComparisonRow {
    pub(super) fn new(name: &str, plan: &SimulationPlan, outcome: &SimulationOutcome) -> Self {
        let page = theory::lock_theory(&plan.card);
        let agrees = plan.card.service.is_agreement();
        let expected = theory::expected_messages(plan);
        let cost = &plan.card.messages;
        let summary = &outcome.summary;
        let mean = |path| summary.measurement(path).map(Moments::mean);
        let theory = Theory {
            formula: cost.formula,
            least: cost.least,
            most: cost.most,
            expected: expected.map(|expected| expected.messages),
            expected_is: expected.map(|expected| expected.precision.qualifier()),
            entry: page.map(|page| page.entry_delay),
            synchronisation: page.map(|page| page.synchronisation_delay.formula),
            conditional_synchronisation: page.map(theory::synchronisation_delay),
            delay: plan
                .card
                .theory
                .filter(|_| agrees)
                .map(|theory| theory.synchronisation_delay.formula),
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
            total: summary.measurement("messages.total").copied().unwrap_or_default(),
            received: summary.measurement("messages.received").copied().unwrap_or_default(),
            outside: outcome.cost_deviation == CostDeviation::Undisturbed,
            theory,
            delays,
            election_time: summary.measurement("election_time").copied().unwrap_or_default(),
            agreement_time: summary.measurement("agreement_time").copied(),
            bypass_max: summary.measurement("bypass_max").map_or(0.0, Moments::max),
            violated: violated(summary),
            broken: broken.collect(),
            replay: outcome.violations.iter().map(|it| it.replay.clone()).collect(),
        };
        ComparisonRow { name: name.to_owned(), refused: None, figures: Some(figures) }
    }

    /// Creates the row of an algorithm that was not run. `message` is the reason: the algorithm
    /// rejects the options, or the command was interrupted.
    pub(super) fn not_run(name: &str, message: &str) -> Self {
        ComparisonRow { name: name.to_owned(), refused: Some(message.to_owned()), figures: None }
    }

    pub(super) fn is_not_run(&self) -> bool {
        self.refused.is_some()
    }
}

fn violated(summary: &RunStatistics) -> BTreeMap<Property, u64> {
    summary.violated_properties().map(|(property, it)| (property, it.runs)).collect()
}

const ORDER_NOTE: &str = "  Order under messages between users: `--app-messages 0.5 --latency 1..9 \
                          --think 0..20`.\n  Effect of one fault, over every schedule: `--faults`.";

/// Least width of the terminal, in characters, at which the tables of locks and of elections have
/// all columns.
const FULL_WIDTH: usize = 98;

/// Least width of the terminal, in characters, at which the table of agreements has all columns.
const FULL_AGREEMENT_WIDTH: usize = 84;

pub(super) fn comparison_table(
    kind: ComparedService,
    size: u32,
    runs: u64,
    seed: u64,
    rows: &[ComparisonRow],
) -> String {
    let last = seed.wrapping_add(runs - 1);
    let name = json_name(&kind);
    let mut text = LabelledRows::new(&format!("{name}: {size} processes, seeds {seed} to {last}"));
    head(&mut text, kind);
    for row in rows {
        match &row.figures {
            Some(figures) => add_row(&mut text, &row.name, figures, kind, runs),
            None => text.add_line(&format!("{:<32}(see below)", row.name)),
        }
    }
    text.add_line("");
    for row in rows {
        add_notes(&mut text, row);
    }
    if kind == ComparedService::Mutex {
        text.add_line("");
        text.add_line(ORDER_NOTE);
    }
    text.into_text()
}

fn head(text: &mut LabelledRows, kind: ComparedService) {
    match kind {
        ComparedService::Mutex => {
            let [entry, exit] = ["delay at", "at"];
            text.add_line(&mutex_line([
                "", "messages", "theory", entry, exit, "synchro-", "", "", "",
            ]));
            let [entry, exit, synchronisation] = ["entry", "exit", "nisation"];
            let [bypass, order, broken] = ["bypass", "order", "broken"];
            let second =
                ["algorithm", "/entry", "", entry, exit, synchronisation, bypass, order, broken];
            text.add_line(&mutex_line(second));
        }
        ComparedService::Election => {
            text.add_line(&election_line(["", "messages", "theory", "", ""]));
            text.add_line(&election_line(["algorithm", "/election", "", "time", "broken"]));
        }
        ComparedService::Agreement => {
            text.add_line(&agreement_line(["", "", "messages", "theory", "", "", ""]));
            let [name, offers, each] = ["algorithm", "offers", "/agreement"];
            let [time, delay, broken] = ["time", "theory of the time", "broken"];
            text.add_line(&agreement_line([name, offers, each, "", time, delay, broken]));
        }
    }
}

/// Formats a line of the table of locks. On a narrow terminal, omits the columns for the delays,
/// the bypass and the order.
fn mutex_line(cells: [&str; 9]) -> String {
    let [name, messages, theory, entry, exit, synchronisation, bypass, order, broken] = cells;
    if line_width() < FULL_WIDTH {
        return format!("{name:<25}{messages:>8}  {theory:<12}{broken}");
    }
    let line = format!("{name:<25}{messages:>8}  {theory:<10}{entry:>8}{exit:>5}");
    format!("{line}{synchronisation:>10}{bypass:>8}  {order:<11}{broken}")
}

fn election_line([name, messages, theory, time, broken]: [&str; 5]) -> String {
    if line_width() < FULL_WIDTH {
        return format!("{name:<25}{messages:>9}  {theory:<14}{broken}");
    }
    format!("{name:<25}{messages:>9}  {theory:<16}{time:>9}  {broken}")
}

/// Formats a line of the table of agreements. On a narrow terminal, omits the columns for the
/// service, the time and the theoretical delay. The theoretical delay is the last column, because
/// its text may have any length.
fn agreement_line(cells: [&str; 7]) -> String {
    let [name, offers, messages, theory, time, delay, broken] = cells;
    if line_width() < FULL_AGREEMENT_WIDTH {
        return format!("{name:<23}{messages:>10}  {theory:<12}{broken}");
    }
    let line = format!("{name:<23}{offers:<12}{messages:>10}  {theory:<11}{time:>7}  {broken:<10}");
    format!("{line}{delay}").trim_end().to_owned()
}

/// Returns the mean of the measured values; `None` if there are no values.
fn measured(moments: &Moments) -> Option<f64> {
    (moments.count() > 0).then(|| moments.mean())
}

fn shown(measured: Option<f64>) -> String {
    measured.map_or("–".to_owned(), format_figure)
}

fn add_row(
    text: &mut LabelledRows,
    name: &str,
    figures: &Figures,
    kind: ComparedService,
    runs: u64,
) {
    let messages = shown(measured(&figures.messages));
    let theory = figures.theory.short();
    let broken = if figures.broken.is_empty() { "none" } else { "VIOLATED" };
    if kind == ComparedService::Election {
        let time = shown(measured(&figures.election_time));
        text.add_line(&election_line([name, &messages, &theory, &time, broken]));
        return;
    }
    if kind == ComparedService::Agreement {
        let time = shown(figures.agreement_time.as_ref().and_then(measured));
        let (offers, delay) = (figures.offers.unwrap_or(""), figures.theory.delay.unwrap_or("–"));
        // The column contains only the part before `;`. The notes contain the full text.
        let delay = delay.split(';').next().unwrap_or(delay);
        text.add_line(&agreement_line([name, offers, &messages, &theory, &time, delay, broken]));
        return;
    }
    let delays = &figures.delays;
    let delays = [delays.entry, delays.exit, delays.synchronisation].map(shown);
    let ([entry, exit, synchronisation], bypass) = (delays, format_figure(figures.bypass_max));
    let order = match figures.out_of_order() {
        0 => "kept".to_owned(),
        violated => format!("lost {violated}/{runs}"),
    };
    let cells =
        [name, &messages, &theory, &entry, &exit, &synchronisation, &bypass, &order, broken];
    text.add_line(&mutex_line(cells));
}

impl Theory {
    /// Formats the number of messages that theory predicts, so that the text fits into a column. If
    /// theory predicts no number, formats the bounds that the algorithm states.
    fn short(&self) -> String {
        let Theory { expected, expected_is, least, most, .. } = self;
        match (expected, *expected_is, most) {
            (Some(expected), Some("exactly"), _) => format!("= {}", format_figure(*expected)),
            (Some(expected), Some("on average"), _) => format!("≈ {}", format_figure(*expected)),
            (Some(expected), Some("at most"), _) => format!("≤ {}", format_figure(*expected)),
            (Some(expected), Some("at least"), _) => format!("≥ {}", format_figure(*expected)),
            (_, _, Some(most)) if most == least => format!("= {most}"),
            (_, _, Some(most)) => format!("{least} … {most}"),
            (_, _, None) => format!("{least} … ∞"),
        }
    }
}

impl Figures {
    /// Returns the number of runs in which the entries do not follow the order of the requests.
    /// Requests are ordered by the happened-before relation, which includes the messages between
    /// users.
    fn out_of_order(&self) -> u64 {
        let runs = |property| self.violated.get(&property).copied().unwrap_or(0);
        runs(Property::FirstComeFirstServed).max(runs(Property::OrderWithMessages))
    }
}

fn add_notes(text: &mut LabelledRows, row: &ComparisonRow) {
    let mut note = |message: &str| text.add_line(&format_row(&row.name, message, 32));
    if let Some(refused) = &row.refused {
        note(&format!("not run: {refused}"));
    }
    let Some(figures) = &row.figures else { return };
    let Theory { formula, entry, conditional_synchronisation, bypass, order, .. } = &figures.theory;
    let mut message = match figures.offers {
        Some(_) => format!("messages: {formula}"),
        None => format!("{formula} messages"),
    };
    if let (Some(entry), Some(synchronisation)) = (entry, conditional_synchronisation) {
        message.push_str(&format!(", entry {entry} hops alone, synchronisation {synchronisation}"));
    }
    if let (Some(bypass), Some(order)) = (bypass, order) {
        message.push_str(&format!(", bypass {bypass}, order of requests kept: {order}"));
    }
    if let Some(delay) = figures.theory.delay {
        message.push_str(&format!("; time: {delay}"));
    }
    note(&message);
    let (sent, received) = (figures.total.mean(), figures.received.mean());
    if (sent - received).abs() > 1e-9 {
        note(&format!(
            "{} messages sent per run, {} received",
            format_figure(sent),
            format_figure(received)
        ));
    }
    if figures.outside {
        note("messages outside the bounds of the card");
    } else if figures.theory.most.is_some_and(|most| figures.messages.mean() > most as f64 + 1e-9) {
        note("more messages than in the card, which leaves out rare events");
    }
    let runs = |property: &Property| figures.violated.get(property).copied().unwrap_or(0);
    let broken = figures.broken.iter().zip(&figures.replay);
    for (property, replay) in broken {
        text.add_line(&format!("  VIOLATED: {property}, in {} runs", runs(property)));
        text.add_line(&format!("  again:  {replay}"));
    }
}
