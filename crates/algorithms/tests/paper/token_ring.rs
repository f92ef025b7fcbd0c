//! The token ring: the holder of the token may enter, and passes the token on.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::TokenRing;
use tenure_algorithms::mutex::token_ring::{Config, Timer, VariantId};
use tenure_core::ChannelOrder;
use tenure_core::service::mutex::Command;

use crate::support::mutex::{Plan, entered, run};
use crate::support::{p, pass_all, restart};
use tenure_trace::TestCluster;

fn cluster(size: u32) -> TestCluster<TokenRing> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, Config::default())
}

#[test]
fn first_process_enters_without_messages() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(1), Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    assert_eq!((cluster.total_sent(), cluster.armed_timers()), (0, vec![]));
}

#[test]
fn exit_passes_the_token_on() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(1), Command::Enter);
    cluster.issue_command(p(1), Command::Exit);
    cluster.issue_command(p(1), Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    cluster.deliver_at((p(1), p(2)), 0);
    cluster.fire_timer(p(2), Timer::Pass);
    cluster.deliver_at((p(2), p(3)), 0);
    cluster.fire_timer(p(3), Timer::Pass);
    cluster.deliver_at((p(3), p(1)), 0);
    assert_eq!(entered(&mut cluster), [1], "after a full lap");
}

#[test]
fn idle_ring_keeps_passing_the_token() {
    let mut cluster = cluster(3);
    for hop in 1..=100 {
        let (at, timer) = cluster.armed_timers()[0];
        cluster.fire_timer(at, timer);
        let link = cluster.links_in_use()[0];
        cluster.deliver_at(link, 0);
        assert_eq!(cluster.total_sent(), hop);
    }
    cluster.issue_command(p(2), Command::Enter);
    assert_eq!(entered(&mut cluster), [2], "the token was at P2");
    assert_eq!(cluster.armed_timers(), [], "the token stays while P2 is inside");
}

#[test]
fn entry_costs_one_message_under_load() {
    let mut cluster = cluster(4);
    (1..=4).for_each(|at| cluster.issue_command(p(at), Command::Enter));
    for at in 1..=4 {
        assert_eq!(entered(&mut cluster), [at]);
        cluster.issue_command(p(at), Command::Exit);
        cluster.deliver_at((p(at), p(at % 4 + 1)), 0);
    }
    assert_eq!(cluster.total_sent(), 4);
}

#[test]
fn no_process_enters_twice_past_a_waiter() {
    for size in 1..=5_u32 {
        for seed in 0..300 {
            let plan = Plan::of(ChannelOrder::Reordered, &vec![4; size as usize]).seeded(seed);
            let outcome = run::<TokenRing>(Config::default(), &plan).unwrap();
            assert!(outcome.bypass <= 1, "seed {seed}");
            assert!(size == 1 || outcome.messages >= outcome.entries, "seed {seed}");
        }
    }
}

#[test]
fn kept_token_overtakes_a_neighbour() {
    let variants = Variants::none().with(VariantId::KeepsToken);
    let worst = (0..50).map(|seed| {
        let plan = Plan::of(ChannelOrder::Reordered, &[4; 2]).seeded(seed);
        let config = Config { variants, ..Config::default() };
        run::<TokenRing>(config, &plan).expect("all are served exclusively").bypass
    });
    assert!(worst.max() > Some(1));
}

#[test]
fn single_process_enters_without_messages() {
    let mut cluster = cluster(1);
    for _ in 0..3 {
        cluster.issue_command(p(1), Command::Enter);
        assert_eq!(entered(&mut cluster), [1]);
        cluster.issue_command(p(1), Command::Exit);
    }
    assert_eq!((cluster.total_sent(), cluster.armed_timers()), (0, vec![]));
}

#[test]
fn duplicate_token_breaks_exclusion() {
    let plan = Plan::of(ChannelOrder::Reordered, &[2; 2]).duplicating(1);
    let is_caught = |seed| run::<TokenRing>(Config::default(), &plan.seeded(seed)).is_err();
    assert!((0..300).any(is_caught));
}

#[test]
fn meeting_tokens_merge() {
    let mut cluster = cluster(2);
    cluster.fire_timer(p(1), Timer::Pass);
    cluster.duplicate_oldest((p(1), p(2)));
    pass_all(&mut cluster, &[(1, 2), (1, 2)]);
    cluster.fire_timer(p(2), Timer::Pass);
    assert_eq!((cluster.messages_on_link((p(2), p(1))).len(), cluster.armed_timers()), (1, vec![]));
}

#[test]
fn restarted_process_makes_no_token() {
    let mut cluster = cluster(2);
    restart(&mut cluster, 1);
    cluster.issue_command(p(1), Command::Enter);
    assert_eq!((entered(&mut cluster), cluster.armed_timers()), (vec![], vec![]));
}

/// The token does not carry the clocks of applications. Processes therefore enter in the order of
/// the ring, not in the causal order of their requests.
#[test]
fn entries_follow_the_ring_not_causality() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(2), Command::Enter);
    // P2 informs P1 that it waits; then P1, which has the token, wants to enter.
    cluster.issue_command(p(1), Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
}
