//! A reliable FIFO channel over an unreliable one.

use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::mutex::{Central, Lamport, central, lamport};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Layer};

use crate::support::mutex::{NONE, Plan, check_seeds, entered};
use crate::support::{command_and_drain, command_and_settle, p, restart};
use tenure_trace::{SplitMix64, TestCluster};

fn config(window: u32) -> fifo::Config<lamport::Config> {
    fifo::Config { window, ..fifo::Config::with_inner_config(lamport::Config::default()) }
}

fn central(size: u32) -> TestCluster<FifoChannel<Central>> {
    TestCluster::with_same_config(
        size,
        ChannelOrder::Reordered,
        fifo::Config::with_inner_config(central::Config::default()),
    )
}

/// Checks that Lamport's lock works over the channel even if messages are reordered, lost or
/// duplicated. Without the channel, each of these faults breaks the lock.
fn check_over_any_channel(window: u32) {
    let plan = Plan::of(ChannelOrder::Reordered, &[2; 3]).duplicating(10).losing(10);
    check_seeds::<FifoChannel<Lamport>>(&config(window), &plan, 100);
}

#[test]
fn lamport_works_over_unreliable_channel() {
    check_over_any_channel(64);
}

#[test]
fn lamport_works_with_window_of_one() {
    check_over_any_channel(1);
}

#[test]
fn lamport_works_with_window_of_two() {
    check_over_any_channel(2);
}

#[test]
fn counts_messages_of_the_inner_protocol() {
    for seed in 0..200 {
        let mut cluster = TestCluster::<FifoChannel<Lamport>>::with_same_config(
            3,
            ChannelOrder::Reordered,
            config(64),
        );
        let mut rng = SplitMix64(seed);
        for at in 1..=3 {
            cluster.issue_command(p(at), Command::Enter);
            for link in cluster.links_in_use() {
                cluster.duplicate_oldest(link);
            }
            cluster.lose_oldest(cluster.links_in_use()[0]);
            while entered(&mut cluster).is_empty() {
                cluster.deliver_all(&mut rng);
                if let Some((at, timer)) = cluster.next_timer() {
                    cluster.fire_timer(at, timer);
                }
            }
            cluster.issue_command(p(at), Command::Exit);
        }
        let of_lock = cluster.sent_counts().iter().filter(|((layer, _), _)| *layer == Layer::Mutex);
        assert_eq!(of_lock.map(|(_, count)| count).sum::<u64>(), 3 * 3 * 2, "seed {seed}");
    }
}

#[test]
fn lost_messages_are_repeated_until_acknowledged() {
    let mut cluster = central(2);
    cluster.issue_command(p(2), Command::Enter);
    for _ in 0..3 {
        cluster.lose_oldest((p(2), p(1)));
        let (at, timer) = cluster.next_timer().expect("a message is not acknowledged");
        cluster.fire_timer(at, timer);
    }
    cluster.run_until_quiescent();
    assert_eq!((entered(&mut cluster), cluster.sent_count("repeat")), (vec![2], 3));
    assert_eq!(cluster.armed_timers(), []);
}

#[test]
fn a_gap_is_never_skipped() {
    let mut cluster = central(2);
    cluster.issue_command(p(2), Command::Enter);
    cluster.lose_oldest((p(2), p(1)));
    restart(&mut cluster, 1);
    assert_eq!(entered(&mut cluster), NONE);
    cluster.run_until_quiescent();
    assert_eq!(entered(&mut cluster), [2]);
}

/// P1 restarts, and P2 sends a message before it learns of the restart. The channel must deliver
/// this message to P1's new session.
#[test]
fn unacknowledged_messages_reach_the_new_session() {
    let mut cluster = central(2);
    command_and_settle(&mut cluster, 2, Command::Enter);
    command_and_settle(&mut cluster, 2, Command::Exit);
    assert_eq!(entered(&mut cluster), [2]);
    restart(&mut cluster, 1);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [2], "P1's new session has received it without a timeout");
}

#[test]
fn messages_of_old_session_are_ignored() {
    let mut cluster = central(2);
    cluster.issue_command(p(2), Command::Enter);
    restart(&mut cluster, 2);
    // The request of P2's first session arrives first; then P2 requests again.
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), NONE, "P2's second session has not requested");
}

#[test]
fn window_limits_messages_in_flight() {
    let config =
        fifo::Config { window: 2, ..fifo::Config::with_inner_config(central::Config::default()) };
    let mut cluster =
        TestCluster::<FifoChannel<Central>>::with_same_config(2, ChannelOrder::Reordered, config);
    // P2 enters and exits twice. Only its last release is still in flight.
    for _ in 0..2 {
        cluster.issue_command(p(2), Command::Enter);
        while entered(&mut cluster).is_empty() {
            cluster.deliver_at((p(2), p(1)), 0);
            cluster.deliver_all(&mut SplitMix64(0));
        }
        cluster.issue_command(p(2), Command::Exit);
    }
    assert!(cluster.messages_on_link((p(2), p(1))).len() <= 2);
}

#[test]
fn card_assumes_no_channel_properties() {
    let card = FifoChannel::<Lamport>::card(&config(64), 3);
    assert_eq!((card.name.as_str(), card.order), ("fifo:lamport", ChannelOrder::Reordered));
    assert!(card.faults.loss && card.faults.duplication);
}
