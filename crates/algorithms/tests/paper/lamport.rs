//! L. Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 21(7),
//! 1978.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::Lamport;
use tenure_algorithms::mutex::lamport::{Config, Message, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder};

use crate::support::mutex::{NONE, Plan, check_seeds, entered, is_caught, run};
use crate::support::{command_and_drain, p};
use tenure_trace::TestCluster;

fn config(switches: &[VariantId]) -> Config {
    switches.iter().fold(Variants::none(), |all, one| all.with(*one))
}

fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<Lamport> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, config(switches))
}

/// Lets both processes request entry and delivers all messages. Returns the processes that are
/// inside the critical section.
fn both_request(switches: &[VariantId]) -> Vec<u32> {
    let mut cluster = cluster(2, switches);
    cluster.issue_command(p(1), Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    entered(&mut cluster)
}

/// P1 requests with the timestamp (1, P1). It receives replies with clock 3 from P2 and with clock
/// 4 from P3, and enters only after the second reply.
#[test]
fn enters_after_later_replies_as_first_in_queue() {
    let mut cluster = cluster(3, &[]);
    cluster.issue_command(p(1), Command::Enter);
    cluster.inject_and_deliver(p(2), p(1), Message::Reply { clock: 3 });
    assert_eq!(entered(&mut cluster), NONE, "P3 has not replied yet");
    cluster.inject_and_deliver(p(3), p(1), Message::Reply { clock: 4 });
    assert_eq!(entered(&mut cluster), [1]);
}

#[test]
fn earlier_reply_does_not_count() {
    let mut cluster = cluster(2, &[]);
    cluster.issue_command(p(1), Command::Enter);
    cluster.inject_and_deliver(p(2), p(1), Message::Reply { clock: 0 });
    assert_eq!(entered(&mut cluster), NONE);
    cluster.inject_and_deliver(p(2), p(1), Message::Reply { clock: 1 });
    assert_eq!(entered(&mut cluster), [1], "(1, P2) comes after (1, P1)");
}

#[test]
fn entry_costs_three_messages_per_peer() {
    for size in 1..=6_u32 {
        for switches in [&[][..], &[VariantId::AnyMessage]] {
            for seed in 0..150 {
                let plan = Plan::of(ChannelOrder::Fifo, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<Lamport>(config(switches), &plan).unwrap();
                assert_eq!(outcome.messages, 3 * u64::from(size - 1) * outcome.entries);
                assert!(outcome.bypass <= 2, "seed {seed}");
            }
        }
    }
}

#[test]
fn suppressed_replies_save_up_to_a_third() {
    let config = config(&[VariantId::SuppressedReplies]);
    let mut saved = 0;
    for seed in 0..1000 {
        let plan = Plan::of(ChannelOrder::Fifo, &[3; 4]).seeded(seed);
        let outcome = run::<Lamport>(config, &plan).unwrap();
        let cost = Lamport::card(&config, 4).messages;
        let range = cost.least * outcome.entries..=cost.most.unwrap() * outcome.entries;
        assert!(range.contains(&outcome.messages), "seed {seed}");
        saved += range.end() - outcome.messages;
    }
    assert!(saved > 0);
    // Both processes request at the same time, so P2's request replaces its reply to P1.
    let mut cluster = cluster(2, &[VariantId::SuppressedReplies]);
    cluster.issue_command(p(1), Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!((entered(&mut cluster), cluster.sent_count("reply")), (vec![1], 1));
}

#[test]
fn next_entry_takes_one_release() {
    let mut cluster = cluster(3, &[]);
    cluster.issue_command(p(1), Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    cluster.issue_command(p(1), Command::Exit);
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(entered(&mut cluster), [2]);
}

#[test]
fn duplicates_are_harmless_with_fifo_links() {
    let plan = Plan::of(ChannelOrder::Fifo, &[3; 3]).duplicating(5);
    for switches in [&[][..], &[VariantId::AnyMessage], &[VariantId::SuppressedReplies]] {
        check_seeds::<Lamport>(&config(switches), &plan, 500);
    }
}

#[test]
fn ids_do_not_replace_timestamps() {
    let mut cluster = cluster(2, &[VariantId::IdsAsStamps]);
    command_and_drain(&mut cluster, 2, Command::Enter);
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [2, 1], "both are inside");
}

#[test]
fn clocks_alone_are_no_total_order() {
    assert_eq!(both_request(&[VariantId::ClockOnlyOwnFirst]).len(), 2);
    assert_eq!(both_request(&[VariantId::ClockOnlyOtherFirst]), NONE);
    assert_eq!(both_request(&[]), [1]);
}

#[test]
fn smaller_clock_enters_first_without_tie_break() {
    for switch in [VariantId::ClockOnlyOwnFirst, VariantId::ClockOnlyOtherFirst] {
        let mut cluster = cluster(2, &[switch]);
        cluster.inject_and_deliver(p(2), p(1), Message::Reply { clock: 6 });
        cluster.issue_command(p(1), Command::Enter);
        command_and_drain(&mut cluster, 2, Command::Enter);
        assert_eq!(entered(&mut cluster), [2], "{switch:?}");
    }
}

#[test]
fn later_request_counts_as_reply_with_any_message() {
    let enters = |switches: &[VariantId]| {
        let mut cluster = cluster(2, switches);
        cluster.issue_command(p(1), Command::Enter);
        cluster.issue_command(p(2), Command::Enter);
        cluster.deliver_at((p(2), p(1)), 0);
        entered(&mut cluster)
    };
    assert_eq!(enters(&[]), NONE);
    assert_eq!(enters(&[VariantId::AnyMessage]), [1]);
}

/// With the variant `any-message`, where any message counts as a reply, reordering puts two
/// processes inside the critical section after four steps.
#[test]
fn reordered_reply_breaks_exclusion() {
    let mut cluster = cluster(2, &[VariantId::AnyMessage]);
    cluster.issue_command(p(1), Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
    cluster.deliver_at((p(2), p(1)), 0);
    assert_eq!(entered(&mut cluster), [1], "P2's request counts as a reply");
    cluster.deliver_at((p(1), p(2)), 1);
    assert_eq!(entered(&mut cluster), [2], "P1's reply has overtaken P1's request");
}

/// Without FIFO channels, even the unchanged algorithm violates mutual exclusion.
#[test]
fn needs_fifo_channels() {
    let plan = Plan::of(ChannelOrder::Reordered, &[1; 2]);
    assert!(is_caught::<Lamport>(&config(&[]), &plan, "mutual-exclusion"));
}

#[test]
fn each_condition_alone_is_insufficient() {
    assert_eq!(both_request(&[VariantId::OwnRequestOnTop]).len(), 2);
    assert_eq!(both_request(&[VariantId::ReplyFromAll]).len(), 2);
}
