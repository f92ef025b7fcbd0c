//! `tenure question`: the figures of each answer, and that every experiment fails after a change.

use crate::question_results::{ALL, answer, entry_of};
use crate::shell::{data, tenure};
use serde_json::{Value, json};

fn ids() -> Vec<String> {
    let list = data("question", 0);
    let id = |it: &Value| it["id"].as_str().expect("an id").to_owned();
    list.as_array().expect("a list").iter().map(id).collect()
}

#[test]
fn list_has_id_chapter_and_title_of_each_question() {
    for question in data("question", 0).as_array().expect("a list") {
        let keys: Vec<_> = question.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["chapter", "id", "text"]);
    }
    let text = String::from_utf8(tenure("question").stdout).expect("text");
    for id in ids() {
        assert!(text.contains(&format!("  {id:<6}  ")), "{id}");
    }
}

#[test]
fn every_question_has_a_test() {
    let tests = concat!(
        include_str!("questions.rs"),
        include_str!("agreements.rs"),
        include_str!("rounds.rs"),
        include_str!("own_models.rs"),
    );
    let missing = ids().into_iter().find(|id| !tests.contains(&format!("answer(\"{id}\")")));
    assert_eq!(missing, None, "it has no test");
}

/// The book names the chapter of every question, alone or in a range such as "Q-04 to Q-08".
#[test]
fn book_refers_to_every_question() {
    let page = include_str!("../../docs/book/src/questions.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    let words: Vec<&str> = rows.iter().flat_map(|row| row.split([' ', ',', ':', ';'])).collect();
    let number = |id: &str| id.strip_prefix("Q-")?.parse::<u32>().ok();
    let is_between = |of: &[&str], id: u32| match *of {
        [first, "to", last] => number(first) <= Some(id) && Some(id) <= number(last),
        _ => false,
    };
    for id in ids() {
        let in_a_row = |id: u32| words.windows(3).any(|three| is_between(three, id));
        assert!(words.contains(&&*id) || number(&id).is_some_and(in_a_row), "{id}");
    }
}

#[test]
fn unknown_questions_are_rejected() {
    assert_eq!(data("question q-22B", 0)["id"], "Q-22b");
    for (line, message) in [
        ("question Q-99", "there is no question `Q-99`; nearest are"),
        ("question nineteen", "`tenure question` lists all"),
        ("question --broken", "--broken requires a question or --all"),
        ("question Q-19 --all", "--all"),
    ] {
        let output = tenure(line);
        let report = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {report}");
        assert!(report.contains(message) && output.stdout.is_empty(), "{line}: {report}");
    }
}

/// Pages of one in eight questions: [`ALL`] covers the figures of the others.
#[test]
fn question_page_has_answer_and_commands_within_width() {
    for id in ids().into_iter().step_by(8) {
        let output = tenure(&format!("question {id}"));
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.stderr.is_empty(), "{id}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{id}: {text}");
        assert!(text.starts_with(&format!("{id}: ")) && text.contains('✓'), "{text}");
        assert!(text.ends_with("All observations match the answer.\n"), "{text}");
    }
    let drawn = String::from_utf8(tenure("question Q-19").stdout).expect("text");
    assert!(drawn.contains("$ tenure check ricart-agrawala --variant ids-as-stamps"), "{drawn}");
    assert!(
        drawn.contains('█') && drawn.contains("P3"),
        "a diagram of the critical sections: {drawn}"
    );
}

#[test]
fn all_questions_hold_and_fail_when_broken() {
    for ((status, all), expected) in ALL.iter().zip([true, false]) {
        assert_eq!(*status, Some(i32::from(!expected)));
        let all = all.as_array().expect("a list");
        let report: Vec<_> = all.iter().map(|question| question["id"].as_str()).collect();
        assert_eq!(report, ids().iter().map(|id| Some(id.as_str())).collect::<Vec<_>>());
        for question in all {
            assert_eq!(question["holds"], expected, "{}", question["id"]);
        }
    }
}

