//! A process that loses entries that it has acknowledged, while the leader stays the same.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Config, Switch};
use tenure_check::{Check, Judgement, Report, ViolationKind};
use tenure_core::TICKS_PER_UNIT;
use tenure_trace::Action;

/// Steps before the search. P1 leads three processes and has committed an entry with P2. P2 crashes
/// and recovers. Then P1 appends another entry.
const BEFORE: &str = "fire p1 election; deliver p1→p2; deliver p2→p1; deliver p1→p2; \
                      deliver p2→p1; deliver p1→p2; deliver p2→p1; crash p2; recover p2; \
                      append p1 1.1 1";

fn report(switches: &[Switch]) -> Report {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let config = Config { variants, ..Config::plain(2, TICKS_PER_UNIT) };
    let action = |text: &str| text.parse::<Action>().expect("an action");
    let check = Check::<RaftLog>::with(2, config).entries([1, 0]).crashing(1).recovering(1);
    let check = check.configure(|it| it.model.prefix = BEFORE.split("; ").map(action).collect());
    check.in_flight(1).term_max(1).progress().run()
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
    let noticed = report(&[Switch::Noticing, Switch::ForgottenLog]);
    assert_eq!(noticed.of("progress"), Judgement::Holds, "{noticed}");
}
