//! The token ring that repairs itself.

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::mutex::FaultTolerantTokenRing;
use tenure_algorithms::mutex::repaired_ring::{Config, Message, Timer};
use tenure_core::service::mutex::Command;
use tenure_core::{ChannelOrder, CrashModel, PeerVerdict, Term};

use crate::support::mutex::{NONE, entered, fences};
use crate::support::{crash_and_suspect, p, suspicion_and_drain};
use tenure_trace::TestCluster;

fn cluster(size: u32) -> TestCluster<FaultTolerantTokenRing> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, Config::default())
}

/// Delivers messages and fires timers for `hops` hops of the token, or until nothing is left to do.
fn advance(cluster: &mut TestCluster<FaultTolerantTokenRing>, hops: u32) {
    for _ in 0..hops {
        cluster.deliver_all(&mut tenure_trace::SplitMix64(0));
        if let Some((at, timer)) = cluster.next_timer() {
            cluster.fire_timer(at, timer);
        }
    }
    cluster.deliver_all(&mut tenure_trace::SplitMix64(0));
}

#[test]
fn token_of_crashed_holder_is_replaced() {
    let mut cluster = cluster(4);
    cluster.issue_command(p(1), Command::Enter);
    cluster.issue_command(p(3), Command::Enter);
    crash_and_suspect(&mut cluster, 1);
    advance(&mut cluster, 4);
    let fences = fences(&mut cluster);
    assert_eq!(fences.len(), 2, "P1, then P3");
    assert!(fences[0] < fences[1]);
}

/// N − 1 adjacent processes of the ring crash. The last process makes a new token and enters. The
/// ring claims to tolerate f adjacent crashes (`docs/checklist.md`, section 3.4), and this test
/// covers the largest f.
#[test]
fn adjacent_crashes_are_skipped() {
    let mut cluster = cluster(5);
    cluster.issue_command(p(5), Command::Enter);
    for process in 1..=4 {
        crash_and_suspect(&mut cluster, process);
    }
    advance(&mut cluster, 5);
    assert_eq!(entered(&mut cluster), [5]);
    cluster.issue_command(p(5), Command::Exit);
    cluster.issue_command(p(5), Command::Enter);
    assert_eq!(entered(&mut cluster), [5], "alone with the token");
}

#[test]
fn sender_misses_token_sent_to_crashed_process() {
    let mut cluster = cluster(3);
    cluster.crash(p(2));
    suspicion_and_drain(&mut cluster, 3, 2, PeerVerdict::Suspect);
    // P1 has not received the request yet, and passes the token on.
    cluster.issue_command(p(3), Command::Enter);
    advance(&mut cluster, 2);
    assert_eq!(entered(&mut cluster), NONE);
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    advance(&mut cluster, 3);
    assert_eq!(entered(&mut cluster), [3]);
}

#[test]
fn process_inside_delays_the_new_token() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(3), Command::Enter);
    advance(&mut cluster, 2);
    assert_eq!(entered(&mut cluster), [3]);
    cluster.issue_command(p(2), Command::Enter);
    crash_and_suspect(&mut cluster, 1);
    advance(&mut cluster, 5);
    assert_eq!(entered(&mut cluster), NONE);
    cluster.issue_command(p(3), Command::Exit);
    advance(&mut cluster, 2);
    assert_eq!(entered(&mut cluster), [2]);
}

#[test]
fn older_token_is_discarded() {
    let mut cluster = cluster(3);
    cluster.fire_timer(p(1), Timer::Pass);
    // The token is in flight to P2. P1 then suspects P3 by mistake, and starts to make a new token.
    cluster.report_suspicion(p(1), p(3), PeerVerdict::Suspect);
    cluster.deliver_at((p(1), p(2)), 1);
    cluster.deliver_at((p(2), p(1)), 0);
    assert_eq!(cluster.armed_timers(), [(p(1), Timer::Pass)], "P1 has the new one");
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(cluster.armed_timers(), [(p(1), Timer::Pass)], "P2 discards the old one");
}

