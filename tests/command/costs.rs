//! Tests that the cost and the topology of each run are compared with the card of the algorithm. A
//! faulty variant that costs more, or sends in the wrong direction, causes a violation.

use serde_json::{Value, json};

use crate::shell::{assert_refused, data, tenure, text};

/// Returns the verdict of a command line on a property. Asserts the exit status.
#[track_caller]
fn verdict(line: &str, property: &str, status: i32) -> String {
    let report = data(line, status);
    let key = if line.starts_with("check") { "properties" } else { "verdicts" };
    report[key][property].as_str().unwrap_or("not judged").to_owned()
}

#[test]
fn runs_are_checked_against_the_cost_of_the_card() {
    for line in ["lamport", "maekawa -n 7", "hirschberg-sinclair --ids 3,1,4,2", "bully"] {
        assert_eq!(verdict(&format!("simulate {line}"), "cost", 0), "holds", "{line}");
    }
    let dear = "simulate ricart-agrawala --entries 2 --variant replies-again";
    let message = data(dear, 1)["violations"][0]["description"].as_str().map(str::to_owned);
    let message = message.expect("a reason");
    assert!(message.ends_with("the card says 2(N−1), at most 8 for each entry"), "{message}");
    let dear = "simulate chang-roberts --variant starts-again";
    assert_eq!(verdict(dear, "cost", 1), "violated");
}

#[test]
fn cost_is_not_checked_without_a_bound_on_the_card() {
    for line in
        ["bully --crash 5@1", "coordinated:bully", "chang-roberts --down 2 --beyond-assumptions"]
    {
        let line = format!("simulate {line} --property cost");
        assert_refused(&line, &["--property cost cannot be checked"]);
    }
    let crashed = data("simulate bully --crash 5@1", 0);
    assert!(crashed["verdicts"].get("cost").is_none(), "{crashed}");
    let report = tenure("check token-ring --property cost");
    assert_eq!(report.status.code(), Some(2), "an idle token travels for ever: {report:?}");
}

/// Simulates a group whose leader crashes, so that two elections take place. Asserts that the
/// message count of each election is compared with the bound on the card.
#[test]
fn each_election_is_checked_against_the_cost_of_the_card() {
    let line = "simulate bully -n 6 --crash 6@10 --until 60";
    assert_eq!(data(line, 0)["election"]["messages"], json!([35, 30]));
    let joined = |line: &str| text(line, 0).split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = joined(line);
    let message = "32.5 per election (2 elections: 35, 30); card: N−1 … N²−1, here 5 to 35";
    assert!(shown.contains(message) && !shown.contains("outside"), "{shown}");
    let many = joined(&format!("{line} --runs 5"));
    assert!(many.contains("32.5 per election; card") && !many.contains("outside"), "{many}");
    // An election with a crash costs more than the bound, which excludes crashes.
    let shown = joined("simulate bully -n 6 --crash 6@0.5 --until 60");
    assert!(shown.contains("outside in elections with a crash or recovery"), "{shown}");
}

/// A check verifies that every schedule obeys the bound on messages per entry. If all entries cost
/// the same number of messages, a check with this property visits as many states as a check without
/// it.
#[test]
fn check_bounds_the_cost_over_every_schedule() {
    let states = |line: &str| data(line, 0)["states"].as_u64();
    for name in ["ricart-agrawala", "lamport", "tolerant-ricart-agrawala"] {
        let bare = format!("check {name} -n 2 --entries 2");
        assert_eq!(verdict(&bare, "cost", 0), "holds", "{name}");
        let without = format!("{bare} --property mutual-exclusion,starvation-freedom,fencing");
        assert_eq!(states(&bare), states(&without), "{name}");
    }
    assert_eq!(verdict("check raymond -n 3", "cost", 0), "not judged");
    for name in ["raymond", "central", "maekawa", "carvalho-roucairol", "naimi-trehel"] {
        assert_eq!(verdict(&format!("check {name} -n 3 --property cost"), "cost", 0), "holds");
    }
    for name in ["lelann", "chang-roberts", "dolev-klawe-rodeh"] {
        assert_eq!(verdict(&format!("check {name} --property cost"), "cost", 0), "holds", "{name}");
    }
}

