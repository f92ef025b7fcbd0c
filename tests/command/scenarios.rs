//! Tests of `tenure scenario`: each scenario holds, and each negative control fails.

use crate::shell::{assert_refused, data, tenure};
use serde_json::{Value, json};

/// Asserts that each expected value equals the observed value of the same name. If a floating-point
/// number is expected, an equal integer may be observed. The message of a failed assertion begins
/// with `of`, the name of the scenario or question.
#[track_caller]
pub(crate) fn assert_values(of: &str, expected: &Value, observed: impl Fn(&str) -> Value) {
    for (name, expected) in expected.as_object().expect("an object") {
        let value = observed(name);
        let is_equal = expected.is_f64() && value.as_f64() == expected.as_f64();
        assert!(is_equal || value == *expected, "{of}: {name} is {value}, expected {expected}");
    }
}

#[track_caller]
pub(crate) fn assert_observed(expected: &Value) {
    for (line, expected) in expected.as_object().expect("an object") {
        let observed = observed(line);
        assert_values(line, expected, |name| observed[name].clone());
    }
}

/// Runs a scenario, and returns the observed values. Asserts that its experiments succeed, and that
/// their negative controls fail.
#[track_caller]
fn observed(line: &str) -> Value {
    let report = data(&format!("scenario {line}"), 0);
    assert_eq!(report["holds"], true, "{line}: {report}");
    let broken = data(&format!("scenario {line} --broken"), 1);
    assert_eq!(broken["holds"], false, "{line}: {broken}");
    let held = |report: &Value| report["held"].as_array().expect("a list").clone();
    assert_eq!(held(&report), vec![json!(true); held(&broken).len()], "{line}: {report}");
    assert_eq!(held(&broken), vec![json!(false); held(&report).len()], "{line}: {broken}");
    assert_ne!(broken["observed"], report["observed"], "{line}");
    assert_eq!(broken["expected"], report["expected"], "{line}");
    report["observed"].clone()
}

fn names() -> Vec<String> {
    let list = data("scenario", 0);
    let name = |it: &Value| it["name"].as_str().expect("a name").to_owned();
    list.as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn list_has_name_source_and_summary_of_each_scenario() {
    for scenario in data("scenario", 0).as_array().expect("a list") {
        let keys: Vec<_> = scenario.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["description", "name", "source"]);
    }
    let text = String::from_utf8(tenure("scenario").stdout).expect("text");
    for name in names() {
        assert!(text.lines().any(|line| line == name), "{name}");
    }
}

const TESTS: [&str; 4] = [
    include_str!("scenarios.rs"),
    include_str!("agreements.rs"),
    include_str!("rounds.rs"),
    include_str!("own_models.rs"),
];

/// Returns true if a test file contains an opening quotation mark, the scenario's `name` and the
/// text `end`, one directly after another.
fn is_tested(name: &str, end: &str) -> bool {
    TESTS.iter().any(|tests| tests.contains(&format!("  \"{name}{end}")))
}

#[test]
fn every_scenario_has_a_test() {
    for name in names() {
        // In a test, the name of a scenario is followed by `": {`, or by a space and options.
        let is_tested = ["\": {", " "].iter().any(|end| is_tested(&name, end));
        assert!(is_tested, "there is no test of {name}");
    }
}

/// Each scenario holds without options, and its negative control fails. The test covers the
/// scenarios whose own tests always set options.
#[test]
#[ignore = "long: 6 s"]
fn no_scenario_needs_an_option() {
    for name in names().iter().filter(|name| !is_tested(name, "\": {")) {
        observed(name);
    }
}

#[test]
fn unknown_scenarios_are_rejected_with_the_nearest() {
    for (line, message) in [
        ("scenario rcae", "nearest are race"),
        ("scenario race -n 3", "race accepts --start, not -n"),
        ("scenario two-generals --min 5 --max 3", "swap them"),
        ("scenario central-empty -n 1", "expected 3 to"),
        ("scenario -n 3", "requires the name of a scenario"),
    ] {
        assert_refused(line, &[message]);
    }
}

