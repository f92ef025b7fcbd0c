//! The worked examples of `tenure scenario`: each holds, and each fails when one thing is changed.

use crate::shell::{data, tenure};
use serde_json::{Value, json};
use tenure_claims::claims;

/// A scenario that holds, and each experiment of which does not when one thing about it is changed:
/// what was seen.
#[track_caller]
pub(crate) fn seen(line: &str) -> Value {
    let told = data(&format!("scenario {line}"), 0);
    assert_eq!(told["holds"], true, "{line}: {told}");
    let broken = data(&format!("scenario {line} --broken"), 1);
    assert_eq!(broken["holds"], false, "{line}: {broken}");
    let held = |told: &Value| told["held"].as_array().expect("a list").clone();
    assert_eq!(held(&told), vec![json!(true); held(&broken).len()], "{line}: {told}");
    assert_eq!(held(&broken), vec![json!(false); held(&told).len()], "{line}: {broken}");
    assert_ne!(broken["observed"], told["observed"], "{line}");
    assert_eq!(broken["expected"], told["expected"], "{line}");
    told["observed"].clone()
}

fn names() -> Vec<String> {
    let list = data("scenario", 0);
    let name = |it: &Value| it["name"].as_str().expect("a name").to_owned();
    list.as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn the_list_has_a_name_a_source_and_a_sentence_for_each() {
    for scenario in data("scenario", 0).as_array().expect("a list") {
        let keys: Vec<_> = scenario.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["name", "says", "source"]);
    }
    let text = String::from_utf8(tenure("scenario").stdout).expect("text");
    for name in names() {
        assert!(text.lines().any(|line| line == name), "{name}");
    }
}

/// The tests of scenarios, here and beside this.
const TESTS: [&str; 3] =
    [include_str!("scenarios.rs"), include_str!("agreements.rs"), include_str!("permissions.rs")];

/// Whether a scenario is tested in words that go on like this.
fn is_tested(name: &str, end: &str) -> bool {
    TESTS.iter().any(|tests| tests.contains(&format!("(\"{name}{end}")))
}

/// Whoever adds a scenario writes a test of it.
#[test]
fn every_scenario_has_a_test() {
    for name in names() {
        // As itself, or followed by options.
        assert!(["\"", " "].iter().any(|end| is_tested(&name, end)), "there is no test of {name}");
    }
}

/// Those whose own tests vary them hold, and can be broken, as they are without options too.
#[test]
fn no_scenario_needs_an_option() {
    for name in names().iter().filter(|name| !is_tested(name, "\"")) {
        seen(name);
    }
}

