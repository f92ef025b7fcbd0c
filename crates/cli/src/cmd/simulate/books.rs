//! What the books say about a run, to be held beside what it measured.

use tenure_algorithms::catalogue::Parameters;
use tenure_core::theory::{Precision, Theory};
use tenure_core::{Card, Cost, Layer, ProcessId, Service, TICKS_PER_UNIT};
use tenure_sim::{ElectionCost, Initiators, Moments, Report, Settings, Span, theory};

use super::plan::Plan;

/// What the literature says of how long a lock takes, where it says anything.
pub(crate) fn of_lock(card: &Card) -> Option<Theory> {
    card.theory.filter(|_| card.service == Service::Mutex)
}

/// A number of messages that theory expects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    /// Per entry, or per election.
    pub(crate) messages: f64,
    /// What kind of number it is.
    pub(crate) says: Precision,
}

/// Messages per entry or election that theory expects of these runs; nothing where it has no
/// formula, or faults or variants are at work that it knows nothing of.
pub(crate) fn expected(plan: &Plan) -> Option<Expected> {
    expected_in(plan, plan.common(), plan.draws_ids())
}

/// The messages of one run that theory predicts exactly for the ring that was drawn.
pub(crate) fn predicted(plan: &Plan, settings: &Settings) -> Option<u64> {
    let expected = |settings, drawn| {
        expected_in(plan, settings, drawn).filter(|_| plan.card.service == Service::Election)
    };
    let is_exact = |it: &Expected| it.says == Precision::Exact;
    // What is exact for all rings need not be said of these.
    if !plan.draws_ids() || expected(plan.common(), true).as_ref().is_some_and(is_exact) {
        return None;
    }
    expected(settings, false).filter(is_exact).map(|it| it.messages as u64)
}

fn expected_in(plan: &Plan, settings: &Settings, drawn: bool) -> Option<Expected> {
    let scene = settings.scene(plan.card.service, drawn).filter(|_| is_plain(plan))?;
    let ranks = (0..plan.size()).map(|place| settings.rank(ProcessId(place))).collect();
    let parameters = Parameters { ranks, ..plan.parameters.clone() };
    let expected = tenure_instances::expected(&plan.card.name, &parameters, scene).ok()??;
    Some(Expected { messages: theory::value(expected.messages), says: expected.precision })
}

/// Delays that theory expects of these runs, in virtual units: from an exit to the next entry, or
/// from the start of an election until all know its end. One number, or the least and the most;
/// none where messages take no fixed time, or theory has none of all that happens in a run.
pub(crate) fn delays(plan: &Plan) -> Vec<f64> {
    let settings = plan.common();
    let latency = settings.network.latency.usual();
    if !is_plain(plan) || !latency.is_constant() || settings.time.step != Span::ZERO {
        return Vec::new();
    }
    let theory = plan.card.theory.filter(|theory| theory.delay.whole);
    let Some(Theory { delay, .. }) = theory else { return Vec::new() };
    let by_all = matches!(settings.workload.initiators, Some(Initiators::All));
    let agrees = plan.card.service.is_agreement();
    if agrees || plan.card.service == Service::Election && !by_all {
        return Vec::new();
    }
    let unit = latency.most().map_or(0.0, |ticks| ticks as f64 / TICKS_PER_UNIT as f64);
    let mut ends = vec![delay.least, delay.most];
    ends.dedup();
    ends.into_iter().map(|hops| f64::from(hops) * unit).collect()
}

/// Whether nothing goes wrong and the algorithm is the one of the books.
fn is_plain(plan: &Plan) -> bool {
    let settings = plan.common();
    settings.faults.is_empty()
        && (settings.down.is_empty() || plan.card.faults.absence)
        && !settings.network.loss.possible()
        && !settings.network.duplication.possible()
        && settings.limits.until.is_none()
        && plan.parameters.variants.is_empty()
        && plan.parameters.timeouts.is_empty()
}

/// Returns true if a mean per entry or agreement is outside the bounds of the card.
fn is_outside(cost: &Cost, measured: f64) -> bool {
    let below = measured < cost.least as f64 - 1e-9;
    let above = cost.most.is_some_and(|most| measured > most as f64 + 1e-9);
    cost.whole && (below || above)
}

/// Returns how the messages of many runs compare with the bounds of the card.
pub(crate) fn outside(plan: &Plan, elections: Outside, messages: &Moments) -> Outside {
    let is_election = plan.card.service == Service::Election;
    let is_outside = |messages: &Moments| is_outside(&plan.card.messages, messages.mean());
    match messages.count() > 0 {
        true if is_election => elections,
        true if is_outside(messages) => Outside::Plainly,
        _ => Outside::Never,
    }
}

/// Messages per entry, election or agreement of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Those of the lock, the election or the agreement itself, not of what it stands on.
    pub(crate) own: f64,
    /// All of them.
    pub(crate) all: f64,
}

/// Returns what a run sent for each of its elections, or on average per entry or agreement; nothing
/// if there was none.
pub(crate) fn measured(plan: &Plan, report: &Report) -> Vec<Measured> {
    let metrics = &report.metrics;
    let (layer, times) = match plan.card.service {
        Service::Election => (Layer::Election, metrics.elections.len() as u64),
        service if service.is_agreement() => (Layer::Agreement, metrics.agreements),
        _ => (Layer::Mutex, metrics.entered),
    };
    if times == 0 {
        return Vec::new();
    }
    let per = |sent: u64| sent as f64 / times as f64;
    let own = metrics.sent_in(layer);
    if plan.card.service != Service::Election {
        return vec![Measured { own: per(own), all: per(metrics.sent) }];
    }
    // Messages of other layers are not counted by election.
    let beside = per(metrics.sent - own);
    let each = metrics.elections.iter().map(|election| election.messages as f64);
    each.map(|own| Measured { own, all: own + beside }).collect()
}

/// How the messages of runs compare with the bounds of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outside {
    /// All are within the bounds.
    #[default]
    Never,
    /// Only elections are outside during which a process crashed or recovered.
    WhenDisturbed,
    /// Undisturbed ones are outside.
    Plainly,
}

impl Outside {
    /// Returns how the elections of a run compare with the bounds, each by itself.
    pub(crate) fn of_elections(cost: &Cost, elections: &[ElectionCost]) -> Self {
        let outside = elections.iter().filter(|election| {
            let above = cost.most.is_some_and(|most| election.messages > most);
            let below = election.is_complete && election.messages < cost.least;
            cost.whole && (above || below)
        });
        let each = outside.map(|election| match election.is_disturbed {
            true => Outside::WhenDisturbed,
            false => Outside::Plainly,
        });
        each.max().unwrap_or_default()
    }
}
