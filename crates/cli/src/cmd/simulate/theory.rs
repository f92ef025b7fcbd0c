//! Message counts and delays that theory predicts, and measured message counts. Compares measured
//! counts with the bounds on the card of the algorithm.

use tenure_algorithms::catalogue::Parameters;
use tenure_core::theory::{ExpectedCosts, HopRange, PredictionKind};
use tenure_core::{Card, Layer, MessageCost, ProcessId, Service, TICKS_PER_TIME_UNIT};
use tenure_sim::{
    Distribution, ElectionCost, Initiators, Latency, Moments, RunReport, Settings, theory,
};

use super::plan::SimulationPlan;

pub(crate) fn lock_theory(card: &Card) -> Option<ExpectedCosts> {
    card.theory.filter(|_| card.service == Service::Mutex)
}

/// Describes the synchronisation delay that theory predicts for a lock. The delay is the number of
/// messages, sent one after the other, between an exit and the entry of a process that is already
/// waiting. Adds `under load` if the formula also holds while further processes wait.
pub(crate) fn synchronisation_delay(theory: ExpectedCosts) -> String {
    let HopRange { formula, is_unconditional, .. } = theory.synchronisation_delay;
    if is_unconditional { format!("{formula} under load") } else { formula.to_owned() }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExpectedMessages {
    /// Number of messages per entry, election or agreement.
    pub(crate) messages: f64,
    /// Meaning of `messages`, such as a mean or an upper bound.
    pub(crate) precision: PredictionKind,
}

/// Returns the number of messages per entry, election or agreement that theory predicts. Returns
/// `None` if theory has no formula for these runs, for example because of their faults or variants.
pub(crate) fn expected_messages(plan: &SimulationPlan) -> Option<ExpectedMessages> {
    expected_in(plan, plan.common_settings(), plan.has_random_ids)
}

/// Returns the exact number of messages that theory predicts for the ring of this run. Returns
/// `None` if theory predicts no exact number. Also returns `None` if the number is the same for all
/// runs, because the output then contains it already.
pub(crate) fn exact_messages_of_drawn_ring(
    plan: &SimulationPlan,
    settings: &Settings,
) -> Option<u64> {
    let expected = |settings, drawn| {
        expected_in(plan, settings, drawn).filter(|_| plan.card.service == Service::Election)
    };
    let is_exact = |it: &ExpectedMessages| it.precision == PredictionKind::Exact;
    if !plan.has_random_ids || expected(plan.common_settings(), true).as_ref().is_some_and(is_exact)
    {
        return None;
    }
    expected(settings, false).filter(is_exact).map(|it| it.messages as u64)
}

fn expected_in(
    plan: &SimulationPlan,
    settings: &Settings,
    drawn: bool,
) -> Option<ExpectedMessages> {
    let workload = settings.workload_kind(plan.card.service, drawn).filter(|_| is_plain(plan))?;
    let ranks = (0..plan.size()).map(|place| settings.rank(ProcessId(place))).collect();
    let parameters = Parameters { ranks, ..plan.parameters.clone() };
    let expected =
        tenure_instances::predicted_message_count(&plan.card.name, &parameters, workload)
            .ok()??;
    Some(ExpectedMessages {
        messages: theory::quantity_to_f64(expected.messages),
        precision: expected.precision,
    })
}

/// Returns the delay that theory predicts, in virtual units of time: one number, or the minimum and
/// the maximum. For a lock, the delay lasts from an exit to the next entry. For an election, the
/// delay lasts from the start of the election until all processes know the result.
///
/// The result is empty if the latency varies or theory does not cover the run. It is also empty for
/// agreements, and for elections that only some processes start.
pub(crate) fn expected_delay_range(plan: &SimulationPlan) -> Vec<f64> {
    let settings = plan.common_settings();
    let Latency::Same(latency) = &settings.network.latency else { return Vec::new() };
    let is_direct = settings.network.graph.is_none() && latency.is_constant();
    if !is_plain(plan) || !is_direct || settings.time.step != Distribution::ZERO {
        return Vec::new();
    }
    let theory = plan.card.theory.filter(|theory| theory.synchronisation_delay.is_unconditional);
    let Some(ExpectedCosts { synchronisation_delay: delay, .. }) = theory else {
        return Vec::new();
    };
    let by_all = matches!(settings.workload.initiators, Some(Initiators::All));
    let agrees = plan.card.service.is_agreement();
    if agrees || plan.card.service == Service::Election && !by_all {
        return Vec::new();
    }
    let unit = latency.max_ticks().map_or(0.0, |ticks| ticks as f64 / TICKS_PER_TIME_UNIT as f64);
    let mut ends = vec![delay.least, delay.most];
    ends.dedup();
    ends.into_iter().map(|hops| f64::from(hops) * unit).collect()
}

/// Returns true if the runs meet the conditions of the paper: the user has selected no faults, no
/// variants, no time limit and no timeouts. No timeout fires early because messages are late.
/// Processes may be down from the start if the algorithm leaves them out.
fn is_plain(plan: &SimulationPlan) -> bool {
    let settings = plan.common_settings();
    settings.faults.is_empty()
        && settings.allows_prediction(&plan.card)
        && (settings.down.is_empty() || plan.card.faults.absence)
        && !settings.network.loss.can_occur()
        && !settings.network.duplication.can_occur()
        && settings.limits.until.is_none()
        && plan.parameters.variants.is_empty()
        && plan.parameters.timeouts.is_empty()
}

/// Returns true if the mean number of messages per entry or agreement is outside the bounds on the
/// algorithm's [`Card`]. If the bounds do not count all messages of a run, returns false.
fn is_outside(cost: &MessageCost, measured: f64) -> bool {
    let below = measured < cost.least as f64 - 1e-9;
    let above = cost.most.is_some_and(|most| measured > most as f64 + 1e-9);
    cost.is_complete && (below || above)
}

/// Compares numbers of messages with the bounds on the algorithm's [`Card`]. For an election,
/// returns `elections`, which is the worst result of all runs. For any other algorithm, compares
/// the mean of `messages`. If no number was measured, returns [`CostDeviation::Never`].
pub(crate) fn cost_deviation(
    plan: &SimulationPlan,
    elections: CostDeviation,
    messages: &Moments,
) -> CostDeviation {
    let is_election = plan.card.service == Service::Election;
    let is_outside = |messages: &Moments| is_outside(&plan.card.messages, messages.mean());
    match messages.count() > 0 {
        true if is_election => elections,
        true if is_outside(messages) => CostDeviation::Undisturbed,
        _ => CostDeviation::Never,
    }
}

/// Measured number of messages. For an election, it is the number of messages of this election. For
/// another algorithm, it is the mean number per entry or agreement in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeasuredMessages {
    /// Number of messages of the algorithm itself, without the messages of lower layers.
    pub(crate) own: f64,
    /// Number of messages, including the messages of lower layers.
    pub(crate) all: f64,
}

