//! What the books say about a run, to be held beside what it measured.

use tenure_algorithms::catalogue::Parameters;
use tenure_core::theory::{Precision, Theory};
use tenure_core::{Card, Cost, Layer, ProcessId, Service, TICKS_PER_UNIT};
use tenure_sim::{Initiators, Report, Settings, Span, theory};

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
}

/// Whether a figure lies outside of what the card says of all that happens in a run.
pub(crate) fn is_outside(cost: &Cost, measured: f64) -> bool {
    let below = measured < cost.least as f64 - 1e-9;
    let above = cost.most.is_some_and(|most| measured > most as f64 + 1e-9);
    cost.whole && (below || above)
}

/// Messages per entry, election or agreement of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Those of the lock, the election or the agreement itself, not of what it stands on.
    pub(crate) own: f64,
    /// All of them.
    pub(crate) all: f64,
}

/// What a run sent per entry, election or agreement; nothing where nobody entered or asked.
pub(crate) fn measured(plan: &Plan, report: &Report) -> Option<Measured> {
    let metrics = &report.metrics;
    let (layer, times) = match plan.card.service {
        Service::Election => (Layer::Election, 1),
        service if service.is_agreement() => (Layer::Agreement, metrics.agreements),
        _ => (Layer::Mutex, metrics.entered),
    };
    let per = |sent: u64| sent as f64 / times as f64;
    (times > 0).then(|| Measured { own: per(metrics.sent_in(layer)), all: per(metrics.sent) })
}
