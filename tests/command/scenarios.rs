//! `tenure scenario`: each scenario holds, and each experiment fails after a change.

use crate::shell::{data, tenure};
use serde_json::{Value, json};

/// Runs a scenario and returns the observations. Asserts that the scenario holds, and that its
/// experiments fail after a change.
#[track_caller]
pub(crate) fn observed(line: &str) -> Value {
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

/// The files with tests of scenarios.
const TESTS: [&str; 6] = [
    include_str!("scenarios.rs"),
    include_str!("agreements.rs"),
    include_str!("permissions.rs"),
    include_str!("rounds.rs"),
    include_str!("philosophers.rs"),
    include_str!("own_models.rs"),
];

/// Returns true if a test of the scenario continues with `end`.
fn is_tested(name: &str, end: &str) -> bool {
    TESTS.iter().any(|tests| tests.contains(&format!("(\"{name}{end}")))
}

/// Each scenario needs a test.
#[test]
fn every_scenario_has_a_test() {
    for name in names() {
        // Without or with options.
        assert!(["\"", " "].iter().any(|end| is_tested(&name, end)), "there is no test of {name}");
    }
}

/// Scenarios whose tests set options hold without options too, and can be changed.
#[test]
fn no_scenario_needs_an_option() {
    for name in names().iter().filter(|name| !is_tested(name, "\"")) {
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
        let output = tenure(line);
        let report = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), report.lines().count()),
            (Some(2), 1),
            "{line}: {report}"
        );
        assert!(report.contains(message) && output.stdout.is_empty(), "{line}: {report}");
    }
}

#[test]
fn two_generals() {
    let plain = observed("two-generals");
    assert_eq!(plain["leader"], json!([1, 1, 2]));
    assert_eq!(plain["pairs_of_runs_that_one_army_cannot_distinguish"], 8);
    let wider = observed("two-generals --min 1 --max 5 --seeds 50");
    let ends = (&wider["skew_of_the_fastest"], &wider["skew_of_the_slowest"]);
    assert_eq!(ends, (&json!(0.0), &json!(4.0)));
}

#[test]
fn outside_assumptions() {
    let observed = observed("outside-assumptions");
    assert_eq!(observed["lamport_s_lock_then_one_inside"], "violated");
}

