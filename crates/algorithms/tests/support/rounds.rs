//! Synchronous rounds, and crashes of processes in the middle of a round.

use tenure_algorithms::rounds::{RoundAlgorithm, RoundSynchronizer, Timer};
use tenure_core::ProcessId;
use tenure_trace::{SplitMix64, TestCluster};

use super::p;

/// Crash of a process in the middle of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Crash {
    pub(crate) round: u32,
    pub(crate) process: ProcessId,
    /// Processes that still receive the messages that the crashed process sent in this round.
    pub(crate) reached: Vec<ProcessId>,
}

/// Ends a round: delivers its messages, except the messages that are lost in crashes, and then lets
/// all processes end the round.
pub(crate) fn end_round<A: RoundAlgorithm>(
    cluster: &mut TestCluster<RoundSynchronizer<A>>,
    round: u32,
    crashes: &[Crash],
) {
    let mut rng = SplitMix64(round.into());
    for crash in crashes.iter().filter(|crash| crash.round == round) {
        if cluster.is_up(crash.process) {
            cluster.crash(crash.process);
        }
        for (from, to) in cluster.links_in_use() {
            if from == crash.process && !crash.reached.contains(&to) {
                cluster.lose_oldest((from, to));
            }
        }
    }
    cluster.deliver_all(&mut rng);
    for (at, timer) in cluster.armed_timers() {
        assert_eq!(timer, Timer::Round);
        cluster.fire_timer(at, timer);
    }
}

/// Returns every way in which at most `most` processes crash in the first `rounds` rounds. The last
/// messages of a crashed process may reach any subset of the others.
pub(crate) fn crashes(size: u32, rounds: u32, most: u32) -> impl Iterator<Item = Vec<Crash>> {
    let mut all: Vec<Vec<Crash>> = vec![Vec::new()];
    for process in 1..=size {
        let others: Vec<ProcessId> = (1..=size).filter(|it| *it != process).map(p).collect();
        let subsets: Vec<Vec<ProcessId>> = (0..1_u32 << others.len())
            .map(|chosen| {
                let chosen = others.iter().enumerate().filter(|(at, _)| chosen & 1 << at != 0);
                chosen.map(|(_, other)| *other).collect()
            })
            .collect();
        let longer: Vec<Vec<Crash>> = all
            .iter()
            .filter(|crashes| crashes.len() < most as usize)
            .flat_map(|crashes| {
                let subsets = &subsets;
                (1..=rounds).flat_map(move |round| {
                    subsets.iter().map(move |reached| {
                        let (process, reached) = (p(process), reached.clone());
                        let mut longer = crashes.clone();
                        longer.push(Crash { round, process, reached });
                        longer
                    })
                })
            })
            .collect();
        all.extend(longer);
    }
    all.into_iter()
}
