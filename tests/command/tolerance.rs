//! Tests of cards that promise tolerance of a bounded number of faults.

use serde_json::Value;

use crate::shell::{assert_fails_with, data, tenure, text};

/// Returns a command line that checks an algorithm with `more` faults than its card tolerates.
/// `field` is the field of the card that contains the tolerated number. Returns `None` if the card
/// states no number.
fn check_line(card: &Value, field: &str, option: &str, more: u64) -> Option<String> {
    let most = card["faults"][field].as_u64().filter(|most| *most > 0)?;
    Some(format!("check {} -n 3 --{option} {}", card["name"].as_str()?, most + more))
}

/// A check with as many faults as the card tolerates finds no violation. With one more fault, the
/// check is rejected.
#[test]
fn faults_are_accepted_up_to_the_bound_of_the_card() {
    let listed = data("list", 0);
    let cards: Vec<&Value> =
        listed.as_array().into_iter().flatten().map(|it| &it["card"]).collect();
    let mut bounded = Vec::new();
    for card in cards.iter().filter(|card| !card["name"].to_string().contains(':')) {
        for (field, option) in [("max_lost", "lose"), ("max_crashed", "crash")] {
            let Some(within) = check_line(card, field, option, 0) else { continue };
            assert_eq!(data(&within, 0)["verdict"], "holds", "{within}");
            let beyond = check_line(card, field, option, 1).expect("the same card");
            assert_fails_with(&tenure(&beyond), 2, "--beyond-assumptions");
            bounded.push((card["name"].as_str().unwrap_or_default().to_owned(), option));
        }
    }
    let expected = [("k-mutex".to_owned(), "crash"), ("misra-ring".to_owned(), "lose")];
    bounded.sort();
    assert_eq!(bounded, expected);
}

/// Checks algorithms with one fault more than their cards tolerate. A process then starves: in
/// `misra-ring`, because both tokens of the ring are lost, and in `k-mutex`, because crashed
/// processes hold all k permissions.
#[test]
fn one_fault_above_the_bound_breaks_a_promise() {
    for line in
        ["misra-ring -n 2 --lose 2", "k-mutex -n 3 --crash 2", "k-mutex -n 3 --k 1 --crash 1"]
    {
        let report = data(&format!("check {line} --beyond-assumptions"), 1);
        assert_eq!(report["properties"]["starvation-freedom"], "violated", "{line}: {report}");
    }
}

/// The simulator rejects runs with more faults than the card tolerates. Several crashes of one
/// process count as one crash. The simulator rejects a probability of losses, because a probability
/// does not bound the number of losses.
#[test]
fn simulator_checks_its_faults_against_the_bound() {
    assert_fails_with(&tenure("simulate misra-ring --lose 0.1"), 2, "--beyond-assumptions");
    let crash = "simulate k-mutex -n 5 --k 3 --entries 2 --crash 1@inside:1 --crash 2@waiting:1";
    assert_eq!(tenure(crash).status.code(), Some(0));
    assert_fails_with(&tenure(&format!("{crash} --crash 3@20")), 2, "--beyond-assumptions");
    assert_fails_with(&tenure(&format!("{crash} --down 4")), 2, "--beyond-assumptions");
    assert_eq!(tenure(&format!("{crash} --crash 2@20")).status.code(), Some(0), "the same process");
}

#[test]
fn tables_of_cards_show_the_bound() {
    let shown = text("list", 0);
    assert!(shown.contains("1 lost") && shown.contains("1 crash"), "{shown}");
}
