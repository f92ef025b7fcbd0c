//! Tests of `tenure question`: the figures of each answer, and the failure of every negative
//! control.

use crate::question_results::{ALL, answer, assert_answers, entry_of};
use crate::shell::{assert_refused, data, tenure};
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
    for id in ids() {
        let places = [format!("answer(\"{id}\")"), format!("  \"{id}\": {{")];
        assert!(places.iter().any(|place| tests.contains(place)), "{id} has no test");
    }
}

/// The book refers to every question by its number, alone or in a range such as "Q-04 to Q-08".
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
        assert_refused(line, &[message]);
    }
}

/// `tenure question` prints the answer to a question and its commands, in lines that fit a
/// terminal. The test examines one in eight questions.
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

#[test]
fn single_question_equals_its_entry_among_all() {
    for ((status, all), words) in ALL.iter().zip(["question Q-16", "question Q-16 --broken"]) {
        assert_eq!(&data(words, status.expect("it ended")), entry_of(all, "Q-16"), "{words}");
    }
}

/// The answer to a question contains the command of each experiment. A user can copy this command,
/// and its run gives the value that the answer states.
#[test]
fn command_of_a_question_can_be_copied() {
    let report = data("question Q-16", 0);
    let command = report["experiments"][0]["command"].as_str().expect("a line");
    let line = command.strip_prefix("tenure ").expect("a command");
    let checked = data(line, 1);
    assert_eq!(checked["counterexample"]["length"], report["experiments"][0]["observed"]["steps"]);
}

#[test]
fn models() {
    assert_answers(&json!({
        "Q-01": {
            "skew_at_worst": [0.0, 8.0, 98.0, 998.0],
            "wrong_suspicions": 0.0,
            "the_crash_was_found": true,
            "a_wrong_suspicion": [true, true, true, true],
            "no_detector": "violated",
            "never_wrong": "holds",
            "may_be_wrong": "violated",
            "steps": 3,
            "blocked": [2, 3, 4],
        },
        "Q-02": {
            "in_order": "holds",
            "in_any_order": "violated",
            "numbered_and_acknowledged": "holds",
            "one_loss": "violated",
            "one_loss_repeated": "holds",
            "one_duplicate": "violated",
            // Number of steps until a forgotten vote leads to a second leader.
            "steps": 10,
            "refused": "rank 5 is given twice: change one or add --beyond-assumptions",
            "equals_agree": "violated",
        },
        "Q-58": { "t_5": "violated", "steps": 3, "t_6": "violated", "t_7": "holds" },
        "Q-65": { "states": 256, "moves_at_most": 13, "5_machines_3_states": "unbounded" },
    }));
    assert!((200.0..=220.0).contains(&answer("Q-02").number("time_of_the_end_of_20")));
}

#[test]
fn agreement() {
    assert_answers(&json!({
        "Q-37": {
            "agreement_without_a_detector": "holds",
            "progress_without_a_detector": "violated",
            "agreement_though_the_detector_errs": "holds",
        },
        "Q-38": {
            "correct_processes_deliver_the_same_items": "holds",
            "crashed_processes_too": "holds",
            "one_order": "holds",
            "reliable_progress": "holds",
            "atomic_progress": "violated",
        },
        "Q-41": { "consistent": "holds", "where_messages_overtake": "violated" },
        "Q-42": { "signals_at_once": "violated" },
        "Q-43": { "answered_too_early": "violated" },
        "Q-44": { "without_asking": "violated" },
        "Q-45": { "without_a_majority": "violated" },
    }));
}

#[test]
fn replicated_logs() {
    assert_answers(&json!({
        "Q-46": { "a_log_that_lacks_it": "violated" },
        "Q-47": { "p1_counts_three_commits_none": 0 },
        "Q-48": { "without_confirmation": "violated" },
        "Q-49": { "a_counted_entry_is_lost": "violated" },
    }));
}

