//! S. Nishio, K. F. Li, E. G. Manning, *A resilient mutual exclusion algorithm for computer
//! networks*, IEEE TPDS 1(3), 1990.

use tenure_algorithms::mutex::NishioLiManning;
use tenure_algorithms::mutex::nishio_li_manning::Message;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, CrashModel, Fence, PeerVerdict, Property, Term};

use crate::support::mutex::{NONE, Plan, check_handovers, enter_and_exit, entered, fences, run};
use crate::support::{
    command_and_drain, crash_and_drain, crash_and_suspect, p, pass_all, restart,
    suspicion_and_drain,
};
use tenure_trace::{SplitMix64, TestCluster};

fn cluster(size: u32) -> TestCluster<NishioLiManning> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, ())
}

/// Returns the fence of an entry. `number` and `maker` identify the token: its term, and the
/// process that made it. `entries` is the number of entries with this token.
fn fence(number: u64, maker: u32, entries: u64) -> Fence {
    Fence(Term { number, leader: p(maker) }.packed(), entries)
}

/// Returns the numbers of sent messages of three kinds: doubts, inquiries and answers.
fn generation_messages(cluster: &TestCluster<NishioLiManning>) -> [u64; 3] {
    ["doubt", "inquire", "answer"].map(|kind| cluster.sent_count(kind))
}

fn ask(cluster: &mut TestCluster<NishioLiManning>, processes: &[u32]) {
    for process in processes {
        command_and_drain(cluster, *process, Command::Enter);
    }
}

fn leave(cluster: &mut TestCluster<NishioLiManning>, process: u32) {
    command_and_drain(cluster, process, Command::Exit);
}

#[test]
fn costs_what_suzuki_kasami_costs_without_crashes() {
    for size in 2..=6 {
        let mut cluster = cluster(size);
        assert_eq!(enter_and_exit(&mut cluster, 1), 0, "P1 has the token initially");
        for _ in 0..3 {
            assert_eq!(enter_and_exit(&mut cluster, 2), u64::from(size));
            assert_eq!(enter_and_exit(&mut cluster, 2), 0, "the token stays");
            assert_eq!(enter_and_exit(&mut cluster, 1), u64::from(size));
        }
        assert_eq!(generation_messages(&cluster), [0; 3]);
    }
    for seed in 0..1000 {
        let plan = Plan::of(ChannelOrder::Reordered, &[3, 3, 3, 3]).seeded(seed);
        let outcome = run::<NishioLiManning>((), &plan).unwrap();
        assert_eq!(outcome.messages % 4, 0, "seed {seed}: {outcome:?}");
        assert!(outcome.messages <= 4 * outcome.entries, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn token_visits_waiters_in_ring_order() {
    let mut cluster = cluster(4);
    ask(&mut cluster, &[2, 1, 4, 3]);
    cluster.take_events();
    check_handovers(&mut cluster, &[(2, 3), (3, 4), (4, 1)]);
}

#[test]
fn token_of_crashed_holder_is_replaced() {
    let mut cluster = cluster(3);
    ask(&mut cluster, &[1, 2, 3]);
    crash_and_drain(&mut cluster, 1);
    leave(&mut cluster, 2);
    leave(&mut cluster, 3);
    assert_eq!(fences(&mut cluster), [fence(0, 1, 1), fence(1, 2, 1), fence(1, 2, 2)]);
    assert_eq!(cluster.sent_count("request"), 4, "waiters need not request again");
    assert_eq!(generation_messages(&cluster), [1, 1, 1], "of P3, P2 and P3");
    assert_eq!(enter_and_exit(&mut cluster, 3), 0, "P3 has the token");
    assert_eq!(enter_and_exit(&mut cluster, 2), 3, "P1 is asked, without an answer");
}

#[test]
fn crash_of_idle_holder_is_noticed_without_requests() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 2);
    crash_and_drain(&mut cluster, 2);
    assert_eq!(enter_and_exit(&mut cluster, 3), 3, "from P1, which has made a token");
    assert_eq!(generation_messages(&cluster), [1, 1, 1]);
}

#[test]
fn crashed_waiter_is_skipped() {
    let mut cluster = cluster(4);
    ask(&mut cluster, &[1, 3, 4]);
    crash_and_drain(&mut cluster, 3);
    leave(&mut cluster, 1);
    assert_eq!(fences(&mut cluster), [fence(0, 1, 1), fence(0, 1, 2)]);
    assert_eq!(generation_messages(&cluster), [2, 0, 0], "P1 has the token, and makes no inquiry");
}

#[test]
fn crashed_process_in_token_queue_is_skipped() {
    let mut cluster = cluster(4);
    ask(&mut cluster, &[1, 2, 3, 4]);
    leave(&mut cluster, 1);
    cluster.crash(p(3));
    cluster.report_suspicion(p(2), p(3), PeerVerdict::Suspect);
    cluster.issue_command(p(2), Command::Exit);
    assert_eq!(
        (
            cluster.messages_on_link((p(2), p(3))).len(),
            cluster.messages_on_link((p(2), p(4))).len()
        ),
        (0, 1)
    );
}

#[test]
fn sender_misses_token_sent_to_crashed_process() {
    let mut cluster = cluster(3);
    ask(&mut cluster, &[1, 2]);
    cluster.crash(p(2));
    leave(&mut cluster, 1);
    ask(&mut cluster, &[3]);
    assert_eq!(entered(&mut cluster), [1]);
    suspicion_and_drain(&mut cluster, 3, 2, PeerVerdict::Suspect);
    assert_eq!(entered(&mut cluster), NONE, "P1 still awaits the answer of P2");
    suspicion_and_drain(&mut cluster, 1, 2, PeerVerdict::Suspect);
    assert_eq!(fences(&mut cluster), [fence(1, 1, 1)]);
    assert_eq!(generation_messages(&cluster), [1, 2, 1]);
}

/// A process that is inside the critical section answers an inquiry only when it exits. The new
/// token needs the answers of all live processes, so it is delayed.
#[test]
fn process_inside_delays_the_new_token() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 2);
    ask(&mut cluster, &[3, 2]);
    crash_and_drain(&mut cluster, 1);
    assert_eq!(entered(&mut cluster), [3]);
    assert_eq!(generation_messages(&cluster), [1, 1, 0]);
    leave(&mut cluster, 3);
    assert_eq!(fences(&mut cluster), [fence(1, 2, 1)], "P2, with its own");
}