/// The maker of a new token first sends inquiries to the processes that it trusts. A process
/// ignores an inquiry if it has already received a newer inquiry of the same maker. Otherwise the
/// maker could take the response to the older inquiry for a response to the newer inquiry.
#[test]
fn older_inquiry_of_same_maker_is_ignored() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(2), Command::Enter);
    advance(&mut cluster, 2);
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

/// P2 crashes after it has sent an inquiry to P3 and P4. P3 then makes a token. The inquiry of P2
/// invalidates this token when it arrives, although P3 suspects P2. So P3 makes another token.
#[test]
fn late_inquiry_of_crashed_maker_yields_another_token() {
    let mut cluster = cluster(4);
    let generation = Term { number: 2, leader: p(2) };
    [1, 2, 4].into_iter().for_each(|process| cluster.crash(p(process)));
    for process in [1, 2, 4] {
        cluster.report_suspicion(p(3), p(process), PeerVerdict::Suspect);
    }
    assert_eq!(cluster.armed_timers(), [], "alone with the token of its first generation");
    cluster.inject_and_deliver(p(2), p(3), Message::Inquire { generation });
    cluster.issue_command(p(3), Command::Enter);
    assert_eq!(entered(&mut cluster), [3]);
}

/// As above, but P3 trusts P1 to make tokens. P3 reports that the token of P1 may be invalid.
#[test]
fn late_inquiry_of_crashed_maker_is_reported() {
    let mut cluster = cluster(3);
    cluster.crash(p(2));
    cluster.report_suspicion(p(3), p(2), PeerVerdict::Suspect);
    assert_eq!(cluster.sent_count("doubt"), 1);
    let generation = Term { number: 2, leader: p(2) };
    cluster.inject_and_deliver(p(2), p(3), Message::Inquire { generation });
    assert_eq!(cluster.sent_count("doubt"), 2);
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    cluster.issue_command(p(3), Command::Enter);
    advance(&mut cluster, 4);
    assert_eq!(entered(&mut cluster), [3]);
}

#[test]
fn overtaken_generation_is_left_to_its_maker() {
    let mut cluster = cluster(3);
    let doubt = || Message::Doubt { generation: Term { number: 0, leader: p(1) } };
    cluster.inject_and_deliver(p(3), p(1), doubt());
    cluster.inject_and_deliver(p(3), p(2), doubt());
    cluster.deliver_all(&mut tenure_trace::SplitMix64(0));
    assert_eq!(cluster.armed_timers(), [(p(2), Timer::Pass)], "1 of P2 is higher than 1 of P1");
}

/// After a false suspicion, two processes are inside the critical section. No lock can prevent
/// this. Their fences differ, so a resource can reject P1.
#[test]
fn false_suspicion_yields_different_fences() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(1), Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    let fences = fences(&mut cluster);
    assert_eq!(fences.len(), 2);
    assert!(fences[0] < fences[1], "the resource rejects P1 from now on");
}

#[test]
fn fault_tolerant_variants_select_repaired_algorithms() {
    let variants = vec!["fault-tolerant".to_string()];
    let parameters = Parameters { variants, ..Parameters::with_defaults(4) };
    for (name, found) in [
        ("token-ring", "repaired-ring"),
        ("ricart-agrawala", "tolerant-ricart-agrawala"),
        ("suzuki-kasami", "nishio-li-manning"),
    ] {
        let prefixed = |name| format!("fifo:{name}");
        for (name, found) in [
            (name.to_string(), found.to_string()),
            (found.to_string(), found.to_string()),
            (prefixed(name), prefixed(found)),
        ] {
            assert_eq!(catalogue::card(&name, &parameters).unwrap().name, found);
        }
        let plain = catalogue::card(name, &Parameters::with_defaults(4)).unwrap();
        assert_eq!(plain.name, name);
        assert_eq!(plain.faults.crashes, CrashModel::None);
        assert!(plain.variants.iter().any(|variant| variant.name == "fault-tolerant"));
    }
    assert!(catalogue::card("central", &parameters).is_err());
}