#[test]
fn problems_and_their_solutions() {
    assert_answers(&json!({
        "Q-03": {
            "at_most_k": "holds",
            "steps": 2,
            "adjustments": [[5], [-20], [15]],
            "processes_counted_by_the_echoes": 5,
        },
        "Q-07": { "agreement": "holds", "validity": "violated", "messages": 8.0, "steps": 1 },
        "Q-08": {
            "steps": 3,
            "the_counter": 1,
            "accepted_writes": 2,
            "refused_writes_with_fences": 1,
            "fencing": "holds",
        },
        "Q-40": {
            "cut_off": "holds",
            "crashes": "holds",
            "stopped": "violated",
            "steps": 5.0,
            "refused": 1.0,
        },
    }));
}

#[test]
fn locks_at_a_coordinator() {
    assert_answers(&json!({
        // The two numbers of steps are those with reordering links and with FIFO links. `order`
        // considers only messages of the lock, and not messages between users.
        "Q-09": { "all steps": [6, 6], "order": "holds" },
        "Q-10": {
            "all entries": [8, 8, 2],
            "blocked_processes": [2, 3],
            "probes_find_cycles": "holds",
        },
        "Q-11": {
            "idle_blocked": [],
            "waiting_blocked": [4],
            "inside_blocked": [4],
            "leader_blocked": [3, 4],
            "waiting_blocked_elected": [],
            "inside_blocked_elected": [],
            "leader_blocked_elected": [],
        },
    }));
    let times = answer("Q-10").all("time_until_all_are_served");
    assert!(times[1].as_f64().is_some_and(|it| Some(it) < times[0].as_f64()), "{times}");
}

#[test]
fn locks_on_a_ring() {
    assert_answers(&json!({
        "Q-12": { "steps": 4, "order": "holds", "entries_of_another_while_one_waits": 1 },
        "Q-12n": { "delay_from_exit_to_entry_in_messages": 1.0 },
        // The two numbers of steps lead to a violation: with a plain token ring whose process P3 is
        // down, and with a false suspicion. `blocked_processes` is the result after three crashes.
        "Q-14": {
            "all steps": [2, 3],
            "blocked_processes": [],
            "all mutual_exclusion": ["holds", "violated"],
        },
        // The three numbers of steps lead to a violation: the only token is lost, both of two
        // tokens are lost, and the token is duplicated.
        "Q-15": {
            "all steps": [3, 5, 8],
            "generations": "violated",
            "dijkstra_s_ring": "holds",
        },
        "Q-36": { "of_2": 1.0, "of_5": 1.0, "of_20": 1.0, "central": 2.0, "maekawa": 2.0 },
    }));
    let observed = answer("Q-13");
    let times = observed.all("time_until_all_are_served");
    assert!(times[1].as_f64().is_some_and(|it| Some(it) < times[0].as_f64()), "{times}");
    assert!(observed.number("runs_that_end_in_a_deadlock") >= 90.0);
}

#[test]
fn locks_with_timestamps() {
    assert_answers(&json!({
        "Q-16": { "mutual_exclusion": "violated", "steps": 6 },
        "Q-17": {
            "all steps": [6, 2],
            "mutual_exclusion": "violated",
            "starvation_freedom": "violated",
        },
        "Q-18": { "order": "holds", "steps": 7, "runs_out_of_order": 0 },
        // The first case has three processes and FIFO links. The second has two processes and
        // reordering links. The third has two processes and FIFO links, and no violation.
        "Q-19": {
            "all mutual_exclusion": ["violated", "violated", "holds"],
            "all steps": [10, 6],
        },
        "Q-20": {
            "all steps": [6, 2],
            "mutual_exclusion": "violated",
            "starvation_freedom": "violated",
        },
        "Q-21": { "all order": ["violated", "holds"], "all steps": [14, 6] },
    }));
}

