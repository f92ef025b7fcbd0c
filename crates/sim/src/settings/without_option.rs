//! Settings that no command-line option expresses.

use std::fmt;
use std::str::FromStr;

use crate::settings::Settings;
use crate::settings::distribution::Distribution;
use crate::settings::fault::{Chance, Fault};
use crate::settings::workload::{BackgroundTraffic, RequestPattern};

/// Returns descriptions of those settings of the network, the faults, the workload and the traffic
/// between users that no option can express. Only the library can repeat a run with such a setting.
pub fn inexpressible_settings(settings: &Settings) -> Vec<&'static str> {
    let limited = |chance: &Chance| chance.can_occur() && chance.max_occurrences.is_some();
    let latency = settings.network.latency.most_common();
    let plain = |background_traffic: &BackgroundTraffic| {
        background_traffic.triggers_request && background_traffic.latency == latency
    };
    let background_traffic = settings.workload.background_traffic.as_ref();
    let left_out = [
        (limited(&settings.network.loss), "a limited number of losses"),
        (limited(&settings.network.duplication), "a limited number of duplicates"),
        (settings.detector.is_none(), "processes without failure detector"),
        (!durations(settings).iter().all(round_trips), "a duration that no text expresses"),
        (!settings.faults.iter().all(has_option), "a kind of fault"),
        (!have_uniform_recoveries(settings), "crashes of one process with different recoveries"),
        (
            background_traffic.is_some_and(|it| !plain(it)),
            "a different kind of messages between users",
        ),
        (
            background_traffic.is_some_and(|it| limited(&it.send_chance)),
            "a limited number of messages between users",
        ),
    ];
    left_out.into_iter().filter(|(left_out, _)| *left_out).map(|(_, setting)| setting).collect()
}

/// Returns true if the option of the fault expresses it, except for an automatic recovery after a
/// crash, which has an option of its own.
pub(super) fn has_option(fault: &Fault) -> bool {
    let mut fault = fault.clone();
    if let Fault::Crash { recovery, .. } = &mut fault {
        *recovery = None;
    }
    round_trips(&fault)
}

/// Returns true if the text of the value is the text of this value alone.
fn round_trips<T: FromStr + fmt::Display + PartialEq>(value: &T) -> bool {
    value.to_string().parse().is_ok_and(|read: T| read == *value)
}

/// Returns the distributions of all durations that have an option. Of successive links with the
/// same latency, the result contains only the first.
fn durations(settings: &Settings) -> Vec<Distribution> {
    let mut durations: Vec<Distribution> =
        settings.network.latency.link_distributions().copied().collect();
    // The caller formats and parses each duration, and a large group has many links.
    durations.dedup();
    durations.push(settings.time.step);
    durations.extend(settings.detector.map(|detector| detector.delay));
    if let Some(locking) = &settings.workload.locking {
        durations.push(locking.hold);
        match locking.pattern {
            RequestPattern::Closed { think: pause } | RequestPattern::Open { every: pause } => {
                durations.push(pause);
            }
            RequestPattern::Sequential { .. } => {}
        }
    }
    durations
}

/// Returns true if, for each process, all crashes of the process have the same recovery.
fn have_uniform_recoveries(settings: &Settings) -> bool {
    let followed = |fault: &Fault| match fault {
        Fault::Crash { process, recovery, .. } => Some((*process, *recovery)),
        _ => None,
    };
    let crashes: Vec<_> = settings.faults.iter().filter_map(followed).collect();
    let same = |a: &(_, _), b: &(_, _)| a.0 != b.0 || a.1 == b.1;
    crashes.iter().all(|crash| crashes.iter().all(|other| same(crash, other)))
}

#[cfg(test)]
mod tests {
    use tenure_core::ProcessId;

    use super::*;
    use crate::settings::distribution::MAX_TIME;
    use crate::settings::fault::CrashTrigger;
    use crate::settings::latency::Latency;
    use crate::settings::workload::Workload;

    #[test]
    fn lists_successive_equal_latencies_once() {
        let mut settings = Settings::new(30);
        let alike = durations(&settings).len();
        settings.network.latency = Latency::Links(vec![Distribution::time_units(1); 900].into());
        assert_eq!(durations(&settings).len(), alike);
    }

    #[test]
    fn names_each_setting_without_option() {
        let changes: [fn(&mut Settings); 8] = [
            |settings| settings.detector = None,
            |settings| settings.network.loss = Chance::with_max_occurrences(0.5, 1),
            |settings| settings.network.latency = Distribution::Exponential { mean: 0 }.into(),
            |settings| settings.time.step = Distribution::Constant(MAX_TIME + 1),
            |settings| {
                settings.workload = Workload::entries(1);
                settings.workload.locking.as_mut().expect("it locks").hold =
                    Distribution::Exponential { mean: 0 };
            },
            |settings| {
                let (process, when) = (ProcessId(0), CrashTrigger::OnMessage(0));
                settings.faults = vec![Fault::Crash { process, when, recovery: None }];
            },
            |settings| {
                settings.faults = vec![Fault::Partition { side: Vec::new(), from: 0, until: None }];
            },
            |settings| {
                let [observer, peer] = [ProcessId(0), ProcessId(1)];
                settings.faults = vec![Fault::Suspicion { observer, peer, from: 0, until: None }];
            },
        ];
        assert_eq!(inexpressible_settings(&Settings::new(3)), [""; 0]);
        for (index, change) in changes.iter().enumerate() {
            let mut settings = Settings::new(3);
            change(&mut settings);
            let left_out = inexpressible_settings(&settings);
            assert_eq!(left_out.len(), 1, "change {index}: {left_out:?}");
        }
    }
}