#[test]
fn what_does_not_exist_is_refused_with_what_was_meant() {
    for (line, says) in [
        ("scenario rcae", "nearest are race"),
        ("scenario race -n 3", "race takes --start, and not -n"),
        ("scenario two-generals --min 5 --max 3", "swap them"),
        ("scenario central-empty -n 1", "give 3 to"),
        ("scenario -n 3", "belongs to a scenario"),
    ] {
        let output = tenure(line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{line}: {told}");
        assert!(told.contains(says) && output.stdout.is_empty(), "{line}: {told}");
    }
}

#[claims("I-06", "I-07", "I-08", "W-01")]
#[test]
fn two_generals() {
    let plain = seen("two-generals");
    assert_eq!(plain["who_leads"], json!([1, 1, 2]));
    assert_eq!(plain["pairs_of_runs_that_one_army_cannot_tell_apart"], 8);
    let wider = seen("two-generals --min 1 --max 5 --seeds 50");
    let ends = (&wider["skew_of_the_fastest"], &wider["skew_of_the_slowest"]);
    assert_eq!(ends, (&json!(0.0), &json!(4.0)));
}

#[claims("I-01")]
#[test]
fn outside_assumptions() {
    let seen = seen("outside-assumptions");
    assert_eq!(seen["lamport_s_lock_then_one_inside"], "violated");
}

#[claims("I-02", "I-82")]
#[test]
fn stronger_model() {
    let seen = seen("stronger-model");
    let all = "lelann_n_3_all_that_holds_whatever_time_it_takes_holds_within_bounds";
    assert_eq!(
        (&seen[all], &seen["lelann_all_that_held_still_holds"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(seen["without_all_agree"], "violated", "and not the other way round");
}

#[claims("I-03", "I-04")]
#[test]
fn asynchronous_is_fair() {
    assert_eq!(seen("asynchronous-is-fair")["entries"], 4);
}

#[claims("I-05")]
#[test]
fn partial_synchrony() {
    assert_eq!(seen("partial-synchrony")["how_many_lead"], 1);
}

#[claims("W-02", "W-03", "W-04", "I-10", "I-11")]
#[test]
fn race() {
    let seen = seen("race");
    assert_eq!(seen["schedules_by_final_value"], json!({"4": 9, "5": 2, "6": 9}));
    assert_eq!(seen["schedules_by_final_value_under_a_lock"], json!({"5": 2}));
    assert_eq!(seen["orders_by_final_value_of_the_record"], json!({"4": 2, "5": 2, "6": 2}));
    assert_eq!(seen["by_final_value_under_a_lock"], json!({"5": 2}));
}

#[claims("I-22")]
#[test]
fn any_order_of_messages() {
    assert_eq!(seen("any-order-of-messages")["lamport_one_inside"], "violated");
}

#[claims("I-30", "P-ORD")]
#[test]
fn central_order() {
    assert_eq!(seen("central-order")["steps_of_the_shortest_counterexample"], 6);
}

#[claims("I-24", "P-LIVE", "P-NOST")]
#[test]
fn deadlock_and_starvation() {
    let seen = seen("deadlock-and-starvation");
    assert_eq!(seen["deadlock_all_are_served"], "violated");
    assert_eq!(seen["passed_by_nobody_twice"], "violated");
}

#[claims("I-31")]
#[test]
fn two_servers_deadlock() {
    assert_eq!(seen("two-servers-deadlock")["who_waits_for_ever"], json!([1, 2]));
}

#[claims("I-40")]
#[test]
fn fault_summary() {
    let idle = json!(["holds", "violated", "violated", "violated"]);
    assert_eq!(seen("fault-summary")["idle_process_down_all_are_served"], idle);
}

#[claims("I-25")]
#[test]
fn strategies() {
    seen("strategies");
}

#[claims("W-05", "I-32", "M-CD")]
#[test]
fn central_empty() {
    assert_eq!(seen("central-empty")["messages"], 3);
    assert_eq!(seen("central-empty -n 9")["entries_in_order"], json!([2]));
}

#[claims("W-06")]
#[test]
fn central_queue() {
    let seen = seen("central-queue");
    assert_eq!((&seen["entries_in_order"], &seen["messages"]), (&json!([2, 6, 1]), &json!(9)));
}

#[claims("I-34")]
#[test]
fn ring_idle_cost() {
    assert_eq!(seen("ring-idle-cost -n 3")["messages_while_somebody_is_inside"], 0);
}

#[claims("I-33")]
#[test]
fn ring_lap() {
    assert_eq!(seen("ring-lap -n 4")["messages"], 5);
}

#[claims("I-35", "M-SD")]
#[test]
fn ring_delays() {
    assert_eq!(seen("ring-delays -n 2")["messages_per_entry"], 2);
    assert_eq!(seen("ring-delays")["messages_per_entry"], 5);
}

#[claims("I-36")]
#[test]
fn ring_faults() {
    assert_eq!(seen("ring-faults")["a_duplicated_token_two_inside"], "violated");
}

#[claims("W-07")]
#[test]
fn lamport_example() {
    assert_eq!(seen("lamport-example")["awaited_after_p2_s_reply"], "{P3}");
}

#[claims("I-37", "M-BW")]
#[test]
fn lamport_messages() {
    assert_eq!(seen("lamport-messages -n 4")["messages_of_an_entry"], 9);
}

#[test]
fn lamport_order() {
    assert_eq!(seen("lamport-order")["reply_from_all_one_inside"], "violated");
}

#[claims("W-08")]
#[test]
fn ricart_agrawala_replies() {
    assert_eq!(seen("ricart-agrawala-replies")["entries_in_order"], json!([1, 2]));
}

#[claims("W-09")]
#[test]
fn ricart_agrawala_7_15() {
    let seen = seen("ricart-agrawala-7-15");
    assert_eq!((&seen["entries_in_order"], &seen["messages"]), (&json!([3, 2]), &json!(8)));
    assert_eq!(seen["deferred_at_p3"], "[(15, P2)]");
}

#[claims("I-38", "P-SAFE")]
#[test]
fn ricart_agrawala_tie() {
    assert_eq!(seen("ricart-agrawala-tie")["entries_in_order"], json!([1, 2]));
}

#[claims("I-39")]
#[test]
fn ricart_agrawala_messages() {
    assert_eq!(seen("ricart-agrawala-messages -n 4")["messages_of_an_entry"], 6);
}

#[claims("I-54")]
#[test]
fn least_loaded() {
    assert_eq!(seen("least-loaded")["leaders_by_algorithm"], json!([[3], [3], [3], [3]]));
    let refused = tenure("simulate bully --loads 50,0,25");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[claims("I-57")]
#[test]
fn anonymous_ring() {
    assert_eq!(seen("anonymous-ring -n 5")["who_leads_after_one_hop"], 5);
}

#[claims("I-50")]
#[test]
fn election_triggers() {
    assert_eq!(seen("election-triggers")["leaders_by_trigger"], json!([[4], [4], [3], [3]]));
}

#[claims("I-56", "P-ESAFE", "P-ELIVE")]
#[test]
fn one_leader_for_good() {
    assert_eq!(seen("one-leader-for-good")["bully_leaders"], json!([5]));
}

#[claims("I-55", "I-60")]
#[test]
fn before_one_takes_part() {
    assert_eq!(seen("before-one-takes-part")["what_p4_believes_in_later"], 4);
}

#[claims("A-LL")]
#[test]
fn lelann_messages() {
    assert_eq!(seen("lelann-messages -n 6")["messages_when_two_start"], 36);
}

#[claims("I-62")]
#[test]
fn lelann_recovered() {
    assert_eq!(seen("lelann-recovered -n 7")["queries"], 7);
}

#[claims("W-10", "I-74")]
#[test]
fn chang_roberts_single() {
    assert_eq!(seen("chang-roberts-single")["messages_by_initiator"], json!([14, 13, 12, 11, 10]));
}

#[claims("W-11")]
#[test]
fn chang_roberts_five() {
    let seen = seen("chang-roberts-five");
    assert_eq!(seen["messages_after_each_round"], json!([5, 9, 12, 14, 15]));
    assert_eq!(seen["messages"], 20);
}

#[claims("W-12")]
#[test]
fn chang_roberts_worst() {
    for (line, messages) in [("-n 2", 5), ("", 20), ("-n 12", 90)] {
        let seen = seen(&("chang-roberts-worst ".to_owned() + line));
        assert_eq!(seen["messages"], messages, "{line}");
    }
}

#[claims("W-13", "I-53")]
#[test]
fn chang_roberts_28() {
    assert_eq!(seen("chang-roberts-28")["leader"], json!([28]));
}

#[claims("W-14", "I-75")]
#[test]
fn chang_roberts_cases() {
    assert_eq!(seen("chang-roberts-cases")["and_participates_no_longer"], "NonParticipant");
}

#[claims("W-15")]
#[test]
fn chang_roberts_concurrent() {
    assert_eq!(seen("chang-roberts-concurrent")["what_p2_believes_in"], json!([5, 5, 5, 5, 5]));
}

#[claims("I-63")]
#[test]
fn chang_roberts_links() {
    let seen = seen("chang-roberts-links");
    assert_eq!(seen["all_are_told_in_the_end"], "violated");
    assert_eq!(seen["steps_of_the_shortest_counterexample"], 8);
}

#[claims("I-64")]
#[test]
fn chang_roberts_time() {
    assert_eq!(seen("chang-roberts-time -n 7")["units_when_all_start"], 14.0);
}

#[claims("W-16", "I-76")]
#[test]
fn hirschberg_sinclair_phases() {
    let seen = seen("hirschberg-sinclair-phases");
    assert_eq!(seen["candidates_by_phase"], json!([8, 4, 2, 1]));
    assert_eq!(seen["messages_by_phase"], json!([24, 24, 24, 16]));
}

#[claims("W-17", "I-77")]
#[test]
fn hirschberg_sinclair_bound() {
    seen("hirschberg-sinclair-bound");
    let expected = &data("scenario hirschberg-sinclair-bound", 0)["expected"];
    for (n, sum) in [(4, 82.93), (8, 222.76), (16, 565.98), (32, 1380.2)] {
        let most = &expected[format!("most_messages_of_{n}")]["at_most"];
        assert!((most.as_f64().expect("a number") - sum).abs() < 0.05, "{n}: {most}");
    }
}

#[claims("W-18")]
#[test]
fn hirschberg_sinclair_eight() {
    assert_eq!(seen("hirschberg-sinclair-eight")["leader"], json!([8]));
}

#[claims("W-19")]
#[test]
fn bully_eight_steps() {
    let seen = seen("bully-eight-steps");
    assert_eq!(seen["messages_by_step"], json!([2, 2, 3, 3, 9, 3]));
    assert_eq!((&seen["messages"], &seen["messages_if_p2_asks_only_p3"]), (&json!(22), &json!(21)));
    let kinds = ["elections", "answers", "announcements"].map(|kind| seen[kind].clone());
    assert_eq!(kinds, [json!(9), json!(4), json!(9)]);
}

#[claims("I-79", "Q-31")]
#[test]
fn bully_worst() {
    for (line, worst, without) in [("-n 3", 8, 6), ("", 24, 20), ("-n 9", 80, 72)] {
        let seen = seen(&("bully-worst ".to_owned() + line));
        assert_eq!(seen["messages_at_worst"], worst, "{line}");
        assert_eq!(seen["messages_without_the_highest"], without, "{line}");
    }
}

#[claims("I-66")]
#[test]
fn bully_takes_over() {
    let seen = seen("bully-takes-over");
    assert_eq!((&seen["announcements_for_it"], &seen["elections_for_it"]), (&json!(4), &json!(0)));
}

#[claims("I-67")]
#[test]
fn bully_would_be_leader_dies() {
    assert_eq!(seen("bully-would-be-leader-dies")["leader"], json!([1]));
}

#[claims("I-73")]
#[test]
fn bully_comes_back() {
    let seen = seen("bully-comes-back");
    assert_eq!(seen["what_p1_believes_in"], 4);
    let cost = ["questions", "answers", "announcements"];
    assert_eq!(cost.map(|kind| &seen[format!("p1_comes_back_{kind}")]), [6, 6, 3]);
}

#[claims("I-68", "I-70")]
#[test]
fn bully_assumptions() {
    let seen = seen("bully-assumptions");
    assert_eq!(seen["wrong_timeouts_one_leads_at_a_time"], "violated");
    assert_eq!(seen["healed_with_greetings_all_agree"], "holds");
    assert_eq!(seen["healed_without_all_agree"], "violated");
}

#[claims("I-51")]
#[test]
fn berkeley() {
    assert_eq!(seen("berkeley")["adjustments_in_minutes"], json!([[5], [-20], [15]]));
}

#[claims("I-51")]
#[test]
fn primary_backup() {
    assert_eq!(seen("primary-backup")["lost_of_what_was_acknowledged"], 0);
}

#[claims("I-51")]
#[test]
fn two_phase_commit() {
    assert_eq!(seen("two-phase-commit -n 5")["who_is_blocked"], json!([2, 3, 4, 5]));
}

#[claims("4-third-phase")]
#[test]
fn three_phase_commit() {
    let seen = seen("three-phase-commit -n 5");
    assert_eq!(seen["who_is_blocked"], json!([]));
    assert_eq!(seen["one_commits_the_others_abort"], json!([true, false, false, false, false]));
    // The picture of who was parted says what became of the transaction, and nothing of elections.
    let told = String::from_utf8(tenure("scenario three-phase-commit").stdout).expect("text");
    let violated: Vec<&str> = told.lines().filter(|line| line.contains(" violated: ")).collect();
    let [atomicity] = violated[..] else { panic!("{violated:?}") };
    assert!(atomicity.contains("✗ atomicity violated: P1 commits"), "{atomicity}");
}

#[test]
fn hand_over() {
    let seen = seen("hand-over");
    assert_eq!(seen["raft_who_leads_then"], json!(["P2"]));
    assert_eq!(seen["raft_who_leads_no_more_is_told_of_by"], 3);
    assert_eq!(seen["bully_who_leads_then"], json!(["P2"]));
    let at_once = ["a_log_p1_tells_p2_at_once", "a_log_p2_tells_p3_at_once"];
    assert_eq!(at_once.map(|told| &seen[told]), [1, 0], "P2 has all of the log, and P3 has not");
    assert_eq!(seen["a_log_who_leads_at_last"], "3");
}

#[test]
fn one_leader_at_a_time() {
    let seen = seen("one-leader-at-a-time");
    assert_eq!(seen["a_later_term_p2_votes"], json!(["false"]));
    assert_eq!(seen["a_long_lease_one_leads_at_a_time"], "violated");
}

#[test]
fn locks_by_name() {
    let seen = seen("locks-by-name");
    assert_eq!(seen["elections_meanwhile"], 0);
    assert_eq!(seen["who_leads_then"], json!(["P2"]));
    assert_eq!(seen["cut_off_inside_one_inside"], "holds");
    assert_eq!(seen["nobody_leads_p1_asks_for_the_lock"], 0);
}

#[test]
fn lease() {
    let seen = seen("lease");
    assert_eq!(seen["who_is_stopped_is_one_of_two"], "violated");
    assert_eq!(seen["delay_from_exit_to_entry"], 4.0);
}

#[test]
fn leased() {
    let seen = seen("leased");
    assert_eq!(seen["delay_from_exit_to_entry"], 5.0);
    assert_eq!(seen["counted_from_the_answer"], "violated");
    assert_eq!(seen["answered_alone_steps"], 17);
    assert_eq!(seen["answered_and_not_counted"], "violated");
}

/// An answer to the question before last names another question: it lets nobody in for longer.
#[test]
fn a_late_answer_of_a_lease_counts_from_its_own_question() {
    for faults in ["-n 2 --entries 2 --crash 1 --recover 1", "-n 3 --partition 1"] {
        let line = format!("check lease {faults} --property mutual-exclusion");
        assert_eq!(tenure(&line).status.code(), Some(0), "{line}");
    }
}

#[claims("I-52")]
#[test]
fn spanning_tree() {
    assert_eq!(seen("spanning-tree -n 6")["with_the_echo"], 30);
}

#[claims("I-52", "I-61")]
#[test]
fn token_regeneration() {
    let seen = seen("token-regeneration");
    assert_eq!(seen["suzuki_kasami_who_waits_for_ever"], json!([]));
}

#[claims("I-51")]
#[test]
fn master_of_five() {
    assert_eq!(seen("master-of-five")["masters_where_three_are_down"], 0);
}

#[claims("I-57")]
#[test]
fn equal_ranks() {
    assert_eq!(seen("equal-ranks")["how_many_lead"], 2);
}

#[claims("I-58")]
#[test]
fn uniform() {
    assert_eq!(seen("uniform")["anonymous_ones"], json!(["itai-rodeh"]));
}

#[test]
fn reductions() {
    assert_eq!(seen("reductions")["a_lock_of_an_election_one_inside"], "holds");
}

#[test]
fn runs_of_one_election() {
    assert_eq!(seen("runs-of-one-election")["who_took_part"], json!([5, 5, 5]));
}

#[claims("I-80")]
#[test]
fn chang_roberts_failures_before() {
    assert_eq!(seen("chang-roberts-failures-before")["messages_of_the_five"], 14);
}

#[claims("I-81")]
#[test]
fn chang_roberts_restart() {
    let seen = seen("chang-roberts-restart");
    assert_eq!((&seen["leader"], &seen["messages_of_both_attempts"]), (&json!([5]), &json!(16)));
}