/// The result of a single question equals its entry among all.
#[test]
fn single_question_equals_its_entry_among_all() {
    for ((status, all), words) in ALL.iter().zip(["question Q-16", "question Q-16 --broken"]) {
        assert_eq!(&data(words, status.expect("it ended")), entry_of(all, "Q-16"), "{words}");
    }
}

/// A command of an answer reproduces its observation.
#[test]
fn command_of_a_question_can_be_copied() {
    let report = data("question Q-16", 0);
    let command = report["experiments"][0]["command"].as_str().expect("a line");
    let line = command.strip_prefix("tenure ").expect("a command");
    let checked = data(line, 1);
    assert_eq!(checked["counterexample"]["length"], report["experiments"][0]["observed"]["steps"]);
}

#[test]
fn bounded_delay_is_required() {
    let observed = answer("Q-01");
    assert_eq!(observed.one("skew_at_worst"), json!([0.0, 8.0, 98.0, 998.0]));
    assert_eq!(
        (observed.number("wrong_suspicions"), observed.one("the_crash_was_found")),
        (0.0, true.into())
    );
    assert_eq!(observed.one("a_wrong_suspicion"), json!([true, true, true, true]));
    let verdicts = ["no_detector", "never_wrong", "may_be_wrong"].map(|name| observed.one(name));
    assert_eq!(json!(verdicts), json!(["violated", "holds", "violated"]));
    assert_eq!(observed.one("steps"), 3);
    assert_eq!(observed.one("blocked"), json!([2, 3, 4]));
}

#[test]
fn stronger_assumptions_help() {
    let observed = answer("Q-02");
    let of = |names: [&str; 3]| json!(names.map(|name| observed.one(name)));
    let order = ["in_order", "in_any_order", "numbered_and_acknowledged"];
    assert_eq!(of(order), json!(["holds", "violated", "holds"]));
    let once = ["one_loss", "one_loss_repeated", "one_duplicate"];
    assert_eq!(of(once), json!(["violated", "holds", "violated"]));
    assert_eq!(observed.one("steps"), 10, "until a forgotten vote makes a second leader");
    let refused = "rank 5 is given twice: change one or add --beyond-assumptions";
    assert_eq!(
        (observed.one("refused"), observed.one("equals_agree")),
        (refused.into(), "violated".into())
    );
    assert!((200.0..=220.0).contains(&observed.number("time_of_the_end_of_20")));
}

#[test]
fn consensus_is_reached_with_failure_detectors() {
    let observed = answer("Q-37");
    assert_eq!(observed.one("agreement_without_a_detector"), "holds");
    assert_eq!(observed.one("progress_without_a_detector"), "violated");
    assert_eq!(observed.one("agreement_though_the_detector_errs"), "holds");
}

#[test]
fn broadcast_is_reliable_and_ordered() {
    let observed = answer("Q-38");
    assert_eq!(observed.one("correct_processes_deliver_the_same_items"), "holds");
    assert_eq!(observed.one("crashed_processes_too"), "holds");
    assert_eq!(observed.one("one_order"), "holds");
    assert_eq!(observed.one("reliable_progress"), "holds");
    assert_eq!(observed.one("atomic_progress"), "violated");
}

#[test]
fn other_problems_of_agreement() {
    let observed = answer("Q-03");
    assert_eq!((observed.one("at_most_k"), observed.one("steps")), ("holds".into(), 2.into()));
    assert_eq!(observed.one("adjustments"), json!([[5], [-20], [15]]));
    assert_eq!(observed.one("processes_counted_by_the_echoes"), 5);
}

#[test]
fn first_process_to_enter_leads() {
    let observed = answer("Q-07");
    assert_eq!(
        (observed.one("agreement"), observed.one("validity")),
        ("holds".into(), "violated".into())
    );
    assert_eq!((observed.number("messages"), observed.one("steps")), (8.0, 1.into()));
}