#[test]
fn maker_inside_with_older_token_waits_for_itself() {
    let mut cluster = cluster(3);
    ask(&mut cluster, &[2, 3]);
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Suspect);
    assert_eq!(generation_messages(&cluster), [0; 3], "P2 has the token itself");
    let doubted = Term { number: 4, leader: p(3) };
    cluster.inject_and_deliver(p(3), p(2), Message::Doubt { generation: doubted });
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), [2]);
    leave(&mut cluster, 2);
    assert_eq!(fences(&mut cluster), [fence(5, 2, 1)], "P3 with the next token");
}

#[test]
fn crashed_maker_is_replaced() {
    let mut cluster = cluster(4);
    ask(&mut cluster, &[1, 3, 4]);
    crash_and_suspect(&mut cluster, 1);
    cluster.deliver_at((p(2), p(3)), 0);
    crash_and_drain(&mut cluster, 2);
    leave(&mut cluster, 3);
    leave(&mut cluster, 4);
    assert_eq!(fences(&mut cluster), [fence(0, 1, 1), fence(2, 3, 1), fence(2, 3, 2)]);
}

#[test]
fn overtaken_generation_restarts_with_higher_number() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 3);
    // P1 and P2 suspect each other, and both ask P3, which has the token.
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    pass_all(&mut cluster, &[(2, 3), (1, 3), (3, 1)]);
    cluster.deliver_all(&mut SplitMix64(0));
    ask(&mut cluster, &[3]);
    assert_eq!(fences(&mut cluster).last(), Some(&fence(2, 1, 1)), "higher than 1 of P2");
}

#[test]
fn overtaken_generation_is_left_to_live_maker() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 3);
    let doubt = || Message::Doubt { generation: Term { number: 0, leader: p(1) } };
    cluster.inject_and_deliver(p(3), p(1), doubt());
    cluster.inject_and_deliver(p(3), p(2), doubt());
    cluster.deliver_all(&mut SplitMix64(0));
    ask(&mut cluster, &[3]);
    assert_eq!(fences(&mut cluster).last(), Some(&fence(1, 2, 1)), "higher than 1 of P1");
}

/// The maker of a new token first sends inquiries to the processes that it trusts. A process
/// ignores an inquiry if it has already received a newer inquiry of the same maker. Otherwise the
/// maker could take the response to the older inquiry for a response to the newer inquiry.
#[test]
fn older_inquiry_of_same_maker_is_ignored() {
    let mut cluster = cluster(3);
    ask(&mut cluster, &[2]);
    let inquire = |number, maker| {
        let generation = Term { number, leader: p(maker) };
        Message::Inquire { generation }
    };
    cluster.inject_and_deliver(p(1), p(2), inquire(2, 1));
    cluster.inject_and_deliver(p(1), p(2), inquire(1, 1));
    assert_eq!(cluster.sent_count("answer"), 0, "P2 is inside");
    cluster.inject_and_deliver(p(3), p(2), inquire(1, 3));
    assert_eq!(
        cluster.messages_on_link((p(2), p(3))).len(),
        1,
        "P3 is informed of the newer generation"
    );
    cluster.issue_command(p(2), Command::Exit);
    assert_eq!(cluster.messages_on_link((p(2), p(1))).len(), 1);
}

