//! I. Suzuki, T. Kasami, *A distributed mutual exclusion algorithm*, ACM TOCS 3(4), 1985.

use tenure_algorithms::mutex::SuzukiKasami;
use tenure_algorithms::mutex::suzuki_kasami::Message;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Property};

use crate::support::mutex::{
    Plan, check_handovers, check_reentry, check_seeds, check_token_loss, enter_and_exit, entered,
    is_caught, run,
};
use crate::support::{command_and_drain, p, pass_all};
use tenure_trace::TestCluster;

fn cluster(size: u32) -> TestCluster<SuzukiKasami> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, ())
}

#[test]
fn entry_costs_zero_or_n_messages() {
    for size in 2..=7 {
        let mut cluster = cluster(size);
        assert_eq!(enter_and_exit(&mut cluster, 1), 0, "P1 has the token initially");
        for _ in 0..3 {
            assert_eq!(enter_and_exit(&mut cluster, 2), u64::from(size));
            assert_eq!(enter_and_exit(&mut cluster, 2), 0, "the token stays");
            assert_eq!(enter_and_exit(&mut cluster, 1), u64::from(size));
        }
        assert_eq!(
            cluster.sent_count("request"),
            cluster.sent_count("token") * u64::from(size - 1)
        );
    }
}

#[test]
fn entry_costs_zero_or_n_messages_in_any_schedule() {
    for size in 1..=6_u32 {
        for order in [ChannelOrder::Fifo, ChannelOrder::Reordered] {
            for seed in 0..200 {
                let plan = Plan::of(order, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<SuzukiKasami>((), &plan).unwrap();
                let most = SuzukiKasami::card(&(), size).messages.most.unwrap();
                assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
                assert_eq!(outcome.messages % u64::from(size), 0, "seed {seed}: {outcome:?}");
            }
        }
    }
}

#[test]
fn token_visits_waiters_in_ring_order() {
    let mut cluster = cluster(4);
    cluster.issue_command(p(1), Command::Enter);
    others_request(&mut cluster);
    assert_eq!(entered(&mut cluster), [1]);
    check_handovers(&mut cluster, &[(1, 2), (2, 3), (3, 4)]);
}

/// Lets P4, P3 and P2 request the token. Their requests arrive in this order.
fn others_request(cluster: &mut TestCluster<SuzukiKasami>) {
    for late in [4, 3, 2] {
        command_and_drain(cluster, late, Command::Enter);
    }
}

#[test]
fn served_request_is_ignored() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 2);
    enter_and_exit(&mut cluster, 1);
    let before = cluster.total_sent();
    cluster.inject_and_deliver(p(2), p(1), Message::Request { number: 1 });
    assert_eq!(cluster.total_sent(), before, "P1 keeps the token");
    cluster.inject_and_deliver(p(2), p(1), Message::Request { number: 2 });
    assert_eq!(cluster.total_sent(), before + 1, "P1 sends it for a new request");
}

#[test]
fn request_reaches_a_moving_token() {
    check_seeds::<SuzukiKasami>(&(), &Plan::of(ChannelOrder::Reordered, &[3, 3, 3]), 500);
}

#[test]
fn duplicate_token_breaks_exclusion() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(2), Command::Enter);
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.duplicate_oldest((p(1), p(2)));
    cluster.deliver_at((p(1), p(2)), 0);
    cluster.issue_command(p(2), Command::Exit);
    cluster.issue_command(p(1), Command::Enter);
    cluster.deliver_at((p(1), p(2)), 1);
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.issue_command(p(2), Command::Enter);
    assert_eq!(entered(&mut cluster), [2, 1], "P1 is inside, and P2 waits");
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(entered(&mut cluster), [2], "with an outdated token");
    let plan = Plan::of(ChannelOrder::Fifo, &[2, 2, 2]).duplicating(1);
    assert!(is_caught::<SuzukiKasami>(&(), &plan, "exclusion"));
}

#[test]
fn unexpected_token_is_ignored() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(2), Command::Enter);
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.duplicate_oldest((p(1), p(2)));
    cluster.deliver_at((p(1), p(2)), 0);
    cluster.issue_command(p(2), Command::Exit);
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(enter_and_exit(&mut cluster, 1), 2);
    assert_eq!(enter_and_exit(&mut cluster, 2), 2, "P2 has no token of its own");
}

/// P3 requests the token after it has received P2's request. P1 holds the token and receives P3's
/// request first, so P3 enters first.
#[test]
fn later_request_may_enter_first() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(2), Command::Enter);
    cluster.deliver_at((p(2), p(3)), 0);
    cluster.issue_command(p(3), Command::Enter);
    pass_all(&mut cluster, &[(3, 1), (1, 3)]);
    assert_eq!(entered(&mut cluster), [3]);
    assert!(!SuzukiKasami::card(&(), 3).promises.contains(&Property::FirstComeFirstServed));
}

#[test]
fn holder_reenters_until_a_request_arrives() {
    check_reentry(&mut cluster(2));
}

#[test]
fn crashed_holder_loses_the_token() {
    check_token_loss(&mut cluster(3));
}