#[test]
#[ignore = "long: 10 s"]
fn scenarios_of_models() {
    assert_observed(&json!({
        "two-generals": {
            "leader": [1, 1, 2],
            "pairs_of_runs_that_one_army_cannot_distinguish": 8,
        },
        "two-generals --min 1 --max 5 --seeds 50": {
            "skew_of_the_fastest": 0.0,
            "skew_of_the_slowest": 4.0,
        },
        "outside-assumptions": { "lamport_s_lock_then_one_inside": "violated" },
        // A property that holds without bounds on time holds within bounds. The converse is false.
        "stronger-model": {
            "lelann_n_3_all_that_holds_whatever_time_it_takes_holds_within_bounds": true,
            "lelann_all_that_held_still_holds": true,
            "without_all_agree": "violated",
        },
        "asynchronous-is-fair": { "entries": 4 },
        "partial-synchrony": { "how_many_lead": 1 },
        "known-bounds": {
            "then_t_4": "holds",
            "then_t_5": "holds",
            "no_live_process_is_suspected": ["violated", "holds", "violated", "holds"],
        },
        "any-order-of-messages": { "lamport_one_inside": "violated" },
    }));
}

#[test]
fn locks_at_a_server() {
    assert_observed(&json!({
        "central-order": { "steps_of_the_shortest_counterexample": 6 },
        "deadlock-and-starvation": {
            "deadlock_all_are_served": "violated",
            "bypassed_twice_none": "violated",
        },
        "two-servers-deadlock": { "blocked_processes": [1, 2] },
        "fault-summary": {
            "idle_process_down_all_are_served": ["holds", "violated", "violated", "violated"],
        },
        "strategies": {},
        "central-empty": { "messages": 3 },
        "central-empty -n 9": { "entries_in_order": [2] },
        "central-queue": { "entries_in_order": [2, 6, 1], "messages": 9 },
    }));
}

#[test]
fn locks_on_a_ring() {
    assert_observed(&json!({
        "ring-idle-cost -n 3": { "messages_while_a_process_is_inside": 0 },
        "ring-lap -n 4": { "messages": 5 },
        "ring-delays -n 2": { "messages_per_entry": 2 },
        "ring-delays": { "messages_per_entry": 5 },
        "ring-faults": { "a_duplicated_token_two_inside": "violated" },
    }));
}

#[test]
fn locks_with_timestamps() {
    assert_observed(&json!({
        "lamport-example": { "awaited_after_p2_s_reply": "{P3}" },
        "lamport-messages -n 4": { "messages_of_an_entry": 9 },
        "lamport-order": { "reply_from_all_one_inside": "violated" },
        "ricart-agrawala-replies": { "entries_in_order": [1, 2] },
        "ricart-agrawala-7-15": {
            "entries_in_order": [3, 2],
            "messages": 8,
            "deferred_at_p3": "[(15, P2)]",
        },
        "ricart-agrawala-tie": { "entries_in_order": [1, 2] },
        "ricart-agrawala-messages -n 4": { "messages_of_an_entry": 6 },
    }));
}

#[test]
#[ignore = "long: 6 s"]
fn locks_with_permissions_or_tokens() {
    assert_observed(&json!({
        "maekawa": {
            "1985_p2_p3_and_p4_request_all_are_served": "violated",
            "corrected_all_are_served": "holds",
        },
        "carvalho-roucairol": { "messages_of_a_process_that_has_all": 0 },
        "k-mutex": { "never_two_inside": "violated" },
        "tolerant-ricart-agrawala": {
            "one_inside": "holds",
            "p2_s_places": ["(1, P2)", "(4, P2)"],
        },
        "majority": { "entries_with_two_of_five_down": 3 },
        "suzuki-kasami -n 4": { "requests": 3 },
        "raymond": { "moves_of_the_token_on_the_path": 4 },
        "naimi-trehel": { "requests": 1 },
        "nishio-li-manning": {
            "the_token_is_regenerated_all_are_served": "holds",
            "a_token_that_was_kept_one_inside": "holds",
        },
        "misra-ring": { "all_are_served_when_both_are_lost": "violated" },
        "repaired-ring": { "all_survivors_are_served": "holds", "p3_s_numbers": ["1", "3"] },
        "dijkstra-ring": { "all_are_served": "holds" },
        "self-stabilization": { "3_machines": 2, "4_machines": 13, "5_machines": 24 },
        "token-regeneration": { "suzuki_kasami_blocked_processes": [] },
    }));
}

