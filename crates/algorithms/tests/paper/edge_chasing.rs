//! K. M. Chandy, J. Misra, L. M. Haas, *Distributed deadlock detection*, ACM TOCS 1(2), 1983.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::EdgeChasing;
use tenure_algorithms::mutex::edge_chasing::{Config, Message, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{ChannelOrder, Fence};

use crate::support::mutex::{NONE, Plan, check_seeds, enter_and_exit, entered, fences, is_caught};
use crate::support::{command_and_drain, p, pass_all};
use tenure_trace::{SplitMix64, TestCluster};

fn plain() -> Config {
    Config::default()
}

fn with(switch: VariantId) -> Config {
    Variants::none().with(switch)
}

/// Returns a cluster with a deadlock. Every process holds its first lock and has requested its
/// second lock. The second lock of a process is the first lock of the next process.
fn all_hold_one(size: u32, config: Config) -> TestCluster<EdgeChasing> {
    let mut cluster = TestCluster::with_same_config(size, ChannelOrder::Fifo, config);
    for number in 1..=size {
        cluster.issue_command(p(number), Command::Enter);
    }
    cluster
}

/// Delivers all messages. Whenever a process has entered, lets the process exit and delivers all
/// messages again. Returns the processes that entered, in order.
fn served(cluster: &mut TestCluster<EdgeChasing>, seed: u64) -> Vec<u32> {
    let mut order = Vec::new();
    loop {
        cluster.deliver_all(&mut SplitMix64(seed));
        let inside = entered(cluster);
        let Some(number) = inside.first() else { return order };
        order.extend(&inside);
        cluster.issue_command(p(*number), Command::Exit);
    }
}

#[test]
fn detects_cycle_of_two() {
    for seed in 0..100 {
        let mut cluster = all_hold_one(2, plain());
        assert_eq!(served(&mut cluster, seed), [1, 2], "seed {seed}");
        assert_eq!(
            [1, 2].map(|number| cluster.process(p(number)).unwrap().attempt_count()),
            [1, 2]
        );
    }
}

#[test]
fn detects_cycle_of_three() {
    for seed in 0..500 {
        let mut cluster = all_hold_one(3, plain());
        // P3 releases the lock that P2 waits for, and so on around the cycle.
        assert_eq!(served(&mut cluster, seed), [2, 1, 3], "seed {seed}");
        let attempts = [1, 2, 3].map(|number| cluster.process(p(number)).unwrap().attempt_count());
        assert_eq!(attempts, [1, 1, 2], "seed {seed}");
    }
}

#[test]
fn cycle_persists_without_detection() {
    for size in [2, 3] {
        let mut cluster = all_hold_one(size, with(VariantId::NoDetection));
        assert_eq!(served(&mut cluster, 0), NONE);
        assert_eq!(cluster.sent_count("wait") + cluster.sent_count("probe"), 0);
    }
    let plan = Plan::of(ChannelOrder::Reordered, &[2, 2, 2]);
    assert!(is_caught::<EdgeChasing>(&with(VariantId::NoDetection), &plan, "blocked"));
    assert!(!is_caught::<EdgeChasing>(&with(VariantId::NoDetection), &plan, "exclusion"));
}

/// P1 waits for the lock that P2 manages. P4 has released this lock, but the release is still in
/// flight to P2. The wait-for graph therefore has an edge from P1 to P4. P4 waits for no lock, so
/// there is no cycle, and P1's probe must not return.
#[test]
fn no_probe_returns_without_a_cycle() {
    let mut cluster = TestCluster::<EdgeChasing>::with_same_config(4, ChannelOrder::Fifo, plain());
    command_and_drain(&mut cluster, 4, Command::Enter);
    cluster.issue_command(p(4), Command::Exit);
    cluster.deliver_at((p(4), p(1)), 0);
    cluster.issue_command(p(1), Command::Enter);
    pass_all(&mut cluster, &[(1, 2), (2, 1), (1, 4)]);
    assert_eq!(entered(&mut cluster), [4]);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [1]);
    assert_eq!((cluster.sent_count("probe"), cluster.sent_count("abort")), (1, 0));
    assert_eq!(cluster.process(p(1)).unwrap().attempt_count(), 1, "no process tried again");
}

#[test]
fn duplicate_edge_is_probed_once() {
    let mut cluster = all_hold_one(2, plain());
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    let message = cluster.messages_on_link((p(2), p(1)))[0].clone();
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.inject_and_deliver(p(2), p(1), message);
    assert_eq!(cluster.sent_count("probe"), 1);
}

