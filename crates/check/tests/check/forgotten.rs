//! A process that loses entries that it has acknowledged, while the leader stays the same.

use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Config, Switch};
use tenure_check::{Check, Report, ViolationKind};
use tenure_core::TICKS_PER_UNIT;

use crate::by_service::{after, variants};
use crate::catalogue::holds;

/// Steps before the search. P1 leads three processes and has committed an entry with P2. P2 crashes
/// and recovers. Then P1 appends another entry.
const BEFORE: &str = "fire p1 election; deliver p1→p2; deliver p2→p1; deliver p1→p2; \
                      deliver p2→p1; deliver p1→p2; deliver p2→p1; crash p2; recover p2; \
                      append p1 1.1 1";

fn report(switches: &[Switch]) -> Report {
    let config = Config { variants: variants(switches), ..Config::plain(2, TICKS_PER_UNIT) };
    let check = Check::<RaftLog>::with(2, config).entries([1, 0]).crashing(1).recovering(1);
    after(check, BEFORE).in_flight(1).term_max(1).progress().run()
}

#[test]
fn leader_relying_on_lost_entries_never_commits() {
    report(&[]).assert_holds();
    let waits = report(&[Switch::ForgottenLog]);
    let found = waits.counterexample("progress").unwrap_or_else(|| panic!("{waits}"));
    assert_eq!(found.kind, ViolationKind::Starvation, "{found}");
}

#[test]
fn process_detecting_lost_entries_leaves_and_leader_responds() {
    report(&[Switch::Noticing]).assert_holds();
    holds(&report(&[Switch::Noticing, Switch::ForgottenLog]), "progress");
}