/// Checks the observed values of scenarios in which only some pairs of processes exclude each
/// other, such as the dining philosophers.
#[test]
#[ignore = "long: 18 s"]
fn philosophers_and_groups() {
    assert_observed(&json!({
        "dining-philosophers": { "never_two_inside": "violated", "all_wait": "violated" },
        "drinking-philosophers": { "begin_at_once": 2, "all_wait": "violated" },
        "congenial-philosophers": { "most": 12 },
        "leased-shares": { "opposite_orders": "violated", "two_upgrades": "violated" },
    }));
}

#[test]
fn elections() {
    assert_observed(&json!({
        "least-loaded": { "leaders_by_algorithm": [[3], [3], [3], [3]] },
        "anonymous-ring -n 5": { "leader_after_one_hop": 5 },
        "election-triggers": { "leaders_by_trigger": [[4], [4], [3], [3]] },
        "one-leader-for-good": { "bully_leaders": [5] },
        "before-one-takes-part": { "leader_that_p4_follows_later": 4 },
        "master-of-five": { "masters_where_three_are_down": 0 },
        "equal-ranks": { "how_many_lead": 2 },
        "uniform": { "anonymous_ones": ["itai-rodeh"] },
        "reductions": { "a_lock_of_an_election_one_inside": "holds" },
        "runs-of-one-election": { "participants": [5, 5, 5] },
        "invitation -n 6": { "messages": 25, "one_leader_per_group_always": "holds" },
    }));
    assert_refused("simulate bully --loads 50,0,25", &["--loads"]);
}

#[test]
fn chang_roberts() {
    assert_observed(&json!({
        "chang-roberts-single": { "messages_by_initiator": [14, 13, 12, 11, 10] },
        "chang-roberts-five": {
            "messages_after_each_round": [5, 9, 12, 14, 15],
            "messages": 20,
        },
        "chang-roberts-worst -n 2": { "messages": 5 },
        "chang-roberts-worst": { "messages": 20 },
        "chang-roberts-worst -n 12": { "messages": 90 },
        "chang-roberts-28": { "leader": [28] },
        "chang-roberts-cases": { "and_participates_no_longer": "NonParticipant" },
        "chang-roberts-concurrent": { "leader_that_p2_follows": [5, 5, 5, 5, 5] },
        "chang-roberts-links": {
            "all_are_eventually_informed": "violated",
            "steps_of_the_shortest_counterexample": 8,
        },
        "chang-roberts-time -n 7": { "units_when_all_start": 14.0 },
        "chang-roberts-failures-before": { "messages_of_the_five": 14 },
        "chang-roberts-restart": { "leader": [5], "messages_of_both_attempts": 16 },
    }));
}

#[test]
fn other_elections_on_a_ring() {
    assert_observed(&json!({
        "lelann-messages -n 6": { "messages_when_two_start": 36 },
        "lelann-recovered -n 7": { "queries": 7 },
        "lelann-list -n 6": {
            "the_smallest_leads": [1],
            "all_are_on_the_list_of_each": "holds",
        },
        "hirschberg-sinclair-phases": {
            "candidates_by_phase": [8, 4, 2, 1],
            "messages_by_phase": [24, 24, 24, 16],
        },
        "hirschberg-sinclair-bound": {},
        "hirschberg-sinclair-eight": { "leader": [8] },
        "peterson -n 9": {
            "increasing_ranks": 35,
            "dolev_klawe_rodeh": 36,
            "most_messages_of_eight": 54,
        },
    }));
    let expected = &data("scenario hirschberg-sinclair-bound", 0)["expected"];
    for (n, sum) in [(4, 82.93), (8, 222.76), (16, 565.98), (32, 1380.2)] {
        let most = &expected[format!("most_messages_of_{n}")]["at_most"];
        assert!((most.as_f64().expect("a number") - sum).abs() < 0.05, "{n}: {most}");
    }
}

