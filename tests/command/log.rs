//! What was searched of a log that a group keeps: scopes that end, and their numbers of states.
//! These are pins against regressions: the program printed them, and nobody else did.

use crate::shell::data;

/// What is searched, and how many states it has: without pre-vote, one message on a link.
const SCOPES: [(&str, u64); 4] = [
    ("-n 3 --entries 1,0,0 --term-max 2 --variant no-pre-vote", 181_549),
    ("-n 3 --entries 1,0,0 --term-max 1 --lose 1 --when-full cut --variant no-pre-vote", 25_090),
    ("-n 3 --entries 0 --term-max 2 --variant newcomer,no-catch-up,no-pre-vote", 39_959),
    ("-n 4 --entries 0 --term-max 1 --variant newcomer,no-catch-up,no-pre-vote", 40_378),
];

/// The same where it takes longer.
const LARGE: [(&str, u64); 2] = [
    ("-n 3 --entries 1,0,0 --term-max 2 --variant no-pre-vote,compacting", 1_272_207),
    ("-n 3 --entries 1,1,0 --term-max 2 --partition 1 --variant no-pre-vote", 376_421),
];

fn holds(scopes: &[(&str, u64)]) {
    for (scope, states) in scopes {
        let report = data(&format!("check raft-log {scope} --in-flight 1"), 0);
        assert_eq!((&report["verdict"], &report["states"]), (&"holds".into(), &(*states).into()));
    }
}

#[test]
fn what_is_right_of_a_log_holds_in_scopes_that_end() {
    holds(&SCOPES);
}

#[test]
#[ignore = "it takes ten seconds and more"]
fn what_is_right_of_a_log_holds_in_larger_scopes() {
    holds(&LARGE);
}

#[test]
fn a_search_goes_on_from_where_steps_lead_and_from_nowhere_else() {
    let after = "--after fire:p1:election,deliver:p1→p2,deliver:p2→p1";
    let line = "check raft-log -n 3 --entries 0 --term-max 1 --in-flight 2 --variant no-pre-vote";
    let whole = data(line, 0)["states"].as_u64();
    let rest = data(&format!("{line} {after}"), 0)["states"].as_u64();
    assert!(rest > Some(3) && rest < whole, "{rest:?} of {whole:?}");
    let impossible = crate::shell::tenure(&format!("{line} --after deliver:p1→p2"));
    assert_eq!(impossible.status.code(), Some(2));
}