#[test]
fn costs_of_locks() {
    // The four numbers of a lock: messages without contention, waiting time without contention,
    // messages per entry under load, and delay from exit to entry.
    assert_answers(&json!({
        "Q-22": {
            "central": [3.0, 2.0, 2.7, 2.0],
            "lamport": [24.0, 2.0, 24.0, 1.0],
            "ricart_agrawala": [16.0, 2.0, 16.0, 1.0],
            "maekawa": [12.0, 2.0, 15.8, 2.0],
            "delay_at_exit": 0.0,
        },
    }));
    let observed = answer("Q-22");
    assert_eq!(observed.one("token_ring")[2], 1.0);
    assert_eq!(observed.0[0].as_object().unwrap().len(), 9);
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
fn elections() {
    assert_answers(&json!({
        "Q-23": { "leaders": [3], "id_of_the_leader": 12, "the_largest_leads": "violated" },
        "Q-24": {
            "agreement": "holds",
            "validity": "violated",
            "central_2_4": 6,
            "ricart_agrawala_8_4": 12,
        },
        // `steps` is the number of steps until two processes lead, each in its own term.
        "Q-25": {
            "blocked_processes": [],
            "acknowledged_writes_that_are_lost": 0,
            "steps": 6,
        },
        "Q-26": {
            "5_entries_each": 5.0,
            "20_entries_each": 20.0,
            "40_entries_each": 40.0,
            "passed_while_waiting_once": 1,
            "elected_for_each_entry": 1190,
            "elected_once": 250,
        },
        // `all final_leaders` has the leader after the crash of P5, and the leader after its
        // recovery. `all` is the leader if all processes start an election.
        "Q-34": {
            "all final_leaders": [[4], [5]],
            "all": [5],
            "p1_starts_one_crashes": "holds",
        },
        "Q-50": { "steps": 5 },
        "Q-51": { "flooding_2ed": 162 },
        "Q-52": {
            "one_level": 18,
            "two_levels": 28,
            "the_fragment_waits_for_itself": "violated",
        },
        "Q-59": {
            "leaders_in_the_end": 1,
            "one_group_in_the_end": "holds",
            "terms_decrease": "violated",
        },
    }));
}

#[test]
fn elections_on_a_ring() {
    assert_answers(&json!({
        "Q-27": {
            "leaders": [3],
            "blocked_processes": [],
            "all agreement": ["holds", "holds"],
        },
        "Q-28": {
            "election_messages": 15,
            "steps": 2,
            "all announcements": [5, 5.0],
            "all_of_them_end": "holds",
            "restarted_ones_that_do_not_end": 0,
        },
        "Q-60": { "peterson": 20, "dolev_klawe_rodeh": 24, "with_none_leads": "violated" },
    }));
}

#[test]
fn bully() {
    assert_answers(&json!({
        "Q-29": {
            "elections_to_higher": 10,
            "elections_to_all": 16,
            "answers_to_higher": 6,
            "answers_to_all": 6,
            "all to_all": [8, "holds"],
        },
        "Q-30": {
            "all one_leader_at_a_time": ["holds", "violated", "violated"],
            "all steps": [5, 3, 7],
            "all agreement": ["violated", "holds"],
        },
        "Q-31": {
            "among_5": 20,
            "among_10": 90,
            "false_alarm_among_5": 24,
            "false_alarm_among_10": 99,
            "all_start_among_10": 99,
            "elections": 1,
            "announcements_to_those_below": 8,
            "12_once": 132,
            "12_each_time": 3081,
        },
        "Q-32": {
            "all leaders": [[4], [3], [5]],
            "the_highest_live_process_leads": "holds",
        },
    }));
}

#[test]
fn philosophers() {
    assert_answers(&json!({
        "Q-55": { "all_keep_and_wait": "violated", "two_requests_two_forks": 4 },
        "Q-56": { "three_wait_in_a_circle": "violated" },
        "Q-57": { "two_forums": "violated", "inside": 1 },
    }));
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