#[test]
fn bully() {
    assert_observed(&json!({
        "bully-eight-steps": {
            "messages_by_step": [2, 2, 3, 3, 9, 3],
            "messages": 22,
            "messages_if_p2_contacts_only_p3": 21,
            "elections": 9,
            "answers": 4,
            "announcements": 9,
        },
        "bully-worst -n 3": { "messages_at_worst": 8, "messages_without_the_highest": 6 },
        "bully-worst": { "messages_at_worst": 24, "messages_without_the_highest": 20 },
        "bully-worst -n 9": { "messages_at_worst": 80, "messages_without_the_highest": 72 },
        "bully-takes-over": { "announcements_for_it": 4, "elections_for_it": 0 },
        "bully-would-be-leader-dies": { "leader": [1] },
        "bully-comes-back": {
            "leader_that_p1_follows": 4,
            "p1_s_recovery_questions": 6,
            "p1_s_recovery_answers": 6,
            "p1_s_recovery_announcements": 3,
        },
        "bully-assumptions": {
            "wrong_timeouts_one_leads_at_a_time": "violated",
            "healed_with_greetings_all_agree": "holds",
            "healed_without_all_agree": "violated",
        },
    }));
}

#[test]
fn elections_on_any_graph() {
    assert_observed(&json!({
        "spanning-tree -n 6": { "with_the_echo": 30 },
        "spanning-tree-any-graph": { "random_0_5_edges_of_the_tree": 5.0 },
        "echo -n 5": { "messages": [8, 10, 20] },
        "echo-election -n 5": { "messages": 14 },
        "tree-election -n 5": { "messages": [16, 16, 16] },
        "flooding-election -n 5": { "messages": [32, 20, 20] },
        "minimum-spanning-tree -n 6": { "announcements": 4.0, "most_messages": 28 },
    }));
}

#[test]
#[ignore = "long: 12 s"]
fn uses_of_leaders_and_locks() {
    assert_observed(&json!({
        "berkeley": { "adjustments_in_minutes": [[5], [-20], [15]] },
        "primary-backup": { "acknowledged_writes_lost": 0 },
        "two-phase-commit -n 5": { "blocked_processes": [2, 3, 4, 5] },
        "three-phase-commit -n 5": {
            "blocked_processes": [],
            "one_commits_the_others_abort": [true, false, false, false, false],
        },
        // P2 has the whole log, and P3 lacks entries.
        "hand-over": {
            "raft_next_leader": ["P2"],
            "raft_deposition_reported_by": 3,
            "bully_next_leader": ["P2"],
            "a_log_p1_asks_p2_to_stand_at_once": 1,
            "a_log_p2_asks_p3_to_stand_at_once": 0,
            "a_log_last_leader": "3",
        },
        "one-leader-at-a-time": {
            "a_later_term_p2_votes": ["false"],
            "a_long_lease_one_leads_at_a_time": "violated",
        },
        "locks-by-name": {
            "elections_meanwhile": 0,
            "next_leader": ["P2"],
            "cut_off_inside_one_inside": "holds",
            "without_a_leader_p1_requests_the_lock": 0,
        },
        "lease": {
            "a_paused_process_is_one_of_two": "violated",
            "delay_from_exit_to_entry": 4.0,
        },
        "leased": {
            "delay_from_exit_to_entry": 5.0,
            "counted_from_the_answer": "violated",
            "answered_alone_steps": 17,
            "answered_and_not_counted": "violated",
        },
    }));
}

/// The diagram of a partition in three-phase commit states the outcomes of the transaction, and
/// shows no elections.
#[test]
fn diagram_of_three_phase_commit_shows_both_outcomes() {
    let report = String::from_utf8(tenure("scenario three-phase-commit").stdout).expect("text");
    let violated: Vec<&str> = report.lines().filter(|line| line.contains(" violated: ")).collect();
    let [atomicity] = violated[..] else { panic!("{violated:?}") };
    assert!(atomicity.contains("✗ atomicity violated: P1 commits"), "{atomicity}");
}

/// Checks the algorithm `lease` under crashes and partitions, in which a response about a lease may
/// arrive late. Mutual exclusion holds, because the lease counts from the time of the request.
#[test]
fn late_lease_response_counts_from_its_own_request() {
    for faults in ["-n 2 --entries 2 --crash 1 --recover 1", "-n 3 --partition 1"] {
        let line = format!("check lease {faults} --property mutual-exclusion");
        assert_eq!(tenure(&line).status.code(), Some(0), "{line}");
    }
}
