//! G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer networks*,
//! CACM 24(1), 1981.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::RicartAgrawala;
use tenure_algorithms::mutex::ricart_agrawala::{Config, Message, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Property, Timestamp};

use crate::support::mutex::{self, NONE, Plan, check_seeds, entered, run};
use crate::support::{command_and_drain, p, pass_all};
use tenure_trace::{SplitMix64, TestCluster};

fn config(switches: &[VariantId]) -> Config {
    switches.iter().fold(Variants::none(), |all, one| all.with(*one))
}

fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<RicartAgrawala> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, config(switches))
}

fn is_caught(switches: &[VariantId], plan: &Plan, expected: &str) -> bool {
    mutex::is_caught::<RicartAgrawala>(&config(switches), plan, expected)
}

fn plan(order: ChannelOrder, entries: &[u32], duplicates: u32) -> Plan {
    Plan::of(order, entries).duplicating(duplicates)
}

#[test]
fn idle_processes_reply_at_once() {
    let mut cluster = cluster(3, &[]);
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    assert_eq!((cluster.sent_count("request"), cluster.sent_count("reply")), (2, 2));
}

#[test]
fn process_inside_replies_on_exit() {
    let mut cluster = cluster(3, &[]);
    command_and_drain(&mut cluster, 1, Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    cluster.issue_command(p(1), Command::Exit);
    assert_eq!(
        cluster.messages_on_link((p(1), p(2))).len(),
        1,
        "one message from exit to the next entry"
    );
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(entered(&mut cluster), [2]);
}

/// P2 requests with clock 15 and P3 with clock 7, at the same time.
#[test]
fn smaller_timestamp_enters_first() {
    let mut cluster = cluster(3, &[]);
    cluster.inject_and_deliver(p(1), p(2), Message::Reply { to: 0, clock: 14 });
    cluster.inject_and_deliver(p(1), p(3), Message::Reply { to: 0, clock: 6 });
    cluster.issue_command(p(2), Command::Enter);
    command_and_drain(&mut cluster, 3, Command::Enter);
    assert_eq!(entered(&mut cluster), [3]);
    assert_eq!(cluster.sent_count("reply"), 3, "P1 to both, P2 to P3; P3 defers P2");
    cluster.issue_command(p(3), Command::Exit);
    assert_eq!(
        (
            cluster.messages_on_link((p(3), p(2))).len(),
            cluster.messages_on_link((p(3), p(1))).len()
        ),
        (1, 0)
    );
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [2]);
    cluster.issue_command(p(2), Command::Exit);
    assert_eq!((cluster.sent_count("request"), cluster.sent_count("reply")), (4, 4));
}

#[test]
fn smaller_process_wins_equal_clocks() {
    let mut cluster = cluster(2, &[]);
    cluster.issue_command(p(2), Command::Enter);
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
}

#[test]
fn entry_costs_two_messages_per_peer() {
    for size in 1..=6_u32 {
        for order in [ChannelOrder::Fifo, ChannelOrder::Reordered] {
            for seed in 0..200 {
                let plan = Plan::of(order, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<RicartAgrawala>(config(&[]), &plan).unwrap();
                let cost = RicartAgrawala::card(&config(&[]), size).messages;
                assert_eq!(cost.most, Some(cost.least));
                assert_eq!(outcome.messages, cost.least * outcome.entries, "seed {seed}");
            }
        }
    }
}

/// While one process waits, another may enter twice, although the paper states that this is
/// impossible. No process enters three times.
#[test]
fn no_process_enters_three_times_past_a_waiter() {
    let worst = (0..3000).map(|seed| {
        let plan = Plan { seed, ..plan(ChannelOrder::Fifo, &[4, 4, 4], 0) };
        run::<RicartAgrawala>(config(&[]), &plan).unwrap().bypass
    });
    assert_eq!(worst.max(), Some(2));
}

#[test]
fn duplicates_and_reordering_are_harmless() {
    let plan = plan(ChannelOrder::Reordered, &[3, 3, 3], 4);
    check_seeds::<RicartAgrawala>(&config(&[]), &plan, 500);
}

#[test]
fn ids_do_not_replace_timestamps() {
    let ids = [VariantId::IdsAsStamps];
    assert!(is_caught(&ids, &plan(ChannelOrder::Fifo, &[2, 2, 2], 0), "fencing"));
    let mut cluster = cluster(3, &ids);
    cluster.issue_command(p(2), Command::Enter);
    pass_all(&mut cluster, &[(2, 1), (1, 2)]);
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [2, 1], "both are inside");
}

#[test]
fn missing_tie_break_lets_both_enter() {
    let mut cluster = cluster(2, &[VariantId::ClockOnlyStrict]);
    cluster.issue_command(p(1), Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster).len(), 2);
}