#[test]
fn messages_stay_on_the_ring_of_the_card() {
    assert_eq!(verdict("simulate token-ring", "topology", 0), "holds");
    assert_eq!(verdict("check token-ring -n 3", "topology", 0), "holds");
    assert_eq!(verdict("check franklin -n 2", "topology", 0), "holds");
    for verb in ["simulate", "check"] {
        let line = format!("{verb} token-ring -n 3 --variant backwards");
        assert_eq!(verdict(&line, "topology", 1), "violated", "{line}");
    }
    let report = tenure("simulate lamport --property topology");
    assert_eq!(report.status.code(), Some(2), "its card names no ring: {report:?}");
}

/// Checks the bully algorithm with a crash and a recovery. No process leads in an old term, because
/// each process saves its term. Control experiment: a variant that does not save the term violates
/// the property.
#[test]
fn saved_terms_prevent_a_second_leader_in_one_term() {
    let line = "check bully -n 2 --crash 1 --recover 1 --property fresh-terms";
    assert_eq!(verdict(line, "fresh-terms", 0), "holds");
    let forgets = format!("{line} --variant forgotten-number");
    assert_eq!(verdict(&forgets, "fresh-terms", 1), "violated");
}

/// Isolates a process for a while. The term of this process grows during the isolation, so that the
/// process deposes the leader afterwards. With pre-votes, the term does not grow and the leader
/// stays.
#[test]
fn without_pre_votes_a_rejoining_process_deposes_the_leader() {
    let line = "simulate raft -n 3 --initiators 1 --partition 3@20..80 --property steady-leader";
    assert_eq!(verdict(line, "steady-leader", 1), "violated");
    let with = format!("{line} --variant pre-vote --runs 100");
    assert_eq!(data(&with, 0)["violations"], Value::Null);
}

/// Runs `tenure compare` with each of these command lines, and asserts that each command succeeds.
/// A command checks algorithms under several kinds of faults. The command fails if an algorithm
/// violates a property under a fault that its card claims to tolerate.
fn assert_matrices_agree_with_cards(tables: &[&str]) {
    for of in tables {
        let line = format!("compare {of}");
        assert_eq!(tenure(&line).status.code(), Some(0), "{line}");
    }
}

#[test]
fn fault_matrix_agrees_with_the_cards_of_a_lock_and_an_agreement() {
    assert_matrices_agree_with_cards(&[
        "mutex --faults --only central",
        "agreement --faults --only chandra-toueg",
    ]);
}

#[test]
#[ignore = "minutes; `just long` runs it"]
fn fault_matrix_agrees_with_cards_that_tolerate_crashes() {
    assert_matrices_agree_with_cards(&[
        "mutex --faults --only nishio-li-manning,majority",
        "mutex --faults --only lease",
        "election --faults --only bully",
        "mutex --faults --only coordinated:raft",
    ]);
}

#[test]
fn default_lock_has_its_own_row() {
    let names = |line: &str| {
        let rows = data(line, 0)["algorithms"].clone();
        let rows = rows.as_array().cloned().unwrap_or_default();
        assert!(rows.iter().all(|row| row["refused"].is_null()), "{line}: {rows:?}");
        rows.iter().map(|row| row["name"].clone()).collect::<Vec<_>>()
    };
    let all = names("compare mutex -n 3 --runs 2");
    assert!(all.contains(&json!("coordinated:raft")) && all.contains(&json!("coordinated:bully")));
    for only in ["coordinated:raft", "coordinated:lelann", "mutex-from-election:bully"] {
        assert_eq!(names(&format!("compare mutex -n 3 --runs 2 --only {only}")), [only]);
    }
    assert_eq!(tenure("compare mutex -n 3 --only coordinated:paxos").status.code(), Some(2));
    assert_eq!(tenure("compare election -n 3 --only coordinated:raft").status.code(), Some(2));
}