#[test]
fn stronger_model() {
    let observed = observed("stronger-model");
    let all = "lelann_n_3_all_that_holds_whatever_time_it_takes_holds_within_bounds";
    assert_eq!(
        (&observed[all], &observed["lelann_all_that_held_still_holds"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(observed["without_all_agree"], "violated", "and not the other way round");
}

#[test]
fn asynchronous_is_fair() {
    assert_eq!(observed("asynchronous-is-fair")["entries"], 4);
}

#[test]
fn partial_synchrony() {
    assert_eq!(observed("partial-synchrony")["how_many_lead"], 1);
}

#[test]
fn known_bounds() {
    let observed = observed("known-bounds");
    assert_eq!(observed["then_t_4"], "holds");
    assert_eq!(observed["then_t_5"], "holds");
    let accuracy = json!(["violated", "holds", "violated", "holds"]);
    assert_eq!(observed["no_live_process_is_suspected"], accuracy);
}

#[test]
fn any_order_of_messages() {
    assert_eq!(observed("any-order-of-messages")["lamport_one_inside"], "violated");
}

#[test]
fn central_order() {
    assert_eq!(observed("central-order")["steps_of_the_shortest_counterexample"], 6);
}

#[test]
fn deadlock_and_starvation() {
    let observed = observed("deadlock-and-starvation");
    assert_eq!(observed["deadlock_all_are_served"], "violated");
    assert_eq!(observed["bypassed_twice_none"], "violated");
}

#[test]
fn two_servers_deadlock() {
    assert_eq!(observed("two-servers-deadlock")["blocked_processes"], json!([1, 2]));
}

#[test]
fn fault_summary() {
    let idle = json!(["holds", "violated", "violated", "violated"]);
    assert_eq!(observed("fault-summary")["idle_process_down_all_are_served"], idle);
}

#[test]
fn strategies() {
    observed("strategies");
}

#[test]
fn central_empty() {
    assert_eq!(observed("central-empty")["messages"], 3);
    assert_eq!(observed("central-empty -n 9")["entries_in_order"], json!([2]));
}

#[test]
fn central_queue() {
    let observed = observed("central-queue");
    assert_eq!(
        (&observed["entries_in_order"], &observed["messages"]),
        (&json!([2, 6, 1]), &json!(9))
    );
}

#[test]
fn ring_idle_cost() {
    assert_eq!(observed("ring-idle-cost -n 3")["messages_while_a_process_is_inside"], 0);
}

#[test]
fn ring_lap() {
    assert_eq!(observed("ring-lap -n 4")["messages"], 5);
}

#[test]
fn ring_delays() {
    assert_eq!(observed("ring-delays -n 2")["messages_per_entry"], 2);
    assert_eq!(observed("ring-delays")["messages_per_entry"], 5);
}

#[test]
fn ring_faults() {
    assert_eq!(observed("ring-faults")["a_duplicated_token_two_inside"], "violated");
}

#[test]
fn lamport_example() {
    assert_eq!(observed("lamport-example")["awaited_after_p2_s_reply"], "{P3}");
}

#[test]
fn lamport_messages() {
    assert_eq!(observed("lamport-messages -n 4")["messages_of_an_entry"], 9);
}

#[test]
fn lamport_order() {
    assert_eq!(observed("lamport-order")["reply_from_all_one_inside"], "violated");
}

#[test]
fn ricart_agrawala_replies() {
    assert_eq!(observed("ricart-agrawala-replies")["entries_in_order"], json!([1, 2]));
}

#[test]
fn ricart_agrawala_7_15() {
    let observed = observed("ricart-agrawala-7-15");
    assert_eq!((&observed["entries_in_order"], &observed["messages"]), (&json!([3, 2]), &json!(8)));
    assert_eq!(observed["deferred_at_p3"], "[(15, P2)]");
}

#[test]
fn ricart_agrawala_tie() {
    assert_eq!(observed("ricart-agrawala-tie")["entries_in_order"], json!([1, 2]));
}

#[test]
fn ricart_agrawala_messages() {
    assert_eq!(observed("ricart-agrawala-messages -n 4")["messages_of_an_entry"], 6);
}

#[test]
fn least_loaded() {
    assert_eq!(observed("least-loaded")["leaders_by_algorithm"], json!([[3], [3], [3], [3]]));
    let refused = tenure("simulate bully --loads 50,0,25");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn anonymous_ring() {
    assert_eq!(observed("anonymous-ring -n 5")["leader_after_one_hop"], 5);
}

#[test]
fn election_triggers() {
    assert_eq!(observed("election-triggers")["leaders_by_trigger"], json!([[4], [4], [3], [3]]));
}

#[test]
fn one_leader_for_good() {
    assert_eq!(observed("one-leader-for-good")["bully_leaders"], json!([5]));
}

#[test]
fn before_one_takes_part() {
    assert_eq!(observed("before-one-takes-part")["leader_that_p4_follows_later"], 4);
}

#[test]
fn lelann_messages() {
    assert_eq!(observed("lelann-messages -n 6")["messages_when_two_start"], 36);
}

#[test]
fn lelann_recovered() {
    assert_eq!(observed("lelann-recovered -n 7")["queries"], 7);
}

#[test]
fn chang_roberts_single() {
    assert_eq!(
        observed("chang-roberts-single")["messages_by_initiator"],
        json!([14, 13, 12, 11, 10])
    );
}

#[test]
fn chang_roberts_five() {
    let observed = observed("chang-roberts-five");
    assert_eq!(observed["messages_after_each_round"], json!([5, 9, 12, 14, 15]));
    assert_eq!(observed["messages"], 20);
}

#[test]
fn chang_roberts_worst() {
    for (line, messages) in [("-n 2", 5), ("", 20), ("-n 12", 90)] {
        let observed = observed(&("chang-roberts-worst ".to_owned() + line));
        assert_eq!(observed["messages"], messages, "{line}");
    }
}

#[test]
fn chang_roberts_28() {
    assert_eq!(observed("chang-roberts-28")["leader"], json!([28]));
}

#[test]
fn chang_roberts_cases() {
    assert_eq!(observed("chang-roberts-cases")["and_participates_no_longer"], "NonParticipant");
}

#[test]
fn chang_roberts_concurrent() {
    assert_eq!(
        observed("chang-roberts-concurrent")["leader_that_p2_follows"],
        json!([5, 5, 5, 5, 5])
    );
}

#[test]
fn chang_roberts_links() {
    let observed = observed("chang-roberts-links");
    assert_eq!(observed["all_are_eventually_informed"], "violated");
    assert_eq!(observed["steps_of_the_shortest_counterexample"], 8);
}

#[test]
fn chang_roberts_time() {
    assert_eq!(observed("chang-roberts-time -n 7")["units_when_all_start"], 14.0);
}

#[test]
fn hirschberg_sinclair_phases() {
    let observed = observed("hirschberg-sinclair-phases");
    assert_eq!(observed["candidates_by_phase"], json!([8, 4, 2, 1]));
    assert_eq!(observed["messages_by_phase"], json!([24, 24, 24, 16]));
}

#[test]
fn hirschberg_sinclair_bound() {
    observed("hirschberg-sinclair-bound");
    let expected = &data("scenario hirschberg-sinclair-bound", 0)["expected"];
    for (n, sum) in [(4, 82.93), (8, 222.76), (16, 565.98), (32, 1380.2)] {
        let most = &expected[format!("most_messages_of_{n}")]["at_most"];
        assert!((most.as_f64().expect("a number") - sum).abs() < 0.05, "{n}: {most}");
    }
}

#[test]
fn hirschberg_sinclair_eight() {
    assert_eq!(observed("hirschberg-sinclair-eight")["leader"], json!([8]));
}

#[test]
fn bully_eight_steps() {
    let observed = observed("bully-eight-steps");
    assert_eq!(observed["messages_by_step"], json!([2, 2, 3, 3, 9, 3]));
    assert_eq!(
        (&observed["messages"], &observed["messages_if_p2_contacts_only_p3"]),
        (&json!(22), &json!(21))
    );
    let kinds = ["elections", "answers", "announcements"].map(|kind| observed[kind].clone());
    assert_eq!(kinds, [json!(9), json!(4), json!(9)]);
}

#[test]
fn bully_worst() {
    for (line, worst, without) in [("-n 3", 8, 6), ("", 24, 20), ("-n 9", 80, 72)] {
        let observed = observed(&("bully-worst ".to_owned() + line));
        assert_eq!(observed["messages_at_worst"], worst, "{line}");
        assert_eq!(observed["messages_without_the_highest"], without, "{line}");
    }
}

#[test]
fn bully_takes_over() {
    let observed = observed("bully-takes-over");
    assert_eq!(
        (&observed["announcements_for_it"], &observed["elections_for_it"]),
        (&json!(4), &json!(0))
    );
}

#[test]
fn bully_would_be_leader_dies() {
    assert_eq!(observed("bully-would-be-leader-dies")["leader"], json!([1]));
}

#[test]
fn bully_comes_back() {
    let observed = observed("bully-comes-back");
    assert_eq!(observed["leader_that_p1_follows"], 4);
    let cost = ["questions", "answers", "announcements"];
    assert_eq!(cost.map(|kind| &observed[format!("p1_s_recovery_{kind}")]), [6, 6, 3]);
}

#[test]
fn bully_assumptions() {
    let observed = observed("bully-assumptions");
    assert_eq!(observed["wrong_timeouts_one_leads_at_a_time"], "violated");
    assert_eq!(observed["healed_with_greetings_all_agree"], "holds");
    assert_eq!(observed["healed_without_all_agree"], "violated");
}

#[test]
fn berkeley() {
    assert_eq!(observed("berkeley")["adjustments_in_minutes"], json!([[5], [-20], [15]]));
}

#[test]
fn primary_backup() {
    assert_eq!(observed("primary-backup")["acknowledged_writes_lost"], 0);
}

#[test]
fn two_phase_commit() {
    assert_eq!(observed("two-phase-commit -n 5")["blocked_processes"], json!([2, 3, 4, 5]));
}

#[test]
fn three_phase_commit() {
    let observed = observed("three-phase-commit -n 5");
    assert_eq!(observed["blocked_processes"], json!([]));
    assert_eq!(observed["one_commits_the_others_abort"], json!([true, false, false, false, false]));
    // The diagram of a partition states the outcome of the transaction, and no elections.
    let report = String::from_utf8(tenure("scenario three-phase-commit").stdout).expect("text");
    let violated: Vec<&str> = report.lines().filter(|line| line.contains(" violated: ")).collect();
    let [atomicity] = violated[..] else { panic!("{violated:?}") };
    assert!(atomicity.contains("✗ atomicity violated: P1 commits"), "{atomicity}");
}

#[test]
fn hand_over() {
    let observed = observed("hand-over");
    assert_eq!(observed["raft_next_leader"], json!(["P2"]));
    assert_eq!(observed["raft_deposition_reported_by"], 3);
    assert_eq!(observed["bully_next_leader"], json!(["P2"]));
    let at_once = ["a_log_p1_asks_p2_to_stand_at_once", "a_log_p2_asks_p3_to_stand_at_once"];
    assert_eq!(
        at_once.map(|report| &observed[report]),
        [1, 0],
        "P2 has all of the log, and P3 has not"
    );
    assert_eq!(observed["a_log_last_leader"], "3");
}

#[test]
fn one_leader_at_a_time() {
    let observed = observed("one-leader-at-a-time");
    assert_eq!(observed["a_later_term_p2_votes"], json!(["false"]));
    assert_eq!(observed["a_long_lease_one_leads_at_a_time"], "violated");
}

#[test]
fn locks_by_name() {
    let observed = observed("locks-by-name");
    assert_eq!(observed["elections_meanwhile"], 0);
    assert_eq!(observed["next_leader"], json!(["P2"]));
    assert_eq!(observed["cut_off_inside_one_inside"], "holds");
    assert_eq!(observed["without_a_leader_p1_requests_the_lock"], 0);
}

#[test]
fn lease() {
    let observed = observed("lease");
    assert_eq!(observed["a_paused_process_is_one_of_two"], "violated");
    assert_eq!(observed["delay_from_exit_to_entry"], 4.0);
}

#[test]
fn leased() {
    let observed = observed("leased");
    assert_eq!(observed["delay_from_exit_to_entry"], 5.0);
    assert_eq!(observed["counted_from_the_answer"], "violated");
    assert_eq!(observed["answered_alone_steps"], 17);
    assert_eq!(observed["answered_and_not_counted"], "violated");
}

/// A late response refers to an earlier request: it extends no lease.
#[test]
fn late_lease_response_counts_from_its_own_request() {
    for faults in ["-n 2 --entries 2 --crash 1 --recover 1", "-n 3 --partition 1"] {
        let line = format!("check lease {faults} --property mutual-exclusion");
        assert_eq!(tenure(&line).status.code(), Some(0), "{line}");
    }
}

#[test]
fn spanning_tree() {
    assert_eq!(observed("spanning-tree -n 6")["with_the_echo"], 30);
}

#[test]
fn spanning_tree_any_graph() {
    let observed = observed("spanning-tree-any-graph");
    assert_eq!(observed["random_0_5_edges_of_the_tree"].as_f64(), Some(5.0));
}

#[test]
fn echo() {
    assert_eq!(observed("echo -n 5")["messages"], json!([8, 10, 20]));
}

#[test]
fn echo_election() {
    assert_eq!(observed("echo-election -n 5")["messages"], 14);
}

#[test]
fn lelann_list() {
    let observed = observed("lelann-list -n 6");
    assert_eq!(observed["the_smallest_leads"], json!([1]));
    assert_eq!(observed["all_are_on_the_list_of_each"], "holds");
}

#[test]
fn peterson() {
    let observed = observed("peterson -n 9");
    assert_eq!(
        (&observed["increasing_ranks"], &observed["dolev_klawe_rodeh"]),
        (&json!(35), &json!(36))
    );
    assert_eq!(observed["most_messages_of_eight"], 54);
}

#[test]
fn invitation() {
    let observed = observed("invitation -n 6");
    assert_eq!(observed["messages"], 25);
    assert_eq!(observed["one_leader_per_group_always"], "holds");
}

#[test]
fn tree_election() {
    assert_eq!(observed("tree-election -n 5")["messages"], json!([16, 16, 16]));
}

#[test]
fn flooding_election() {
    assert_eq!(observed("flooding-election -n 5")["messages"], json!([32, 20, 20]));
}

#[test]
fn minimum_spanning_tree() {
    let observed = observed("minimum-spanning-tree -n 6");
    assert_eq!(observed["announcements"].as_f64(), Some(4.0));
    assert_eq!(observed["most_messages"], 28);
}

#[test]
fn token_regeneration() {
    let observed = observed("token-regeneration");
    assert_eq!(observed["suzuki_kasami_blocked_processes"], json!([]));
}

#[test]
fn master_of_five() {
    assert_eq!(observed("master-of-five")["masters_where_three_are_down"], 0);
}

#[test]
fn equal_ranks() {
    assert_eq!(observed("equal-ranks")["how_many_lead"], 2);
}

#[test]
fn uniform() {
    assert_eq!(observed("uniform")["anonymous_ones"], json!(["itai-rodeh"]));
}

#[test]
fn reductions() {
    assert_eq!(observed("reductions")["a_lock_of_an_election_one_inside"], "holds");
}

#[test]
fn runs_of_one_election() {
    assert_eq!(observed("runs-of-one-election")["participants"], json!([5, 5, 5]));
}

#[test]
fn chang_roberts_failures_before() {
    assert_eq!(observed("chang-roberts-failures-before")["messages_of_the_five"], 14);
}

#[test]
fn chang_roberts_restart() {
    let observed = observed("chang-roberts-restart");
    assert_eq!(
        (&observed["leader"], &observed["messages_of_both_attempts"]),
        (&json!([5]), &json!(16))
    );
}
