//! Ricart–Agrawala with a failure detector.

use tenure_algorithms::mutex::FaultTolerantRicartAgrawala;
use tenure_algorithms::mutex::tolerant_ricart_agrawala::Message;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, CrashModel, Fence, PeerVerdict, Property, Timestamp};

use crate::support::mutex::{
    NONE, Plan, check_seeds, enter_and_exit, entered, exited, fences, run,
};
use crate::support::{
    command_and_drain, crash_and_suspect, p, pass_all, recover_and_trust, restart,
    suspicion_and_drain,
};
use tenure_trace::{SplitMix64, TestCluster};

fn cluster(size: u32) -> TestCluster<FaultTolerantRicartAgrawala> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, ())
}

#[test]
fn costs_what_ricart_agrawala_costs_without_crashes() {
    for size in 1..=6_u32 {
        let cost = u64::from(2 * (size - 1));
        assert_eq!(enter_and_exit(&mut cluster(size), size), cost);
        for seed in 0..200 {
            let plan = Plan::of(ChannelOrder::Reordered, &vec![3; size as usize]).seeded(seed);
            let outcome = run::<FaultTolerantRicartAgrawala>((), &plan).unwrap();
            assert_eq!(outcome.messages, cost * outcome.entries, "seed {seed}");
        }
    }
}

#[test]
fn reply_is_awaited_until_suspicion() {
    let mut cluster = cluster(3);
    cluster.crash(p(3));
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), NONE);
    cluster.report_suspicion(p(1), p(3), PeerVerdict::Suspect);
    assert_eq!(entered(&mut cluster), [1]);
}

#[test]
fn suspected_process_is_not_awaited() {
    let mut cluster = cluster(3);
    for process in [3, 2] {
        crash_and_suspect(&mut cluster, process);
        enter_and_exit(&mut cluster, 1);
    }
}

#[test]
fn crash_inside_yields_a_higher_fence() {
    let mut cluster = cluster(3);
    command_and_drain(&mut cluster, 1, Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
    command_and_drain(&mut cluster, 3, Command::Enter);
    crash_and_suspect(&mut cluster, 1);
    command_and_drain(&mut cluster, 2, Command::Exit);
    assert_eq!(fences(&mut cluster), [Fence(1, 1), Fence(2, 2), Fence(2, 3)]);
}

#[test]
fn suspicion_affects_only_the_suspect() {
    let mut cluster = cluster(3);
    command_and_drain(&mut cluster, 2, Command::Enter);
    command_and_drain(&mut cluster, 1, Command::Enter);
    crash_and_suspect(&mut cluster, 3);
    assert_eq!(entered(&mut cluster), [2], "P1 still awaits P2");
    command_and_drain(&mut cluster, 2, Command::Exit);
    assert_eq!(entered(&mut cluster), [1]);
}

/// A suspicion does not replace a reply: a peer that is suspected and then trusted again is still
/// awaited.
#[test]
fn trusted_process_is_awaited_again() {
    let mut cluster = cluster(3);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [2]);
    cluster.issue_command(p(1), Command::Enter);
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    suspicion_and_drain(&mut cluster, 1, 2, PeerVerdict::Trust);
    assert_eq!(entered(&mut cluster), NONE, "P3 has replied, and P2 is inside");
    command_and_drain(&mut cluster, 2, Command::Exit);
    assert_eq!(entered(&mut cluster), [1]);
}

#[test]
fn earlier_reply_survives_suspicion() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(1), Command::Enter);
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    suspicion_and_drain(&mut cluster, 1, 2, PeerVerdict::Trust);
    assert_eq!(entered(&mut cluster), [1]);
    assert_eq!(cluster.sent_count("request"), 2, "no peer was asked twice");
}

#[test]
fn restarted_process_is_asked_again() {
    let mut cluster = cluster(2);
    cluster.crash(p(2));
    command_and_drain(&mut cluster, 1, Command::Enter);
    cluster.recover(p(2));
    assert_eq!(entered(&mut cluster), NONE, "no process has suspected P2 meanwhile");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [1]);
    assert_eq!(cluster.sent_count("recovered"), 1);
}

#[test]
fn restarted_process_that_replied_is_not_asked() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(1), Command::Enter);
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    restart(&mut cluster, 2);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [1]);
    assert_eq!(cluster.sent_count("request"), 2);
}

/// P2 replies to P1's request and then restarts. Its next request must not have a smaller timestamp
/// than P1's request (`docs/checklist.md`, 3.15).
#[test]
fn restart_uses_larger_timestamps() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 2);
    cluster.issue_command(p(1), Command::Enter);
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    cluster.crash(p(2));
    recover_and_trust(&mut cluster, 2);
    cluster.issue_command(p(2), Command::Enter);
    let asks = cluster.messages_on_link((p(2), p(1)));
    let stamp = Timestamp { clock: 3, process: p(2) };
    assert_eq!(
        asks.last(),
        Some(&&Message::Request { stamp }),
        "(1, P2) was used, (2, P1) was answered"
    );
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [1]);
}

