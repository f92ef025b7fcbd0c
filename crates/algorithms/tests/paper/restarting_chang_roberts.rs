//! Chang–Roberts with retries: if messages are lost, the initiator starts the election again.

use tenure_algorithms::Variants;
use tenure_algorithms::election::restarting_chang_roberts::{Config, Timer, VariantId};
use tenure_algorithms::election::{ChangRoberts, RestartingChangRoberts, chang_roberts};
use tenure_core::service::election::Command;
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{Algorithm, ChannelOrder, TICKS_PER_TIME_UNIT};

use crate::support::election::{
    all_processes, beliefs, elect, process_with_id, ranks, subsets, unchecked_beliefs,
};
use crate::support::{fire_and_drain, p, permutations};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids), TICKS_PER_TIME_UNIT)
}

fn cluster(ids: &[u32]) -> TestCluster<RestartingChangRoberts> {
    TestCluster::with_same_config(ids.len() as u32, ChannelOrder::Reordered, ring(ids))
}

#[test]
fn equals_chang_roberts_without_losses() {
    for size in 1..=5 {
        permutations(size, |ids| {
            let plain = chang_roberts::Config::with_ranks(ranks(ids), Variants::none());
            for initiators in subsets(size) {
                let (first, _) = elect::<ChangRoberts>(
                    size,
                    ChannelOrder::Fifo,
                    plain.clone(),
                    &initiators,
                    0,
                    1,
                );
                let (second, beliefs) = elect::<RestartingChangRoberts>(
                    size,
                    ChannelOrder::Fifo,
                    ring(ids),
                    &initiators,
                    0,
                    1,
                );
                assert_eq!(first.sent_counts(), second.sent_counts(), "{ids:?} {initiators:?}");
                assert_eq!(beliefs, vec![process_with_id(size, ids); size as usize]);
            }
        });
    }
}

/// The announcement of P3 overtakes the rank of P1, so P2 knows the leader and does not forward
/// this rank. On FIFO channels, the ring sends 9 messages.
#[test]
fn overtaken_rank_travels_less_far() {
    let mut ring_of_three = cluster(&[2, 1, 3]);
    (1..=3).for_each(|at| ring_of_three.issue_command(p(at), Command::Elect));
    for (from, to, at) in [(3, 1, 0), (1, 2, 1), (2, 3, 1), (3, 1, 0), (1, 2, 1), (1, 2, 0)] {
        ring_of_three.deliver_at((p(from), p(to)), at);
    }
    ring_of_three.run_until_quiescent();
    let predicted = |workload| {
        let config = ring(&[2, 1, 3]);
        RestartingChangRoberts::predicted_messages(&config, 3, workload).expect("a prediction")
    };
    let all = predicted(WorkloadKind::AllStart);
    assert_eq!((ring_of_three.total_sent(), all), (8, Prediction::new(PredictionKind::Most, 9)));
    let one = predicted(WorkloadKind::OneStarts(p(1)));
    assert_eq!(one.precision, PredictionKind::Exact, "one message at a time is in flight");
}

/// Delivers messages in random order, loses up to `losses` of them, and fires restart timers.
fn deliver_with_losses(
    cluster: &mut TestCluster<RestartingChangRoberts>,
    mut losses: u32,
    rng: &mut SplitMix64,
) {
    loop {
        match rng.pick(&cluster.links_in_use()).copied() {
            Some(link) if losses > 0 && rng.one_in(3) => {
                losses -= 1;
                cluster.lose_oldest(link);
            }
            Some(link) => cluster.deliver(link, rng),
            None => match cluster.next_timer() {
                Some((at, timer)) => cluster.fire_timer(at, timer),
                None => return,
            },
        }
    }
}

#[test]
fn agrees_on_largest_despite_losses() {
    for seed in 0..2000 {
        let mut rng = SplitMix64(seed);
        let mut ids = vec![1, 2, 3, 4, 5];
        rng.shuffle(&mut ids);
        let mut cluster = cluster(&ids);
        let starters: Vec<_> = subsets(5).collect();
        for at in &starters[seed as usize % starters.len()] {
            cluster.issue_command(*at, Command::Elect);
        }
        deliver_with_losses(&mut cluster, 1 + (seed % 9) as u32, &mut rng);
        assert_eq!(beliefs(&mut cluster), [process_with_id(5, &ids); 5], "seed {seed}");
    }
}

/// If a rank is lost on its way around the ring, the initiator starts a second attempt. The second
/// attempt sends at most N(N + 1)/2 + N messages, which is the upper bound for any election.
#[test]
fn a_lost_rank_costs_one_attempt() {
    let mut cluster = cluster(&[1, 2, 3, 4, 5]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver((p(1), p(2)), &mut SplitMix64(0));
    cluster.lose_oldest((p(2), p(3)));
    fire_and_drain(&mut cluster, 1, Timer::Restart);
    assert_eq!(beliefs(&mut cluster), [Some(p(5)); 5]);
    assert_eq!(cluster.total_sent(), 2 + 14, "two of the first attempt, 3N − 1 of the second");
}

#[test]
fn participant_waits_on_command() {
    let mut cluster = cluster(&[1, 2, 3]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver((p(1), p(2)), &mut SplitMix64(0));
    assert_eq!(cluster.armed_timers(), [(p(1), Timer::Restart)]);
    cluster.issue_command(p(2), Command::Elect);
    assert_eq!(cluster.armed_timers().len(), 2);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(cluster.armed_timers(), [], "no process waits when all know the leader");
}

#[test]
fn unnumbered_restart_is_swallowed() {
    let config =
        Config { variants: Variants::none().with(VariantId::Unnumbered), ..ring(&[1, 2, 3]) };
    let mut cluster =
        TestCluster::<RestartingChangRoberts>::with_same_config(3, ChannelOrder::Fifo, config);
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver((p(1), p(2)), &mut SplitMix64(0));
    cluster.lose_oldest((p(2), p(3)));
    for _ in 0..10 {
        fire_and_drain(&mut cluster, 1, Timer::Restart);
    }
    assert_eq!(unchecked_beliefs(&mut cluster), [None; 3]);
}

#[test]
fn ring_excludes_failed_processes() {
    let absent = [p(2), p(5)].into_iter().collect();
    let config = Config { absent, ..ring(&[1, 2, 3, 4, 5]) };
    let mut cluster =
        TestCluster::<RestartingChangRoberts>::with_same_config(5, ChannelOrder::Fifo, config);
    for down in [2, 5] {
        cluster.crash(p(down));
    }
    all_processes(1).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(cluster.total_sent(), 3 * 3 - 1);
    let leader = Some(p(4));
    assert_eq!(beliefs(&mut cluster), [leader, None, leader, leader, None]);
}