#[test]
fn uncontended_entry_costs_six_messages() {
    for (number, messages) in [(1, 3), (2, 3), (3, 3), (4, 6), (5, 6)] {
        let mut cluster =
            TestCluster::<EdgeChasing>::with_same_config(5, ChannelOrder::Fifo, plain());
        assert_eq!(enter_and_exit(&mut cluster, number), messages, "P{number}");
        assert_eq!(cluster.sent_count("wait") + cluster.sent_count("probe"), 0);
    }
    assert_eq!(
        enter_and_exit(
            &mut TestCluster::<EdgeChasing>::with_same_config(1, ChannelOrder::Fifo, plain()),
            1
        ),
        0
    );
}

/// Fences increase from entry to entry, even if successive entries need different locks. Each lock
/// has its own manager, which assigns fences.
#[test]
fn fences_increase_across_locks() {
    let mut cluster = TestCluster::<EdgeChasing>::with_same_config(4, ChannelOrder::Fifo, plain());
    let mut seen = Vec::new();
    for number in [1, 1, 2, 3, 4, 2, 2, 1] {
        command_and_drain(&mut cluster, number, Command::Enter);
        command_and_drain(&mut cluster, number, Command::Exit);
        seen.extend(fences(&mut cluster));
    }
    // Usually each of the two grants of an entry increases the fence by one. In the last entry, the
    // first grant does not, because the manager of that lock has seen only smaller fences.
    assert_eq!(seen, [2, 4, 6, 8, 10, 12, 14, 15].map(|fence| Fence(0, fence)));
}

#[test]
fn repeated_collisions_starve_no_process() {
    for entries in [&[3, 3, 3][..], &[2, 2, 2, 2, 2]] {
        check_seeds::<EdgeChasing>(&plain(), &Plan::of(ChannelOrder::Reordered, entries), 500);
    }
}

/// Returns a cluster in which P2 has received the same abort twice. The first abort made P2 abandon
/// its first attempt and start a second attempt. The second abort arrives too late, because it
/// concerns the first attempt. P2 holds its own lock and waits for P1's lock. No other process
/// wants P1's lock.
fn aborted_late(config: Config) -> TestCluster<EdgeChasing> {
    let mut cluster = all_hold_one(2, config);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [1]);
    cluster.issue_command(p(1), Command::Exit);
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    assert_eq!(cluster.process(p(2)).unwrap().attempt_count(), 2);
    cluster.inject_and_deliver(p(1), p(2), Message::Abort { number: 1 });
    cluster
}

#[test]
fn unnumbered_late_abort_is_a_phantom_deadlock() {
    let mut numbered = aborted_late(plain());
    let mut unnumbered = aborted_late(with(VariantId::UnnumberedAbort));
    assert_eq!(served(&mut numbered, 0), [2]);
    assert_eq!(numbered.process(p(2)).unwrap().attempt_count(), 2);
    assert_eq!(served(&mut unnumbered, 0), [2], "it only costs a retry");
    assert_eq!(unnumbered.process(p(2)).unwrap().attempt_count(), 3);
}

#[test]
fn process_with_fewer_entries_is_spared() {
    let mut cluster = TestCluster::<EdgeChasing>::with_same_config(2, ChannelOrder::Fifo, plain());
    enter_and_exit(&mut cluster, 1);
    cluster.issue_command(p(1), Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
    assert_eq!(served(&mut cluster, 0), [2, 1], "P1 has entered before, so it is the victim");
}

#[test]
fn tolerates_duplicates_and_reordering() {
    let plan = Plan::of(ChannelOrder::Reordered, &[2, 2, 2]).duplicating(4);
    check_seeds::<EdgeChasing>(&plain(), &plan, 500);
}

#[test]
fn ordered_locks_need_no_probes() {
    let mut cluster = all_hold_one(3, with(VariantId::Ordered));
    let mut order = served(&mut cluster, 0);
    order.sort_unstable();
    assert_eq!(order, [1, 2, 3]);
    assert_eq!(cluster.sent_count("wait") + cluster.sent_count("probe"), 0);
    let plan = Plan::of(ChannelOrder::Reordered, &[3, 3, 3]);
    check_seeds::<EdgeChasing>(&with(VariantId::Ordered), &plan, 500);
}