/// Cards claim some properties only for clocks that run at the right rate. A check without clocks
/// leaves these properties out, and prints a command that checks them. The test runs the printed
/// command.
#[test]
fn check_names_the_command_for_clocked_promises() {
    let shown = text("check coordinated:raft -n 2 --entries 1,1 --max-states 2000 --crash 1", 3);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("mutual-exclusion and fencing, promised while clocks"), "{shown}");
    let (_, command) = words.split_once("`tenure ").expect("a command");
    let (command, _) = command.split_once('`').expect("its end");
    assert!(command.starts_with("check coordinated:raft -n 2 ") && command.contains("--crash 1"));
    assert_eq!(verdict(command, "mutual-exclusion", 0), "holds", "{command}");
    assert_eq!(verdict(command, "fencing", 0), "holds", "{command}");
    let clocked = text(command, 0);
    assert!(!clocked.contains("not checked, as timers fire"), "{clocked}");
    assert!(!text("check bully -n 2", 0).contains("not checked, as timers fire"));
}

/// Compares the maximum number of messages over all schedules with the bound of the paper, in a
/// group of N = 3 processes. The bound of Chang and Roberts is N(N + 1)/2. The bound of the bully
/// algorithm is N² − 1 if the lowest process starts. The bound of Ricart and Agrawala is 2(N − 1)
/// per entry.
#[test]
fn maximum_over_all_schedules_attains_the_papers_bounds() {
    let measured = |line: &str| data(&format!("check {line}"), 0)[0].clone();
    let ranks = measured("chang-roberts --ids 3,2,1 --measure messages=election");
    assert_eq!((&ranks["maximum"]["value"], &ranks["minimum"]["value"]), (&json!(6), &json!(3)));
    let bully = measured("bully --initiators 1 --measure messages");
    assert_eq!(
        (&bully["maximum"]["value"], &bully["card"]["most"]),
        (&json!(8), &json!({"attained": 8}))
    );
    let entries = measured("ricart-agrawala --measure messages");
    assert_eq!(entries["card"]["most"], json!({"attained": 12}));
    assert_eq!(entries["card"]["least"], json!({"attained": 12}));
    let shown = text("check majority --measure messages", 0);
    assert!(shown.contains("at most 18: not tight here, the maximum is 11"), "{shown}");
}

#[test]
fn measure_beyond_the_card_is_a_violation() {
    let line = "check chang-roberts --ids 3,2,1 --variant starts-again --measure messages";
    assert_eq!(data(line, 1)[0]["card"]["most"], json!({"exceeded": 9}));
    let shown = text("check token-ring -n 2 --measure messages", 0);
    assert!(shown.contains("unbounded") && shown.contains("again and again"), "{shown}");
    for wrong in ["check central --measure mesages", "check bully --measure bypass"] {
        assert_eq!(tenure(wrong).status.code(), Some(2), "{wrong}");
    }
}

/// Checks that the measured load shows the bottleneck of a central lock: the coordinator sends or
/// receives every message.
#[test]
fn load_shows_the_bottleneck() {
    let load = data("simulate central -n 4 --entries 2 --load", 0)["load"].clone();
    let processes = load["processes"].as_array().expect("a list");
    let coordinator = processes[0]["sent"].as_u64().zip(processes[0]["received"].as_u64());
    assert_eq!(coordinator, Some((6, 12)), "{load}");
    assert_eq!(load["process"]["max"], json!(18), "{load}");
    let shown = text("simulate central -n 4 --entries 2 --load", 0);
    assert!(shown.contains("busiest P1") && shown.contains("utilisation"), "{shown}");
    let plain = data("simulate central -n 4 --entries 2", 0);
    assert!(plain.get("load").is_none(), "{plain}");
}