#[test]
fn fences_reject_late_writes() {
    let observed = answer("Q-08");
    assert_eq!((observed.one("steps"), observed.one("the_counter")), (3.into(), 1.into()));
    assert_eq!(observed.one("accepted_writes"), 2);
    assert_eq!(observed.one("refused_writes_with_fences"), 1);
    assert_eq!(observed.one("fencing"), "holds");
}

#[test]
fn user_messages_overtake_requests_at_a_coordinator() {
    let observed = answer("Q-09");
    assert_eq!(observed.all("steps"), json!([6, 6]), "in any order, and first in first out");
    assert_eq!(observed.one("order"), "holds", "where only the lock's messages count");
}

#[test]
fn one_leader_and_several_resources() {
    let observed = answer("Q-10");
    assert_eq!(observed.all("entries"), json!([8, 8, 2]));
    let times = observed.all("time_until_all_are_served");
    assert!(times[1].as_f64() < times[0].as_f64(), "{times}");
    assert_eq!(observed.one("blocked_processes"), json!([2, 3]));
    assert_eq!(observed.one("probes_find_cycles"), "holds");
}

#[test]
fn crashes_block_waiting_processes() {
    let observed = answer("Q-11");
    let blocked = ["idle", "waiting", "inside", "leader"];
    let blocked = blocked.map(|who| observed.one(&format!("{who}_blocked")));
    assert_eq!(json!(blocked), json!([[], [4], [4], [3, 4]]));
    let mended = ["waiting", "inside", "leader"];
    let mended = mended.map(|who| observed.one(&format!("{who}_blocked_elected")));
    assert_eq!(json!(mended), json!([[], [], []]));
}

#[test]
fn ring_serves_in_ring_order_without_bypass() {
    let observed = answer("Q-12");
    assert_eq!((observed.one("steps"), observed.one("order")), (4.into(), "holds".into()));
    assert_eq!(observed.one("entries_of_another_while_one_waits"), 1);
}

#[test]
fn one_token_for_all_or_one_for_each() {
    let observed = answer("Q-13");
    let times = observed.all("time_until_all_are_served");
    assert!(times[1].as_f64() < times[0].as_f64(), "{times}");
    assert!(observed.number("runs_that_end_in_a_deadlock") >= 90.0);
}

#[test]
fn ring_skips_crashed_processes() {
    let observed = answer("Q-14");
    assert_eq!(
        observed.all("steps"),
        json!([2, 3]),
        "a crash of the plain one, and a wrong suspicion"
    );
    assert_eq!(observed.one("blocked_processes"), json!([]), "after three neighbours crashed");
    assert_eq!(observed.all("mutual_exclusion"), json!(["holds", "violated"]));
}

#[test]
fn lost_and_duplicated_tokens() {
    let observed = answer("Q-15");
    assert_eq!(observed.all("steps"), json!([3, 5, 8]), "one lost, both of two lost, one copied");
    let copied = (observed.one("generations"), observed.one("dijkstra_s_ring"));
    assert_eq!(copied, ("violated".into(), "holds".into()));
}

#[test]
fn process_numbers_are_no_timestamps_for_lamport() {
    let observed = answer("Q-16");
    assert_eq!(
        (observed.one("mutual_exclusion"), observed.one("steps")),
        ("violated".into(), 6.into())
    );
}

#[test]
fn clocks_alone_are_no_timestamps_for_lamport() {
    let observed = answer("Q-17");
    assert_eq!(observed.all("steps"), json!([6, 2]));
    assert_eq!(
        (observed.one("mutual_exclusion"), observed.one("starvation_freedom")),
        ("violated".into(), "violated".into())
    );
}

#[test]
fn lamport_keeps_order_if_all_messages_carry_the_clock() {
    let observed = answer("Q-18");
    assert_eq!((observed.one("order"), observed.one("steps")), ("holds".into(), 7.into()));
    assert_eq!(observed.one("runs_out_of_order"), 0);
}

#[test]
fn release_admits_the_next_process() {
    let observed = answer("Q-12n");
    assert_eq!(observed.number("delay_from_exit_to_entry_in_messages"), 1.0);
}

