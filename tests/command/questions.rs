//! The questions of `tenure question`: the figures of each answer, and that every experiment fails
//! when one thing about it is changed.

use crate::answers::{ALL, answer, told_of};
use crate::shell::{data, tenure};
use serde_json::{Value, json};
use tenure_claims::claims;

fn ids() -> Vec<String> {
    let list = data("question", 0);
    let id = |it: &Value| it["id"].as_str().expect("an id").to_owned();
    list.as_array().expect("a list").iter().map(id).collect()
}

#[test]
fn the_list_has_an_id_a_chapter_and_a_question_for_each() {
    for question in data("question", 0).as_array().expect("a list") {
        let keys: Vec<_> = question.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["asks", "chapter", "id"]);
    }
    let text = String::from_utf8(tenure("question").stdout).expect("text");
    for id in ids() {
        assert!(text.contains(&format!("  {id:<6}  ")), "{id}");
    }
}

#[test]
fn every_question_has_a_test_that_claims_it() {
    let tests = include_str!("questions.rs");
    for id in ids() {
        let tested = [format!("claims(\"{id}\")"), format!("answer(\"{id}\")")];
        assert!(tested.iter().all(|it| tests.contains(it)), "there is no test of {id}");
    }
}

/// The pages of the book say in which chapter to look: of every question, by its name or among
/// those of a row, "Q-04 to Q-08".
#[test]
fn the_book_says_of_every_question_where_to_look() {
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
fn case_does_not_matter_and_what_does_not_exist_is_refused_in_a_line() {
    assert_eq!(data("question q-22B", 0)["id"], "Q-22b");
    for (line, says) in [
        ("question Q-99", "there is no question `Q-99`; nearest are"),
        ("question nineteen", "`tenure question` lists all"),
        ("question --broken", "--broken needs a question, or --all"),
        ("question Q-19 --all", "--all"),
    ] {
        let output = tenure(line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{line}: {told}");
        assert!(told.contains(says) && output.stdout.is_empty(), "{line}: {told}");
    }
}

#[test]
fn a_page_has_the_answer_commands_to_copy_and_lines_of_a_screen_s_width() {
    for id in ids() {
        let output = tenure(&format!("question {id}"));
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.stderr.is_empty(), "{id}");
        let long = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{id}");
        assert!(text.starts_with(&format!("{id}: ")) && text.contains('✓'), "{text}");
        assert!(text.ends_with("Everything is as the answer says.\n"), "{text}");
    }
    let drawn = String::from_utf8(tenure("question Q-19").stdout).expect("text");
    assert!(drawn.contains("$ tenure check ricart-agrawala --variant ids-as-stamps"), "{drawn}");
    assert!(drawn.contains('█') && drawn.contains("P3"), "a picture of who is inside: {drawn}");
}

#[test]
fn all_of_them_hold_and_none_of_them_when_broken() {
    for ((status, all), expected) in ALL.iter().zip([true, false]) {
        assert_eq!(*status, Some(i32::from(!expected)));
        let all = all.as_array().expect("a list");
        let told: Vec<_> = all.iter().map(|question| question["id"].as_str()).collect();
        assert_eq!(told, ids().iter().map(|id| Some(id.as_str())).collect::<Vec<_>>());
        for question in all {
            assert_eq!(question["holds"], expected, "{}", question["id"]);
        }
    }
}

/// What is told of one that is asked alone is what is told of it among all.
#[test]
fn one_of_them_is_answered_as_it_is_among_all() {
    for ((status, all), words) in ALL.iter().zip(["question Q-16", "question Q-16 --broken"]) {
        assert_eq!(&data(words, status.expect("it ended")), told_of(all, "Q-16"), "{words}");
    }
}

/// A command of an answer does by itself what it did there.
#[test]
fn a_command_can_be_copied() {
    let told = data("question Q-16", 0);
    let command = told["experiments"][0]["command"].as_str().expect("a line");
    let line = command.strip_prefix("tenure ").expect("a command");
    let checked = data(line, 1);
    assert_eq!(checked["counterexample"]["length"], told["experiments"][0]["observed"]["steps"]);
}

#[claims("Q-01")]
#[test]
fn what_needs_a_bound_on_time() {
    let seen = answer("Q-01");
    assert_eq!(seen.one("skew_at_worst"), json!([0.0, 8.0, 98.0, 998.0]));
    assert_eq!(
        (seen.number("wrong_suspicions"), seen.one("the_crash_was_found")),
        (0.0, true.into())
    );
    assert_eq!(seen.one("a_wrong_suspicion"), json!([true, true, true, true]));
    let verdicts = ["no_detector", "never_wrong", "may_be_wrong"].map(|name| seen.one(name));
    assert_eq!(json!(verdicts), json!(["violated", "holds", "violated"]));
    assert_eq!(seen.one("steps"), 3);
    assert_eq!(seen.one("blocked"), json!([2, 3, 4]));
}

#[claims("Q-02")]
#[test]
fn what_other_assumptions_are_worth() {
    let seen = answer("Q-02");
    let of = |names: [&str; 3]| json!(names.map(|name| seen.one(name)));
    let order = ["in_order", "in_any_order", "numbered_and_acknowledged"];
    assert_eq!(of(order), json!(["holds", "violated", "holds"]));
    let once = ["one_loss", "one_loss_repeated", "one_duplicate"];
    assert_eq!(of(once), json!(["violated", "holds", "violated"]));
    assert_eq!(seen.one("steps"), 10, "until a forgotten vote makes a second leader");
    let refused =
        "rank 5 is given twice; ranks must differ; change one or add --beyond-assumptions";
    assert_eq!(
        (seen.one("refused"), seen.one("equals_agree")),
        (refused.into(), "violated".into())
    );
    assert!((200.0..=220.0).contains(&seen.number("time_of_the_end_of_20")));
}

#[claims("Q-37")]
#[test]
fn how_consensus_is_reached_though_it_cannot_be() {
    let seen = answer("Q-37");
    assert_eq!(seen.one("agreement_without_a_detector"), "holds");
    assert_eq!(seen.one("progress_without_a_detector"), "violated");
    assert_eq!(seen.one("agreement_though_the_detector_errs"), "holds");
}

#[claims("Q-38")]
#[test]
fn what_a_broadcast_needs_to_reach_all_or_nobody_and_in_one_order() {
    let seen = answer("Q-38");
    assert_eq!(seen.one("those_who_stay_up_deliver_alike"), "holds");
    assert_eq!(seen.one("also_those_who_crash"), "holds");
    assert_eq!(seen.one("one_order"), "holds");
    assert_eq!(seen.one("reliable_progress"), "holds");
    assert_eq!(seen.one("atomic_progress"), "violated");
}

#[claims("Q-03")]
#[test]
fn other_problems_of_agreement() {
    let seen = answer("Q-03");
    assert_eq!((seen.one("at_most_k"), seen.one("steps")), ("holds".into(), 2.into()));
    assert_eq!(seen.one("adjustments"), json!([[5], [-20], [15]]));
    assert_eq!(seen.one("processes_counted_by_the_echoes"), 5);
}

#[claims("Q-04")]
#[test]
fn a_record_at_a_server_races_as_a_variable_does() {
    let seen = answer("Q-04");
    assert_eq!(seen.one("orders_by_final_value"), json!({ "4": 2, "5": 2, "6": 2 }));
    assert_eq!(seen.one("orders_by_final_value_with_the_lock"), json!({ "5": 2 }));
}

#[claims("Q-05")]
#[test]
fn the_more_clients_the_more_is_lost() {
    let seen = answer("Q-05");
    assert_eq!((seen.one("orders"), seen.one("orders_that_end_in_3")), (90.into(), 6.into()));
    assert_eq!(seen.one("orders_by_final_value_with_the_lock"), json!({ "3": 6 }));
    assert_eq!(seen.one("among_100"), 3);
}

#[claims("Q-06")]
#[test]
fn what_can_bear_one_at_a_time() {
    let seen = answer("Q-06");
    assert_eq!((seen.one("orders_with_the_lock"), seen.one("steps")), (2.into(), 2.into()));
    assert_eq!(seen.one("at_most_two_print"), "holds");
}

#[claims("Q-07")]
#[test]
fn whoever_enters_first_leads() {
    let seen = answer("Q-07");
    assert_eq!((seen.one("agreement"), seen.one("validity")), ("holds".into(), "violated".into()));
    assert_eq!((seen.number("messages"), seen.one("steps")), (8.0, 1.into()));
}

#[claims("Q-08")]
#[test]
fn a_late_write_lands_without_a_fence_and_is_refused_with_one() {
    let seen = answer("Q-08");
    assert_eq!((seen.one("steps"), seen.one("the_counter")), (3.into(), 1.into()));
    assert_eq!(seen.one("accepted_writes"), 2);
    assert_eq!(seen.one("refused_writes_with_fences"), 1);
    assert_eq!(seen.one("fencing"), "holds");
}

#[claims("Q-09")]
#[test]
fn at_a_coordinator_the_word_of_users_overtakes_requests() {
    let seen = answer("Q-09");
    assert_eq!(seen.all("steps"), json!([6, 6]), "in any order, and first in first out");
    assert_eq!(seen.one("order"), "holds", "where only the lock's messages count");
}

#[claims("Q-10")]
#[test]
fn one_leader_and_several_resources() {
    let seen = answer("Q-10");
    assert_eq!(seen.all("entries"), json!([8, 8, 2]));
    let times = seen.all("time_until_all_are_served");
    assert!(times[1].as_f64() < times[0].as_f64(), "{times}");
    assert_eq!(seen.one("waiting_for_ever"), json!([2, 3]));
    assert_eq!(seen.one("probes_find_cycles"), "holds");
}

#[claims("Q-11")]
#[test]
fn who_waits_for_ever_when_who_crashes() {
    let seen = answer("Q-11");
    let blocked = ["idle", "waiting", "inside", "leader"];
    let blocked = blocked.map(|who| seen.one(&format!("{who}_blocked")));
    assert_eq!(json!(blocked), json!([[], [4], [4], [3, 4]]));
    let mended = ["waiting", "inside", "leader"];
    let mended = mended.map(|who| seen.one(&format!("{who}_blocked_elected")));
    assert_eq!(json!(mended), json!([[], [], []]));
}

#[claims("Q-12")]
#[test]
fn a_ring_serves_in_its_own_order_and_passes_nobody_twice() {
    let seen = answer("Q-12");
    assert_eq!((seen.one("steps"), seen.one("order")), (4.into(), "holds".into()));
    assert_eq!(seen.one("entries_of_another_while_one_waits"), 1);
}

#[claims("Q-13")]
#[test]
fn one_token_for_all_or_one_for_each() {
    let seen = answer("Q-13");
    let times = seen.all("time_until_all_are_served");
    assert!(times[1].as_f64() < times[0].as_f64(), "{times}");
    assert!(seen.number("runs_that_end_in_a_deadlock") >= 90.0);
}

#[claims("Q-14")]
#[test]
fn a_ring_that_skips_the_dead() {
    let seen = answer("Q-14");
    assert_eq!(seen.all("steps"), json!([2, 3]), "a crash of the plain one, and a wrong suspicion");
    assert_eq!(seen.one("waiting_for_ever"), json!([]), "after three neighbours crashed");
    assert_eq!(seen.all("mutual_exclusion"), json!(["holds", "violated"]));
}

#[claims("Q-15")]
#[test]
fn tokens_that_are_lost_and_tokens_that_are_copied() {
    let seen = answer("Q-15");
    assert_eq!(seen.all("steps"), json!([3, 5, 8]), "one lost, both of two lost, one copied");
    let copied = (seen.one("generations"), seen.one("dijkstra_s_ring"));
    assert_eq!(copied, ("violated".into(), "holds".into()));
}

#[claims("Q-16")]
#[test]
fn numbers_of_processes_are_no_stamps_for_lamport() {
    let seen = answer("Q-16");
    assert_eq!((seen.one("mutual_exclusion"), seen.one("steps")), ("violated".into(), 6.into()));
}

#[claims("Q-17")]
#[test]
fn clocks_alone_are_no_stamps_for_lamport() {
    let seen = answer("Q-17");
    assert_eq!(seen.all("steps"), json!([6, 2]));
    assert_eq!(
        (seen.one("mutual_exclusion"), seen.one("starvation_freedom")),
        ("violated".into(), "violated".into())
    );
}

#[claims("Q-18")]
#[test]
fn lamport_keeps_the_order_if_all_that_is_said_carries_the_clock() {
    let seen = answer("Q-18");
    assert_eq!((seen.one("order"), seen.one("steps")), ("holds".into(), 7.into()));
    assert_eq!(seen.one("runs_out_of_order"), 0);
}

#[claims("Q-12n")]
#[test]
fn the_release_lets_the_next_one_in() {
    let seen = answer("Q-12n");
    assert_eq!(seen.number("delay_from_exit_to_entry_in_messages"), 1.0);
}

#[claims("Q-36")]
#[test]
fn one_message_from_exit_to_entry_however_many_there_are() {
    let seen = answer("Q-36");
    assert_eq!(["of_2", "of_5", "of_20"].map(|name| seen.number(name)), [1.0; 3]);
    assert_eq!(["central", "maekawa"].map(|name| seen.number(name)), [2.0; 2]);
}

#[claims("Q-19")]
#[test]
fn numbers_of_processes_are_no_stamps_for_ricart_and_agrawala() {
    let seen = answer("Q-19");
    assert_eq!(seen.all("mutual_exclusion"), json!(["violated", "violated", "holds"]));
    assert_eq!(seen.all("steps"), json!([10, 6]), "three in order, two in any order");
}

#[claims("Q-20")]
#[test]
fn clocks_alone_are_no_stamps_for_ricart_and_agrawala() {
    let seen = answer("Q-20");
    assert_eq!(seen.all("steps"), json!([6, 2]));
    assert_eq!(
        (seen.one("mutual_exclusion"), seen.one("starvation_freedom")),
        ("violated".into(), "violated".into())
    );
}

#[claims("Q-21")]
#[test]
fn ricart_and_agrawala_keep_the_order_if_replies_carry_the_clock() {
    let seen = answer("Q-21");
    assert_eq!(seen.all("order"), json!(["violated", "holds"]));
    assert_eq!(seen.all("steps"), json!([14, 6]));
}

#[claims("Q-22")]
#[test]
fn what_locks_cost() {
    let seen = answer("Q-22");
    // Messages alone, wait alone, messages per entry under load, delay from exit to entry.
    assert_eq!(seen.one("central"), json!([3.0, 2.0, 2.7, 2.0]));
    assert_eq!(seen.one("lamport"), json!([24.0, 2.0, 24.0, 1.0]));
    assert_eq!(seen.one("ricart_agrawala"), json!([16.0, 2.0, 16.0, 1.0]));
    assert_eq!(seen.one("maekawa"), json!([12.0, 2.0, 15.8, 2.0]));
    assert_eq!(seen.one("token_ring")[2], 1.0);
    assert_eq!((seen.0[0].as_object().unwrap().len(), seen.number("delay_at_exit")), (9, 0.0));
}

#[claims("Q-22b")]
#[test]
fn what_locks_survive() {
    let seen = answer("Q-22b");
    let needed = |name: &str| seen.0[1][name] == "violated";
    let all = ["token_ring", "lamport", "ricart_agrawala", "maekawa"];
    assert!(all.iter().all(|name| needed(name)), "an idle process is down");
    let some = ["central", "carvalho_roucairol", "suzuki_kasami", "raymond", "naimi_trehel"];
    assert!(!some.iter().any(|name| needed(name)), "an idle process is down");
    let each = |place: usize, verdict: &str| {
        seen.0[place].as_object().is_some_and(|seen| seen.values().all(|it| it == verdict))
    };
    assert!(each(0, "violated") && each(2, "violated") && each(3, "holds"));
}

#[claims("Q-23")]
#[test]
fn any_order_of_ranks_elects() {
    let seen = answer("Q-23");
    assert_eq!((seen.one("leaders"), seen.one("id_of_the_leader")), (json!([3]), 12.into()));
    assert_eq!(seen.one("the_largest_leads"), "violated");
}

#[claims("Q-24")]
#[test]
fn an_election_made_of_a_lock() {
    let seen = answer("Q-24");
    assert_eq!((seen.one("agreement"), seen.one("validity")), ("holds".into(), "violated".into()));
    assert_eq!((seen.one("central_2_4"), seen.one("ricart_agrawala_8_4")), (6.into(), 12.into()));
}

#[claims("Q-40")]
#[test]
fn a_lock_that_ends_by_itself_and_a_holder_that_is_stopped() {
    let seen = answer("Q-40");
    assert_eq!(["cut_off", "crashes"].map(|name| seen.one(name)), ["holds"; 2].map(Value::from));
    assert_eq!(seen.one("stopped"), "violated");
    assert_eq!((seen.number("steps"), seen.number("refused")), (5.0, 1.0));
}

#[claims("Q-25")]
#[test]
fn what_leaders_are_elected_for() {
    let seen = answer("Q-25");
    assert_eq!(seen.one("waiting_for_ever"), json!([]));
    assert_eq!(seen.one("acknowledged_writes_that_are_lost"), 0);
    assert_eq!(seen.one("steps"), 6, "until two lead in different terms");
}

#[claims("Q-34")]
#[test]
fn why_elections_begin() {
    let seen = answer("Q-34");
    assert_eq!(seen.all("leaders_in_the_end"), json!([[4], [5]]), "a crash, and a return");
    assert_eq!(seen.one("all"), json!([5]), "all start at once");
    assert_eq!(seen.one("p1_starts_one_crashes"), "holds");
}

#[claims("Q-26")]
#[test]
fn a_lock_made_of_elections() {
    let seen = answer("Q-26");
    let passed = ["5_entries_each", "20_entries_each", "40_entries_each"];
    assert_eq!(passed.map(|name| seen.number(name)), [5.0, 20.0, 40.0]);
    assert_eq!(seen.one("passed_while_waiting_once"), 1);
    assert_eq!(
        (seen.one("elected_for_each_entry"), seen.one("elected_once")),
        (1190.into(), 250.into())
    );
}

#[claims("Q-27")]
#[test]
fn a_ring_election_that_survives_crashes() {
    let seen = answer("Q-27");
    assert_eq!((seen.one("leaders"), seen.one("waiting_for_ever")), (json!([3]), json!([])));
    assert_eq!(seen.all("agreement"), json!(["holds", "holds"]));
}

#[claims("Q-28")]
#[test]
fn a_ring_election_that_survives_losses() {
    let seen = answer("Q-28");
    assert_eq!((seen.one("election_messages"), seen.one("steps")), (15.into(), 2.into()));
    assert_eq!(seen.all("announcements"), json!([5, 5.0]));
    assert_eq!(seen.one("all_of_them_end"), "holds");
    assert_eq!(seen.one("restarted_ones_that_do_not_end"), 0);
}

#[claims("Q-35")]
#[test]
fn n_log_n_on_the_worst_ring_and_the_simple_one_on_others() {
    let seen = answer("Q-35");
    let counts =
        |name: &str| seen.0.iter().map(|it| it[name].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(counts("chang_roberts")[..3], [44.0, 2144.0, 525_824.0]);
    assert_eq!(counts("hirschberg_sinclair")[..3], [72.0, 632.0, 10_232.0]);
    assert_eq!(counts("dolev_klawe_rodeh")[..3], [32.0, 256.0, 4096.0]);
    assert!(counts("chang_roberts")[3] < counts("dolev_klawe_rodeh")[3]);
}

#[claims("Q-32")]
#[test]
fn a_leader_that_stays_down_is_replaced() {
    let seen = answer("Q-32");
    assert_eq!(seen.all("leaders"), json!([[4], [3], [5]]));
    assert_eq!(seen.one("the_highest_who_is_up_leads"), "holds");
}

#[claims("Q-29")]
#[test]
fn to_tell_all_costs_more_and_elects_the_same() {
    let seen = answer("Q-29");
    assert_eq!(
        (seen.one("elections_to_higher"), seen.one("elections_to_all")),
        (10.into(), 16.into())
    );
    assert_eq!((seen.one("answers_to_higher"), seen.one("answers_to_all")), (6.into(), 6.into()));
    assert_eq!(seen.all("to_all"), json!([8, "holds"]));
}

#[claims("Q-30")]
#[test]
fn two_may_lead_for_a_moment_and_without_terms_for_ever() {
    let seen = answer("Q-30");
    assert_eq!(seen.all("one_leader_at_a_time"), json!(["holds", "violated", "violated"]));
    assert_eq!(seen.all("steps"), json!([5, 3, 7]));
    assert_eq!(seen.all("agreement"), json!(["violated", "holds"]));
}

#[claims("Q-31")]
#[test]
fn what_a_bully_election_costs() {
    let seen = answer("Q-31");
    assert_eq!((seen.one("among_5"), seen.one("among_10")), (20.into(), 90.into()));
    let worst = ["false_alarm_among_5", "false_alarm_among_10", "all_start_among_10"];
    assert_eq!(worst.map(|name| seen.one(name)), [json!(24), json!(99), json!(99)]);
    assert_eq!(
        (seen.one("elections"), seen.one("announcements_to_those_below")),
        (1.into(), 8.into())
    );
    assert_eq!((seen.one("12_once"), seen.one("12_each_time")), (132.into(), 3081.into()));
}

#[claims("Q-33")]
#[test]
fn the_ends_of_the_race() {
    let seen = answer("Q-33");
    assert_eq!(seen.one("schedules_by_final_value"), json!({ "4": 9, "5": 2, "6": 9 }));
    assert_eq!(seen.one("schedules_by_final_value_under_a_lock"), json!({ "5": 2 }));
}

#[claims("Q-41")]
#[test]
fn a_picture_of_a_group_that_goes_on() {
    let seen = answer("Q-41");
    assert_eq!(seen.one("consistent"), "holds");
    assert_eq!(seen.one("where_messages_overtake"), "violated");
}

#[claims("Q-42")]
#[test]
fn all_wait_for_all_with_nobody_in_the_middle() {
    assert_eq!(answer("Q-42").one("signals_at_once"), "violated");
}

#[claims("Q-43")]
#[test]
fn the_news_that_nobody_works_any_more() {
    assert_eq!(answer("Q-43").one("answered_too_early"), "violated");
}

#[claims("Q-44")]
#[test]
fn who_belongs_is_what_a_majority_of_the_last_view_says() {
    assert_eq!(answer("Q-44").one("without_asking"), "violated");
}

#[claims("Q-45")]
#[test]
fn names_can_be_agreed_on() {
    assert_eq!(answer("Q-45").one("without_a_majority"), "violated");
}

#[claims("Q-46")]
#[test]
fn whoever_leads_has_what_was_committed() {
    assert_eq!(answer("Q-46").one("a_log_that_lacks_it"), "violated");
}

#[claims("Q-47")]
#[test]
fn an_entry_of_an_earlier_term_is_not_committed_by_counting() {
    assert_eq!(answer("Q-47").one("p1_counts_three_commits_none"), 0);
}

#[claims("Q-48")]
#[test]
fn a_leader_asks_before_it_answers_a_read() {
    assert_eq!(answer("Q-48").one("asking_nobody"), "violated");
}

#[claims("Q-49")]
#[test]
fn what_is_said_was_written_down() {
    assert_eq!(answer("Q-49").one("what_was_counted_is_gone"), "violated");
}
