//! A process that forgets entries which it acknowledged, under a leader that stays.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Config, Switch};
use tenure_check::{Check, Judgement, Manner, Report};
use tenure_core::TICKS_PER_UNIT;
use tenure_trace::Action;

/// P1 leads two processes and has committed an entry with P2, which crashes and comes back; then
/// P1 appends.
const BEFORE: &str = "fire p1 election; deliver p1→p2; deliver p2→p1; deliver p1→p2; \
                      deliver p2→p1; deliver p1→p2; deliver p2→p1; crash p2; recover p2; \
                      append p1 1.1 1";

fn report(switches: &[Switch]) -> Report {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let config = Config { variants, ..Config::plain(2, TICKS_PER_UNIT) };
    let action = |text: &str| text.parse::<Action>().expect("an action");
    let check = Check::<RaftLog>::with(2, config).entries([1, 0]).crashing(1).recovering(1);
    check.in_flight(1).term_max(1).after(BEFORE.split("; ").map(action)).progress().run()
}

#[test]
fn a_leader_that_counts_on_a_forgetful_process_leaves_its_user_waiting() {
    report(&[]).assert_holds();
    let waits = report(&[Switch::ForgottenLog]);
    let found = waits.counterexample("progress").unwrap_or_else(|| panic!("{waits}"));
    assert_eq!(found.manner, Manner::Starvation, "{found}");
}

#[test]
fn a_process_that_notices_what_it_forgot_leaves_and_its_leader_answers() {
    report(&[Switch::Noticing]).assert_holds();
    let noticed = report(&[Switch::Noticing, Switch::ForgottenLog]);
    assert_eq!(noticed.of("progress"), Judgement::Holds, "{noticed}");
}