#[test]
fn handover_takes_one_message_for_any_group_size() {
    let observed = answer("Q-36");
    assert_eq!(["of_2", "of_5", "of_20"].map(|name| observed.number(name)), [1.0; 3]);
    assert_eq!(["central", "maekawa"].map(|name| observed.number(name)), [2.0; 2]);
}

#[test]
fn process_numbers_are_no_timestamps_for_ricart_agrawala() {
    let observed = answer("Q-19");
    assert_eq!(observed.all("mutual_exclusion"), json!(["violated", "violated", "holds"]));
    assert_eq!(observed.all("steps"), json!([10, 6]), "three in order, two in any order");
}

#[test]
fn clocks_alone_are_no_timestamps_for_ricart_agrawala() {
    let observed = answer("Q-20");
    assert_eq!(observed.all("steps"), json!([6, 2]));
    assert_eq!(
        (observed.one("mutual_exclusion"), observed.one("starvation_freedom")),
        ("violated".into(), "violated".into())
    );
}

#[test]
fn ricart_agrawala_keeps_order_if_replies_carry_the_clock() {
    let observed = answer("Q-21");
    assert_eq!(observed.all("order"), json!(["violated", "holds"]));
    assert_eq!(observed.all("steps"), json!([14, 6]));
}

#[test]
fn costs_of_locks() {
    let observed = answer("Q-22");
    // Messages without contention, wait without contention, messages per entry under load, delay
    // from exit to entry.
    assert_eq!(observed.one("central"), json!([3.0, 2.0, 2.7, 2.0]));
    assert_eq!(observed.one("lamport"), json!([24.0, 2.0, 24.0, 1.0]));
    assert_eq!(observed.one("ricart_agrawala"), json!([16.0, 2.0, 16.0, 1.0]));
    assert_eq!(observed.one("maekawa"), json!([12.0, 2.0, 15.8, 2.0]));
    assert_eq!(observed.one("token_ring")[2], 1.0);
    assert_eq!(
        (observed.0[0].as_object().unwrap().len(), observed.number("delay_at_exit")),
        (9, 0.0)
    );
}

#[test]
fn faults_tolerated_by_locks() {
    let observed = answer("Q-22b");
    let needed = |name: &str| observed.0[1][name] == "violated";
    let all = ["token_ring", "lamport", "ricart_agrawala", "maekawa"];
    assert!(all.iter().all(|name| needed(name)), "an idle process is down");
    let some = ["central", "carvalho_roucairol", "suzuki_kasami", "raymond", "naimi_trehel"];
    assert!(!some.iter().any(|name| needed(name)), "an idle process is down");
    let each = |place: usize, verdict: &str| {
        observed.0[place]
            .as_object()
            .is_some_and(|observed| observed.values().all(|it| it == verdict))
    };
    assert!(each(0, "violated") && each(2, "violated") && each(3, "holds"));
}

#[test]
fn any_order_of_ranks_elects() {
    let observed = answer("Q-23");
    assert_eq!(
        (observed.one("leaders"), observed.one("id_of_the_leader")),
        (json!([3]), 12.into())
    );
    assert_eq!(observed.one("the_largest_leads"), "violated");
}

#[test]
fn election_from_a_lock() {
    let observed = answer("Q-24");
    assert_eq!(
        (observed.one("agreement"), observed.one("validity")),
        ("holds".into(), "violated".into())
    );
    assert_eq!(
        (observed.one("central_2_4"), observed.one("ricart_agrawala_8_4")),
        (6.into(), 12.into())
    );
}

#[test]
fn lease_expires_while_its_holder_is_stopped() {
    let observed = answer("Q-40");
    assert_eq!(
        ["cut_off", "crashes"].map(|name| observed.one(name)),
        ["holds"; 2].map(Value::from)
    );
    assert_eq!(observed.one("stopped"), "violated");
    assert_eq!((observed.number("steps"), observed.number("refused")), (5.0, 1.0));
}