#[test]
fn older_token_is_discarded() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(3), Command::Enter);
    cluster.deliver_at((p(3), p(1)), 0);
    // The token is in flight to P3. P1 then suspects P2 by mistake, and starts to make a new token.
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    cluster.deliver_at((p(1), p(3)), 1);
    pass_all(&mut cluster, &[(3, 1), (1, 3)]);
    assert_eq!(entered(&mut cluster), NONE, "the old token is rejected");
    cluster.deliver_at((p(1), p(3)), 0);
    assert_eq!(fences(&mut cluster), [fence(1, 1, 1)]);
}

#[test]
fn new_token_does_not_repeat_served_requests() {
    let mut cluster = cluster(3);
    for process in [2, 3, 2, 3, 1] {
        enter_and_exit(&mut cluster, process);
    }
    ask(&mut cluster, &[3]);
    crash_and_drain(&mut cluster, 3);
    let sent = cluster.total_sent();
    cluster.inject_and_deliver(p(3), p(1), Message::Request { number: 2 });
    cluster.inject_and_deliver(p(2), p(1), Message::Request { number: 2 });
    assert_eq!(cluster.total_sent(), sent, "P1 keeps its new token");
    assert_eq!(enter_and_exit(&mut cluster, 1), 0);
    assert_eq!(enter_and_exit(&mut cluster, 2), 3);
}

#[test]
fn tolerates_all_but_one_crash() {
    for survivor in 1..=5 {
        let mut cluster = cluster(5);
        for process in (1..=5).filter(|it| *it != survivor) {
            ask(&mut cluster, &[process]);
            crash_and_drain(&mut cluster, process);
        }
        enter_and_exit(&mut cluster, survivor);
    }
}

/// No lock can prevent that two processes are inside the critical section after a false suspicion.
/// Their fences differ.
#[test]
fn false_suspicion_yields_different_fences() {
    let mut cluster = cluster(2);
    ask(&mut cluster, &[1, 2]);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    assert_eq!(fences(&mut cluster), [fence(0, 1, 1), fence(1, 2, 1)], "the resource rejects P1");
}

#[test]
fn trusted_process_discards_its_older_token() {
    let mut cluster = cluster(2);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    enter_and_exit(&mut cluster, 2);
    assert_eq!(enter_and_exit(&mut cluster, 1), 0, "P1 knows no other token");
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Trust);
    cluster.take_events();
    ask(&mut cluster, &[2, 1]);
    assert_eq!(fences(&mut cluster), [fence(2, 1, 1)], "and P1 waits");
    leave(&mut cluster, 2);
    assert_eq!(fences(&mut cluster), [fence(2, 1, 2)]);
}

#[test]
fn known_generation_starts_no_other() {
    let mut cluster = cluster(2);
    cluster.inject_and_deliver(
        p(2),
        p(1),
        Message::Doubt { generation: Term { number: 0, leader: p(1) } },
    );
    assert_eq!(generation_messages(&cluster), [0; 3]);
}

/// P1 is suspected while it is inside the critical section, and trusted again. It receives the next
/// token before it exits.
#[test]
fn newer_token_received_inside_is_kept() {
    let mut cluster = cluster(3);
    enter_and_exit(&mut cluster, 2);
    ask(&mut cluster, &[3, 2, 1]);
    suspicion_and_drain(&mut cluster, 1, 3, PeerVerdict::Suspect);
    let inside = [fence(0, 1, 2), fence(1, 1, 1)];
    assert_eq!(fences(&mut cluster), inside, "P3 and P1, by mistake");
    leave(&mut cluster, 1);
    assert_eq!(entered(&mut cluster), [2], "P3 is skipped");
    leave(&mut cluster, 2);
    suspicion_and_drain(&mut cluster, 1, 3, PeerVerdict::Trust);
    leave(&mut cluster, 3);
    enter_and_exit(&mut cluster, 3);
}

#[test]
fn restarted_process_makes_no_second_token() {
    let mut cluster = cluster(2);
    restart(&mut cluster, 1);
    ask(&mut cluster, &[1, 2]);
    assert_eq!(entered(&mut cluster), NONE, "the loss is not detected");
    let card = NishioLiManning::card(&(), 2);
    assert_eq!(card.faults.crashes, CrashModel::Stop);
    assert!(card.promises.contains(&Property::Fencing));
}