#[test]
fn request_of_suspect_is_answered_when_trusted() {
    let mut cluster = cluster(2);
    crash_and_suspect(&mut cluster, 2);
    cluster.recover(p(2));
    command_and_drain(&mut cluster, 2, Command::Enter);
    cluster.issue_command(p(1), Command::Enter);
    assert_eq!(entered(&mut cluster), [1], "P1 does not await P2, so P2 has to await P1");
    cluster.issue_command(p(1), Command::Exit);
    assert_eq!(cluster.messages_on_link((p(1), p(2))).len(), 1, "only the request");
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Trust);
    assert_eq!(cluster.messages_on_link((p(1), p(2))).len(), 2, "the request and the reply");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [2]);
}

/// P1 enters several times while P2 is down and suspected. After its recovery, P2 requests with a
/// timestamp that is smaller than the timestamps of P1's entries. P2 must repeat the request with a
/// higher timestamp, so that P2's fence is higher than P1's fence.
#[test]
fn outdated_request_is_repeated_with_higher_fence() {
    let mut cluster = cluster(2);
    enter_and_exit(&mut cluster, 1);
    crash_and_suspect(&mut cluster, 2);
    for _ in 0..3 {
        enter_and_exit(&mut cluster, 1);
    }
    cluster.take_events();
    cluster.issue_command(p(1), Command::Enter);
    recover_and_trust(&mut cluster, 2);
    command_and_drain(&mut cluster, 2, Command::Enter);
    command_and_drain(&mut cluster, 1, Command::Exit);
    assert_eq!(fences(&mut cluster), [Fence(5, 1), Fence(6, 2)]);
}

/// After a false suspicion, two processes are inside the critical section at the same time. No lock
/// can prevent this. The later entry has a higher fence, so a resource can reject the process that
/// entered first.
#[test]
fn false_suspicion_yields_different_fences() {
    let mut cluster = cluster(2);
    command_and_drain(&mut cluster, 1, Command::Enter);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    cluster.issue_command(p(2), Command::Enter);
    assert_eq!(fences(&mut cluster), [Fence(1, 1), Fence(2, 2)], "the resource rejects P1");
}

/// P1 requests before P2, but P1 is slow, and P2 suspects it falsely. P2 enters without a reply of
/// P1. P1 enters later, with a higher fence.
#[test]
fn overtaken_process_gets_a_higher_fence() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(1), Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Suspect);
    assert_eq!(fences(&mut cluster), [Fence(1, 2)], "P2's, and P1 waits for P2");
    cluster.issue_command(p(2), Command::Exit);
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Trust);
    assert_eq!(fences(&mut cluster), [Fence(2, 1)], "(1, P1) would have been rejected");
}

#[test]
fn repeated_request_yields_to_earlier_ones() {
    let mut cluster = cluster(3);
    let ask = |clock, process| Message::Request { stamp: Timestamp { clock, process } };
    cluster.issue_command(p(1), Command::Enter);
    cluster.inject_and_deliver(p(3), p(1), ask(1, p(3)));
    assert_eq!(
        cluster.messages_on_link((p(1), p(3))).len(),
        1,
        "the request, which precedes that of P3"
    );
    cluster.inject_and_deliver(p(2), p(1), Message::Reply { to: 1, clock: 4, entered: 4 });
    assert_eq!(cluster.sent_count("reply"), 1, "the new one does not");
    assert_eq!(cluster.messages_on_link((p(1), p(3)))[1], &ask(5, p(1)));
}

#[test]
fn duplicates_and_reordering_are_harmless() {
    let plan = Plan::of(ChannelOrder::Reordered, &[3, 3, 3]).duplicating(4);
    check_seeds::<FaultTolerantRicartAgrawala>(&(), &plan, 500);
}

#[test]
fn one_reply_per_peer_to_last_request() {
    let mut cluster = cluster(2);
    command_and_drain(&mut cluster, 1, Command::Enter);
    for clock in [3, 2, 3] {
        let stamp = Timestamp { clock, process: p(2) };
        cluster.inject_and_deliver(p(2), p(1), Message::Request { stamp });
    }
    cluster.take_events();
    cluster.issue_command(p(1), Command::Exit);
    assert_eq!(cluster.messages_on_link((p(1), p(2))).len(), 1);
    assert_eq!(
        cluster.messages_on_link((p(1), p(2)))[0],
        &Message::Reply { to: 3, clock: 3, entered: 1 }
    );
    assert_eq!(exited(&mut cluster), [1]);
}

#[test]
fn unexpected_replies_are_ignored() {
    let mut cluster = cluster(2);
    cluster.inject_and_deliver(p(2), p(1), Message::Reply { to: 1, clock: 0, entered: 0 });
    cluster.issue_command(p(1), Command::Enter);
    cluster.inject_and_deliver(p(2), p(1), Message::Reply { to: 0, clock: 0, entered: 9 });
    assert_eq!(entered(&mut cluster), NONE);
    assert_eq!(cluster.messages_on_link((p(1), p(2))).len(), 1);
    cluster.inject_and_deliver(p(2), p(1), Message::Reply { to: 1, clock: 0, entered: 0 });
    assert_eq!(entered(&mut cluster), [1]);
}

#[test]
fn card_promises_hold_without_restart() {
    let card = FaultTolerantRicartAgrawala::card(&(), 3);
    assert_eq!(card.faults.crashes, CrashModel::Stop);
    assert!(
        card.promises.contains(&Property::Fencing)
            && card.promises.contains(&Property::FirstComeFirstServed)
    );
}