#[test]
fn missing_tie_break_deadlocks() {
    let mut cluster = cluster(2, &[VariantId::ClockOnlyDefer]);
    cluster.issue_command(p(1), Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), NONE);
}

#[test]
fn smaller_clock_enters_first_without_tie_break() {
    for switch in [VariantId::ClockOnlyStrict, VariantId::ClockOnlyDefer] {
        let mut cluster = cluster(2, &[switch]);
        cluster.inject_and_deliver(p(2), p(1), Message::Reply { to: 0, clock: 6 });
        cluster.issue_command(p(1), Command::Enter);
        command_and_drain(&mut cluster, 2, Command::Enter);
        assert_eq!(entered(&mut cluster), [2], "{switch:?}");
    }
}

#[test]
fn request_must_advance_the_clock() {
    // These variants send replies without a clock. Otherwise the clock in a reply would hide the
    // mistake, because it advances the receiver's clock as well.
    let still = [VariantId::NoClockOnRequest, VariantId::UnstampedReply];
    assert!(is_caught(&still, &plan(ChannelOrder::Reordered, &[2, 2], 0), "mutual-exclusion"));
    assert!(is_caught(&still, &plan(ChannelOrder::Fifo, &[2, 2, 2], 0), "mutual-exclusion"));
}

/// P3 receives P2's request and then replies to P1. P1 enters, exits and requests again. So P1's
/// second request happened after P2's request, but P1 can learn this only from the clock in P3's
/// reply.
#[test]
fn replies_carry_the_clock() {
    let enters_next = |switches: &[VariantId]| {
        let mut cluster = cluster(3, switches);
        cluster.issue_command(p(1), Command::Enter);
        cluster.deliver_at((p(1), p(2)), 0);
        cluster.issue_command(p(2), Command::Enter);
        pass_all(&mut cluster, &[(2, 3), (1, 3), (2, 1), (3, 1)]);
        assert_eq!(entered(&mut cluster), [1]);
        cluster.issue_command(p(1), Command::Exit);
        command_and_drain(&mut cluster, 1, Command::Enter);
        entered(&mut cluster)
    };
    assert_eq!(enters_next(&[]), [2]);
    assert_eq!(enters_next(&[VariantId::UnstampedReply]), [1], "against happened-before");
    let promises = |switches| RicartAgrawala::card(&config(switches), 3).promises;
    assert!(promises(&[]).contains(&Property::FirstComeFirstServed));
    assert!(!promises(&[VariantId::UnstampedReply]).contains(&Property::FirstComeFirstServed));
    assert!(!promises(&[VariantId::Reference]).contains(&Property::FirstComeFirstServed));
}

#[test]
fn replies_name_sender_and_request() {
    let twice = plan(ChannelOrder::Reordered, &[2, 2], 3);
    assert!(is_caught(&[VariantId::BareCounter], &twice, "mutual-exclusion"));
    assert!(is_caught(&[VariantId::UntaggedReply], &twice, "mutual-exclusion"));
    let once = plan(ChannelOrder::Reordered, &[1, 1, 1], 3);
    assert!(is_caught(&[VariantId::BareCounter], &once, "mutual-exclusion"));
}

/// P1 is inside the critical section. It receives a late duplicate of P2's old request, and P2's
/// new request. If each reply names the request that it answers, P1 sends two replies. Otherwise P1
/// sends one reply.
#[test]
fn untagged_replies_are_sent_once() {
    let owed = |switches: &[VariantId]| {
        let mut cluster = cluster(2, switches);
        command_and_drain(&mut cluster, 1, Command::Enter);
        for clock in [2, 3] {
            cluster.inject_and_deliver(
                p(2),
                p(1),
                Message::Request { stamp: Timestamp { clock, process: p(2) } },
            );
        }
        cluster.issue_command(p(1), Command::Exit);
        cluster.messages_on_link((p(1), p(2))).len()
    };
    assert_eq!(owed(&[]), 2, "one for each, which P2 can distinguish");
    assert_eq!(owed(&[VariantId::UntaggedReply]), 1, "P2 could not distinguish a second one");
}

#[test]
fn replying_inside_breaks_exclusion() {
    let inside = [VariantId::ReplyWhileInside];
    assert!(is_caught(&inside, &plan(ChannelOrder::Fifo, &[1, 1], 0), "mutual-exclusion"));
}

#[test]
fn original_algorithm_needs_no_fifo() {
    let plan = Plan::of(ChannelOrder::Reordered, &[3, 3, 3]);
    check_seeds::<RicartAgrawala>(&config(&[VariantId::Reference]), &plan, 500);
}