#[test]
fn uses_of_leaders() {
    let observed = answer("Q-25");
    assert_eq!(observed.one("blocked_processes"), json!([]));
    assert_eq!(observed.one("acknowledged_writes_that_are_lost"), 0);
    assert_eq!(observed.one("steps"), 6, "until two lead in different terms");
}

#[test]
fn triggers_of_elections() {
    let observed = answer("Q-34");
    assert_eq!(observed.all("final_leaders"), json!([[4], [5]]), "a crash, and a return");
    assert_eq!(observed.one("all"), json!([5]), "all start at once");
    assert_eq!(observed.one("p1_starts_one_crashes"), "holds");
}

#[test]
fn lock_from_elections() {
    let observed = answer("Q-26");
    let passed = ["5_entries_each", "20_entries_each", "40_entries_each"];
    assert_eq!(passed.map(|name| observed.number(name)), [5.0, 20.0, 40.0]);
    assert_eq!(observed.one("passed_while_waiting_once"), 1);
    assert_eq!(
        (observed.one("elected_for_each_entry"), observed.one("elected_once")),
        (1190.into(), 250.into())
    );
}

#[test]
fn ring_election_tolerates_crashes() {
    let observed = answer("Q-27");
    assert_eq!(
        (observed.one("leaders"), observed.one("blocked_processes")),
        (json!([3]), json!([]))
    );
    assert_eq!(observed.all("agreement"), json!(["holds", "holds"]));
}

#[test]
fn ring_election_tolerates_message_loss() {
    let observed = answer("Q-28");
    assert_eq!((observed.one("election_messages"), observed.one("steps")), (15.into(), 2.into()));
    assert_eq!(observed.all("announcements"), json!([5, 5.0]));
    assert_eq!(observed.one("all_of_them_end"), "holds");
    assert_eq!(observed.one("restarted_ones_that_do_not_end"), 0);
}

