//! What a card says it costs, and who it says sends to whom, is a promise: kept by default, and
//! broken by the mistakes that are only dear, or go round the wrong way.

use serde_json::{Value, json};

use crate::shell::{data, tenure, text};

/// The verdict of a line on a property.
#[track_caller]
fn verdict(line: &str, property: &str, status: i32) -> String {
    let told = data(line, status);
    let key = if line.starts_with("check") { "properties" } else { "verdicts" };
    told[key][property].as_str().unwrap_or("not judged").to_owned()
}

#[test]
fn every_run_is_held_to_the_cost_of_its_card() {
    for line in ["lamport", "maekawa -n 7", "hirschberg-sinclair --ids 3,1,4,2", "bully"] {
        assert_eq!(verdict(&format!("simulate {line}"), "cost", 0), "holds", "{line}");
    }
    let dear = "simulate ricart-agrawala --entries 2 --variant replies-again";
    let says = data(dear, 1)["violations"][0]["says"].as_str().map(str::to_owned);
    let says = says.expect("it says why");
    assert!(says.ends_with("the card says 2(N−1), at most 8 for each entry"), "{says}");
    let dear = "simulate chang-roberts --variant starts-again";
    assert_eq!(verdict(dear, "cost", 1), "violated");
}

#[test]
fn where_a_card_says_nothing_of_a_run_its_cost_is_not_judged() {
    for line in
        ["bully --crash 5@1", "coordinated:bully", "chang-roberts --down 2 --beyond-assumptions"]
    {
        let told = tenure(&format!("simulate {line} --property cost"));
        assert_eq!(told.status.code(), Some(2), "{line}: {told:?}");
        let says = String::from_utf8_lossy(&told.stderr);
        assert!(says.contains("--property cost does not judge"), "{line}: {says}");
    }
    let crashed = data("simulate bully --crash 5@1", 0);
    assert!(crashed["verdicts"].get("cost").is_none(), "{crashed}");
    let told = tenure("check token-ring --property cost");
    assert_eq!(told.status.code(), Some(2), "an idle token travels for ever: {told:?}");
}

/// The leader crashes, so a run has two elections. A cheap one does not pay for a dear one, and
/// two are not held to the bound of one.
#[test]
fn each_election_of_a_run_is_compared_with_its_card() {
    let line = "simulate bully -n 6 --crash 6@10 --until 60";
    assert_eq!(data(line, 0)["election"]["messages"], json!([35, 30]));
    let joined = |line: &str| text(line, 0).split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = joined(line);
    let says = "32.5 per election (2 elections: 35, 30); the card says N−1 … N²−1, here 5 to 35";
    assert!(shown.contains(says) && !shown.contains("outside"), "{shown}");
    let many = joined(&format!("{line} --runs 5"));
    assert!(many.contains("32.5 per election; the card") && !many.contains("outside"), "{many}");
    // An election that a crash interrupts costs more than the bound, which speaks of none.
    let shown = joined("simulate bully -n 6 --crash 6@0.5 --until 60");
    assert!(shown.contains("outside where a process crashed or recovered meanwhile"), "{shown}");
}

/// Where entries always take the same, what was spent adds no world.
#[test]
fn a_check_bounds_the_cost_over_every_schedule() {
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
    let told = tenure("simulate lamport --property topology");
    assert_eq!(told.status.code(), Some(2), "its card names no ring: {told:?}");
}

/// A number that is saved keeps whoever comes back from leading in a term that is over.
#[test]
fn nobody_leads_again_in_a_term_that_is_over() {
    let line = "check bully -n 2 --crash 1 --recover 1 --property fresh-terms";
    assert_eq!(verdict(line, "fresh-terms", 0), "holds");
    let forgets = format!("{line} --variant forgotten-number");
    assert_eq!(verdict(&forgets, "fresh-terms", 1), "violated");
}

/// What pre-votes are for: who was cut off comes back with no higher term.
#[test]
fn a_leader_that_is_well_is_deposed_by_who_comes_back_without_pre_votes() {
    let line = "simulate raft -n 3 --initiators 1 --partition 3@20..80 --property steady-leader";
    assert_eq!(verdict(line, "steady-leader", 1), "violated");
    let with = format!("{line} --variant pre-vote --runs 100");
    assert_eq!(data(&with, 0)["violations"], Value::Null);
}

/// A fault that a card says is survived breaks nothing; and that one of two is no majority, or that
/// one is cut off for ever, breaks no card.
fn the_matrix_agrees_with_the_cards(of: &str) {
    assert_eq!(tenure(&format!("compare {of}")).status.code(), Some(0), "{of}");
}

#[test]
fn the_matrix_of_faults_agrees_with_the_cards_of_locks() {
    the_matrix_agrees_with_the_cards("mutex --faults --only central,nishio-li-manning,majority");
}

#[test]
fn the_matrix_of_faults_agrees_with_the_card_of_a_lease() {
    the_matrix_agrees_with_the_cards("mutex --faults --only lease");
}

#[test]
fn the_matrix_of_faults_agrees_with_the_card_of_an_election() {
    the_matrix_agrees_with_the_cards("election --faults --only bully");
}

#[test]
fn the_matrix_of_faults_agrees_with_the_card_of_an_agreement() {
    the_matrix_agrees_with_the_cards("agreement --faults --only chandra-toueg");
}

/// The lock that nodes run by default is compared like any other.
#[test]
fn default_lock_has_a_row_of_its_own() {
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

#[test]
#[ignore = "minutes; `just long` runs it"]
fn the_matrix_of_faults_agrees_with_the_card_of_the_default_lock() {
    the_matrix_agrees_with_the_cards("mutex --faults --only coordinated:raft");
}

/// The command that a check names for promises that rest on clocks checks them.
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
    assert!(!clocked.contains("not judged here"), "{clocked}");
    assert!(!text("check bully -n 2", 0).contains("not judged here"));
}