/// For an election algorithm, returns the number of messages of each election in a run. For an
/// agreement service, returns the mean number of messages per requested agreement. For any other
/// algorithm, returns the mean number of messages per entry. The result is empty if the run had no
/// election, no requested agreement or no entry.
pub(crate) fn measured_messages(
    plan: &SimulationPlan,
    report: &RunReport,
) -> Vec<MeasuredMessages> {
    let metrics = &report.metrics;
    let (layer, times) = match plan.card.service {
        Service::Election => (Layer::Election, metrics.elections.len() as u64),
        service if service.is_agreement() => (Layer::Agreement, metrics.requested_agreement_count),
        _ => (Layer::Mutex, metrics.entry_count),
    };
    if times == 0 {
        return Vec::new();
    }
    let per = |sent: u64| sent as f64 / times as f64;
    let own = metrics.sent_in_layer(layer);
    if plan.card.service != Service::Election {
        return vec![MeasuredMessages { own: per(own), all: per(metrics.sent) }];
    }
    // Messages of other layers are counted only for the whole run, so each election gets the same
    // share of them.
    let other_layers = per(metrics.sent - own);
    let each = metrics.elections.iter().map(|election| election.messages as f64);
    each.map(|own| MeasuredMessages { own, all: own + other_layers }).collect()
}

/// Result of comparing the numbers of messages in runs with the bounds on the algorithm's [`Card`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CostDeviation {
    /// No measured number of messages is outside the bounds, or the bounds do not count all
    /// messages of a run.
    #[default]
    Never,
    /// At least one election has a number of messages outside the bounds, and a process crashed or
    /// recovered in each of these elections.
    OnlyDisturbed,
    /// An election without a crash or a recovery has a number of messages outside the bounds. For
    /// algorithms other than elections: the mean number of messages per entry or agreement is
    /// outside the bounds.
    Undisturbed,
}

impl CostDeviation {
    /// Compares the number of messages of each election in a run with the bounds on the algorithm's
    /// [`Card`]. Returns the worst result of these elections.
    pub(crate) fn of_elections(cost: &MessageCost, elections: &[ElectionCost]) -> Self {
        let outside = elections.iter().filter(|election| {
            let above = cost.most.is_some_and(|most| election.messages > most);
            let below = election.is_complete && election.messages < cost.least;
            cost.is_complete && (above || below)
        });
        let each = outside.map(|election| match election.is_disturbed {
            true => CostDeviation::OnlyDisturbed,
            false => CostDeviation::Undisturbed,
        });
        each.max().unwrap_or_default()
    }
}
