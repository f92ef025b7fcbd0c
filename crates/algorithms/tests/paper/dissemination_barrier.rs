//! The dissemination barrier: every process learns of every arrival in ⌈log₂ N⌉ steps.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::DisseminationBarrier;
use tenure_algorithms::agreement::dissemination_barrier::{Message, VariantId};
use tenure_core::monitors::NoEarlyDeparture;
use tenure_core::service::barrier::{Command, Event};
use tenure_core::{ChannelOrder, Monitor};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::{events, p};

fn cluster(size: u32) -> TestCluster<DisseminationBarrier> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, Variants::none())
}

/// Returns the processes that left the barrier, each with the round that it left.
fn left(cluster: &mut TestCluster<DisseminationBarrier>) -> Vec<(u32, u64)> {
    events(cluster).into_iter().map(|(at, Event::Left { round })| (at, round)).collect()
}

/// Lets all processes arrive at the barrier `rounds` times, in random order. On average, one
/// message in `one_in` is duplicated. Returns true if all processes left the barrier in every
/// round. A violation of the barrier is returned as an error.
fn run(
    size: u32,
    variants: Variants<VariantId>,
    rounds: u32,
    one_in: usize,
    seed: u64,
) -> Result<bool, String> {
    let mut cluster = TestCluster::<DisseminationBarrier>::with_same_config(
        size,
        ChannelOrder::Reordered,
        variants,
    );
    let mut monitor = NoEarlyDeparture::new(size);
    let mut rng = SplitMix64(seed);
    let mut open: Vec<u32> = vec![rounds; size as usize];
    let mut waits = vec![false; size as usize];
    loop {
        for (at, seen) in cluster.take_events() {
            waits[at.index()] = matches!(seen, ProcessEvent::Command(_));
            monitor.observe(at, seen.to_observation()).map_err(|violation| violation.message)?;
        }
        let able = |at: &usize| open[*at] > 0 && !waits[*at];
        let able: Vec<usize> = (0..size as usize).filter(able).collect();
        let links = cluster.links_in_use();
        if able.is_empty() && links.is_empty() {
            return Ok(open.iter().all(|open| *open == 0) && waits.iter().all(|waits| !waits));
        }
        let choice = rng.below(able.len() + links.len());
        match able.get(choice) {
            Some(at) => {
                open[*at] -= 1;
                cluster.issue_command(tenure_core::ProcessId::from_index(*at), Command::Arrive);
            }
            None => {
                let link = links[choice - able.len()];
                if one_in > 0 && rng.one_in(one_in) {
                    cluster.duplicate_oldest(link);
                }
                cluster.deliver(link, &mut rng);
            }
        }
    }
}

#[test]
fn round_costs_n_log_n_messages() {
    for (size, steps) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)] {
        let mut cluster = cluster(size);
        for at in 1..=size {
            assert_eq!(left(&mut cluster), [], "P{at} has not arrived");
            cluster.issue_command(p(at), Command::Arrive);
            cluster.deliver_all(&mut SplitMix64(u64::from(at)));
        }
        assert_eq!(left(&mut cluster).len(), size as usize);
        assert_eq!(cluster.total_sent(), u64::from(size * steps), "{size} processes");
    }
}

#[test]
fn last_arrival_takes_one_delay_per_step() {
    let mut cluster = cluster(8);
    for at in 1..=7 {
        cluster.issue_command(p(at), Command::Arrive);
    }
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(left(&mut cluster), []);
    cluster.issue_command(p(8), Command::Arrive);
    assert_eq!(left(&mut cluster), [(8, 1)], "all others have signalled it already");
    let mut gone = 1;
    for delay in 1..=3 {
        assert!(gone < 8, "before delay {delay}");
        // Messages that are in flight now arrive together.
        let now: Vec<_> = cluster.in_flight().map(|(from, to, _)| (from, to)).collect();
        now.into_iter().for_each(|link| cluster.deliver_at(link, 0));
        gone += left(&mut cluster).len();
    }
    assert_eq!(gone, 8);
    assert_eq!(cluster.links_in_use(), []);
}

#[test]
fn signals_follow_the_steps_in_order() {
    let mut cluster = cluster(4);
    cluster.issue_command(p(1), Command::Arrive);
    let signal = |step| Message::Signal { round: 1, step };
    assert_eq!(cluster.messages_on_link((p(1), p(2))), [&signal(0)]);
    assert_eq!(cluster.total_sent(), 1);
    cluster.issue_command(p(4), Command::Arrive);
    cluster.deliver_at((p(4), p(1)), 0);
    assert_eq!(cluster.messages_on_link((p(1), p(3))), [&signal(1)]);
}

/// P1 leaves the barrier and arrives again, while P2 still waits for P1's signal of the first
/// round. P1's second signal reaches P2 early, and P2 counts this signal in the second round.
#[test]
fn early_signal_counts_in_next_round() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(1), Command::Arrive);
    cluster.issue_command(p(2), Command::Arrive);
    cluster.deliver_at((p(2), p(1)), 0);
    assert_eq!(left(&mut cluster), [(1, 1)]);
    cluster.issue_command(p(1), Command::Arrive);
    // The second signal overtakes the first.
    cluster.deliver_at((p(1), p(2)), 1);
    assert_eq!(left(&mut cluster), []);
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(left(&mut cluster), [(2, 1)]);
    cluster.issue_command(p(2), Command::Arrive);
    assert_eq!(left(&mut cluster), [(2, 2)], "it was signalled before it arrived");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(left(&mut cluster), [(1, 2)]);
}

#[test]
fn tolerates_reordering_and_duplicates() {
    for seed in 0..300 {
        let size = 1 + seed as u32 % 9;
        let [few, many] = [0, 3].map(|one_in| run(size, Variants::none(), 4, one_in, seed));
        assert_eq!([few, many], [Ok(true), Ok(true)], "seed {seed}");
    }
}

#[test]
fn each_mistake_lets_a_process_leave_early() {
    for (switch, size, one_in) in
        [(VariantId::LeavesEarly, 2, 0), (VariantId::AllAtOnce, 4, 0), (VariantId::NoRounds, 2, 3)]
    {
        let variants = Variants::none().with(switch);
        let found = (0..300).find_map(|seed| run(size, variants, 2, one_in, seed).err());
        let error = found.unwrap_or_default();
        assert!(error.contains("has not arrived"), "{switch:?}: {error}");
    }
}
