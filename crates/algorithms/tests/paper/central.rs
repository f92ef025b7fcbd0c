//! The centralised lock: a coordinator grants entries.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::central::{Config, Message, VariantId};
use tenure_algorithms::mutex::{Central, RicartAgrawala, ricart_agrawala};
use tenure_core::ChannelOrder;
use tenure_core::service::mutex::Command;

use crate::support::mutex::{NONE, Plan, check_seeds, entered, is_caught};
use crate::support::{command_and_drain, p, pass_all};
use tenure_trace::{SplitMix64, TestCluster};

/// Returns a cluster of `size` processes whose coordinator is P5.
fn cluster(size: u32) -> TestCluster<Central> {
    let config = Config { coordinator: p(5), ..Config::default() };
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config)
}

#[test]
fn entry_takes_request_grant_and_release() {
    let mut cluster = cluster(5);
    cluster.issue_command(p(2), Command::Enter);
    cluster.deliver_at((p(2), p(5)), 0);
    assert_eq!(entered(&mut cluster), NONE);
    cluster.deliver_at((p(5), p(2)), 0);
    assert_eq!(entered(&mut cluster), [2]);
    command_and_drain(&mut cluster, 2, Command::Exit);
    for kind in ["request", "grant", "release"] {
        assert_eq!(cluster.sent_count(kind), 1, "{kind}");
    }
    assert_eq!(cluster.total_sent(), 3);
}

#[test]
fn grants_in_order_of_arrival() {
    let mut cluster = cluster(6);
    for (at, before) in [(2, 1), (6, 0), (1, 0)] {
        cluster.issue_command(p(at), Command::Enter);
        cluster.deliver_at((p(at), p(5)), 0);
        assert_eq!(cluster.messages_on_link((p(5), p(at))).len(), before);
    }
    cluster.deliver_at((p(5), p(2)), 0);
    let mut order = entered(&mut cluster);
    while let Some(last) = order.last().copied().filter(|_| order.len() < 3) {
        command_and_drain(&mut cluster, last, Command::Exit);
        order.extend(entered(&mut cluster));
        if order == [2, 6] {
            let coordinator = format!("{:?}", cluster.process(p(5)).unwrap());
            assert!(
                coordinator.contains("queue: [Claim { process: P1, ")
                    && coordinator.matches("process:").count() == 2,
                "P1 alone is in the queue: {coordinator}"
            );
        }
    }
    assert_eq!(order, [2, 6, 1]);
    cluster.issue_command(p(1), Command::Exit);
    assert_eq!(cluster.total_sent(), 9);
}

#[test]
fn coordinator_enters_without_messages() {
    let mut cluster = cluster(5);
    cluster.issue_command(p(5), Command::Enter);
    assert_eq!(entered(&mut cluster), [5]);
    cluster.issue_command(p(5), Command::Exit);
    assert_eq!(cluster.total_sent(), 0);
}

#[test]
fn duplicates_are_harmless_with_tagged_grants() {
    let plan = Plan::of(ChannelOrder::Reordered, &[0, 3, 3]).duplicating(4);
    check_seeds::<Central>(&Config::default(), &plan, 500);
    let variants = Variants::none().with(VariantId::UntaggedGrant);
    let untagged = Config { variants, ..Config::default() };
    assert!(is_caught::<Central>(&untagged, &plan, "mutual-exclusion"));
}

/// A late duplicate of P2's first request is granted again. P2 waits with its second request then,
/// and ignores this grant. The coordinator withdraws the grant when the second request arrives.
#[test]
fn waiting_process_ignores_grant_of_ended_request() {
    let mut cluster = cluster(5);
    command_and_drain(&mut cluster, 2, Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Exit);
    assert_eq!(entered(&mut cluster), [2]);
    cluster.issue_command(p(2), Command::Enter);
    cluster.inject_and_deliver(p(2), p(5), Message::Request { number: 1 });
    cluster.deliver_at((p(5), p(2)), 0);
    assert_eq!(cluster.sent_count("release"), 1, "only that of the first entry");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [2]);
}

/// The duplicate is granted again while P2 is idle. P2 releases the lock, so that P1 can enter.
#[test]
fn idle_process_releases_grant_of_ended_request() {
    let mut cluster = cluster(5);
    command_and_drain(&mut cluster, 2, Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Exit);
    cluster.inject_and_deliver(p(2), p(5), Message::Request { number: 1 });
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [2, 1]);
}

#[test]
fn next_entry_takes_a_release_and_a_grant() {
    let mut cluster = cluster(5);
    command_and_drain(&mut cluster, 1, Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    cluster.issue_command(p(1), Command::Exit);
    pass_all(&mut cluster, &[(1, 5), (5, 2)]);
    assert_eq!(entered(&mut cluster), [1, 2]);
}

/// P1 requests, and then informs P2 by a message of the application. P2 requests after that. P2's
/// request nevertheless arrives first and is granted first.
#[test]
fn later_request_on_faster_link_is_granted_first() {
    let mut cluster = cluster(5);
    cluster.issue_command(p(1), Command::Enter);
    // P1 informs P2 on another connection that it has requested; then P2 requests.
    cluster.issue_command(p(2), Command::Enter);
    pass_all(&mut cluster, &[(2, 5), (1, 5)]);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [2]);
}

/// Ricart–Agrawala does not order requests by the causality of applications, because its clocks
/// count only the messages of the lock. P1 requests and then informs P2. P2 requests after that,
/// but enters before P1. The coordinator makes the same mistake in
/// `later_request_on_faster_link_is_granted_first`.
#[test]
fn clock_misses_causality_of_applications() {
    let config = ricart_agrawala::Config::default();
    let mut cluster =
        TestCluster::<RicartAgrawala>::with_same_config(3, ChannelOrder::Fifo, config);
    cluster.issue_command(p(3), Command::Enter);
    cluster.deliver_at((p(3), p(1)), 0);
    cluster.issue_command(p(1), Command::Enter);
    // P1 informs P2 that it has requested; then P2, whose clock is still 0, requests.
    cluster.issue_command(p(2), Command::Enter);
    let mut order: Vec<u32> = Vec::new();
    for _ in 0..3 {
        cluster.deliver_all(&mut SplitMix64(0));
        let inside = entered(&mut cluster);
        order.extend(&inside);
        cluster.issue_command(p(inside[0]), Command::Exit);
    }
    assert_eq!(order, [2, 3, 1], "P2 entered before P1, which had requested earlier");
}