#[test]
fn message_complexity_of_ring_elections() {
    let observed = answer("Q-35");
    let counts =
        |name: &str| observed.0.iter().map(|it| it[name].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(counts("chang_roberts")[..3], [44.0, 2144.0, 525_824.0]);
    assert_eq!(counts("hirschberg_sinclair")[..3], [72.0, 632.0, 10_232.0]);
    assert_eq!(counts("dolev_klawe_rodeh")[..3], [32.0, 256.0, 4096.0]);
    assert!(counts("chang_roberts")[3] < counts("dolev_klawe_rodeh")[3]);
}

#[test]
fn crashed_leader_is_replaced() {
    let observed = answer("Q-32");
    assert_eq!(observed.all("leaders"), json!([[4], [3], [5]]));
    assert_eq!(observed.one("the_highest_live_process_leads"), "holds");
}

#[test]
fn announcing_to_all_costs_more_and_elects_the_same() {
    let observed = answer("Q-29");
    assert_eq!(
        (observed.one("elections_to_higher"), observed.one("elections_to_all")),
        (10.into(), 16.into())
    );
    assert_eq!(
        (observed.one("answers_to_higher"), observed.one("answers_to_all")),
        (6.into(), 6.into())
    );
    assert_eq!(observed.all("to_all"), json!([8, "holds"]));
}

#[test]
fn two_leaders_coexist_without_terms() {
    let observed = answer("Q-30");
    assert_eq!(observed.all("one_leader_at_a_time"), json!(["holds", "violated", "violated"]));
    assert_eq!(observed.all("steps"), json!([5, 3, 7]));
    assert_eq!(observed.all("agreement"), json!(["violated", "holds"]));
}

#[test]
fn cost_of_a_bully_election() {
    let observed = answer("Q-31");
    assert_eq!((observed.one("among_5"), observed.one("among_10")), (20.into(), 90.into()));
    let worst = ["false_alarm_among_5", "false_alarm_among_10", "all_start_among_10"];
    assert_eq!(worst.map(|name| observed.one(name)), [json!(24), json!(99), json!(99)]);
    assert_eq!(
        (observed.one("elections"), observed.one("announcements_to_those_below")),
        (1.into(), 8.into())
    );
    assert_eq!((observed.one("12_once"), observed.one("12_each_time")), (132.into(), 3081.into()));
}

#[test]
fn snapshot_of_a_running_group() {
    let observed = answer("Q-41");
    assert_eq!(observed.one("consistent"), "holds");
    assert_eq!(observed.one("where_messages_overtake"), "violated");
}

#[test]
fn barrier_without_a_coordinator() {
    assert_eq!(answer("Q-42").one("signals_at_once"), "violated");
}

#[test]
fn termination_is_detected() {
    assert_eq!(answer("Q-43").one("answered_too_early"), "violated");
}

#[test]
fn majority_of_the_last_view_decides_membership() {
    assert_eq!(answer("Q-44").one("without_asking"), "violated");
}

#[test]
fn renaming_assigns_unique_names() {
    assert_eq!(answer("Q-45").one("without_a_majority"), "violated");
}

#[test]
fn leader_has_all_committed_entries() {
    assert_eq!(answer("Q-46").one("a_log_that_lacks_it"), "violated");
}

#[test]
fn earlier_terms_are_not_committed_by_counting() {
    assert_eq!(answer("Q-47").one("p1_counts_three_commits_none"), 0);
}

#[test]
fn leader_confirms_its_term_before_reads() {
    assert_eq!(answer("Q-48").one("without_confirmation"), "violated");
}

#[test]
fn echo_reaches_all_before_the_initiator_decides() {
    assert_eq!(answer("Q-50").one("steps"), 5);
}

#[test]
fn largest_wave_extinguishes_the_others() {
    assert_eq!(answer("Q-51").one("flooding_2ed"), 162);
}

#[test]
fn test_of_higher_level_waits_for_the_fragment() {
    let facts = answer("Q-52");
    assert_eq!((facts.one("one_level"), facts.one("two_levels")), (18.into(), 28.into()));
    assert_eq!(facts.one("the_fragment_waits_for_itself"), "violated");
}

#[test]
fn clean_forks_are_kept_and_dirty_forks_yielded() {
    let facts = answer("Q-55");
    assert_eq!(facts.one("all_keep_and_wait"), "violated");
    assert_eq!(facts.one("two_requests_two_forks"), 4);
}

#[test]
fn timeouts_follow_from_bounds_on_latency_steps_and_drift() {
    let facts = answer("Q-58");
    assert_eq!((facts.one("t_5"), facts.one("steps")), ("violated".into(), 3.into()));
    assert_eq!((facts.one("t_6"), facts.one("t_7")), ("violated".into(), "holds".into()));
}

#[test]
fn groups_merge_after_a_partition() {
    let facts = answer("Q-59");
    assert_eq!(
        (facts.one("leaders_in_the_end"), facts.one("one_group_in_the_end")),
        (1.into(), "holds".into())
    );
    assert_eq!(facts.one("terms_decrease"), "violated");
}

#[test]
fn peterson_and_his_twin_differ_in_messages() {
    let facts = answer("Q-60");
    assert_eq!((facts.one("peterson"), facts.one("dolev_klawe_rodeh")), (20.into(), 24.into()));
    assert_eq!(facts.one("with_none_leads"), "violated");
}

#[test]
fn forks_decide_who_keeps_a_bottle() {
    assert_eq!(answer("Q-56").one("three_wait_in_a_circle"), "violated");
}

#[test]
fn later_request_for_the_forum_in_session_waits() {
    let facts = answer("Q-57");
    assert_eq!((facts.one("two_forums"), facts.one("inside")), ("violated".into(), 1.into()));
}

#[test]
fn state_is_saved_before_messages_are_sent() {
    assert_eq!(answer("Q-49").one("a_counted_entry_is_lost"), "violated");
}

#[test]
fn ring_recovers_from_any_state() {
    let facts = answer("Q-65");
    assert_eq!((facts.one("states"), facts.one("moves_at_most")), (256.into(), 13.into()));
    assert_eq!(facts.one("5_machines_3_states"), "unbounded");
}
