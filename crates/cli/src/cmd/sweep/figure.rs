//! Quantities that a sweep measures in each run. The output calls them figures.

use serde::{Deserialize, Serialize};
use tenure_core::{Service, TICKS_PER_TIME_UNIT};
use tenure_sim::{DurationStats, RunReport};

use crate::cmd::output::json_name;
use crate::cmd::simulate::plan::SimulationPlan;
use crate::cmd::simulate::theory;

/// A quantity that a sweep measures in each run. The output lists the quantities in the order of
/// these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MeasuredQuantity {
    /// Number of messages per entry in a run, without the messages of lower layers.
    MessagesPerEntry,
    /// Number of messages of one election, without the messages of lower layers.
    MessagesPerElection,
    /// Number of messages per agreement in a run, without the messages of lower layers.
    MessagesPerAgreement,
    /// Number of all messages that a run sends.
    Messages,
    /// Mean time in a run from a request for the lock to the entry.
    WaitingTime,
    /// Longest time in a run from a request for the lock to the entry.
    LongestWait,
    /// Mean time in a run from an exit to the next entry, if another process waits at the exit.
    SynchronisationDelay,
    /// Bypass in a run: the greatest number of entries that one process makes while another process
    /// waits.
    Bypass,
    /// Number of entries per unit of time in a run.
    Throughput,
    /// Mean duration of an election in a run. An election begins with the command, the crash or the
    /// recovery that made it necessary. It ends when all live processes believe in the same live
    /// leader.
    ElectionTime,
    /// Time in a run from the first command of a user to the last event of the agreement service.
    AgreementTime,
    /// Time from the start to the end of a run.
    Duration,
}

impl MeasuredQuantity {
    pub(super) fn name(self) -> String {
        json_name(&self)
    }

    pub(super) const fn unit(self) -> &'static str {
        match self {
            MeasuredQuantity::MessagesPerEntry
            | MeasuredQuantity::MessagesPerElection
            | MeasuredQuantity::MessagesPerAgreement
            | MeasuredQuantity::Messages => "messages",
            MeasuredQuantity::Bypass => "entries",
            MeasuredQuantity::Throughput => "entries per unit of time",
            _ => "units of time",
        }
    }

    pub(super) fn label(self) -> String {
        match self {
            MeasuredQuantity::MessagesPerEntry => "messages per entry".to_owned(),
            MeasuredQuantity::MessagesPerElection => "messages per election".to_owned(),
            MeasuredQuantity::MessagesPerAgreement => "messages per agreement".to_owned(),
            figure => format!("{} [{}]", figure.name().replace('_', " "), figure.unit()),
        }
    }
}

/// Returns the figures of a run with their values, in millionths of their units. Omits figures that
/// were not measured. If the run has several elections, the result contains the number of messages
/// of each election.
pub(super) fn measured_quantities(
    plan: &SimulationPlan,
    report: &RunReport,
) -> Vec<(MeasuredQuantity, u64)> {
    let metrics = &report.metrics;
    let per = match plan.card.service {
        Service::Election => MeasuredQuantity::MessagesPerElection,
        service if service.is_agreement() => MeasuredQuantity::MessagesPerAgreement,
        _ => MeasuredQuantity::MessagesPerEntry,
    };
    let messages = theory::measured_messages(plan, report);
    let mut figures: Vec<(MeasuredQuantity, u64)> = messages
        .iter()
        .map(|it| (per, (it.own * TICKS_PER_TIME_UNIT as f64).round() as u64))
        .collect();
    figures.push((MeasuredQuantity::Messages, millionths(metrics.sent)));
    let mut time = |figure, stats: &DurationStats| {
        if stats.count > 0 {
            figures.push((figure, mean(stats)));
        }
    };
    match plan.card.service {
        Service::Election => time(MeasuredQuantity::ElectionTime, &metrics.election_time),
        service if service.is_agreement() => {
            if metrics.requested_agreement_count > 0 {
                figures.push((MeasuredQuantity::AgreementTime, metrics.agreement_time));
            }
        }
        _ => {
            time(MeasuredQuantity::WaitingTime, &metrics.entry_delay);
            time(MeasuredQuantity::SynchronisationDelay, &metrics.synchronisation_delay);
            if metrics.entry_delay.count > 0 {
                figures.push((MeasuredQuantity::LongestWait, metrics.entry_delay.longest));
            }
            figures.push((MeasuredQuantity::Bypass, millionths(report.bypass_max.into())));
            let throughput = report.throughput() * TICKS_PER_TIME_UNIT as f64;
            figures.push((MeasuredQuantity::Throughput, throughput.round() as u64));
        }
    }
    figures.push((MeasuredQuantity::Duration, report.finished_at));
    figures.sort_by_key(|(figure, _)| *figure);
    figures
}

const _: () = assert!(TICKS_PER_TIME_UNIT == 1_000_000, "times are counted in millionths");

fn millionths(count: u64) -> u64 {
    count.saturating_mul(TICKS_PER_TIME_UNIT)
}

/// Returns the mean of the times in `stats`, in ticks, rounded to the nearest tick.
fn mean(stats: &DurationStats) -> u64 {
    let count = u128::from(stats.count);
    u64::try_from((stats.total + count / 2) / count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tenure_trace::units::format_ticks_as_time_units;

    use super::*;

    #[test]
    fn millionths_are_written_exactly() {
        for (value, text) in [(0, "0"), (4_000_000, "4"), (1, "0.000001"), (12_500_000, "12.5")] {
            assert_eq!(format_ticks_as_time_units(value), text);
        }
    }

    #[test]
    fn name_in_text_is_the_name_in_files() {
        for (figure, name) in [
            (MeasuredQuantity::MessagesPerEntry, "messages_per_entry"),
            (MeasuredQuantity::WaitingTime, "waiting_time"),
            (MeasuredQuantity::AgreementTime, "agreement_time"),
        ] {
            assert_eq!(figure.name(), name);
            assert_eq!(serde_json::to_value(figure).expect("a name"), name);
        }
    }
}
