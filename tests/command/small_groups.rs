//! Tests of groups of one and two processes. Formulas for N processes often fail there, because a
//! process is its own neighbour, or both neighbours are the same process.

use serde_json::Value;

use crate::shell::{data, tenure};

/// An ordinary run of the tests checks only one of `SHARE` algorithms, to save time. The long tests
/// check all of them.
const SHARE: usize = 4;

/// Options of the tested runs of elections.
const ELECTIONS: [&str; 4] =
    ["", "--initiators 1", "--ids random --runs 8", "--ids random --initiators 1 --runs 4"];
const LOCKS: [&str; 4] = ["", "--entries 3", "--sequential 6 --runs 40", "--hot 1:3"];
const AGREEMENTS: [&str; 2] = ["", "--entries 2"];

fn workloads(card: &Value) -> &'static [&'static str] {
    match card["service"].as_str() {
        Some("election") => &ELECTIONS,
        Some("mutex" | "office") => &LOCKS,
        _ => &AGREEMENTS,
    }
}

/// Asserts that a run satisfies the properties that the card claims, and that the cost of the run
/// matches the formulas.
fn assert_holds(line: &str) {
    let ended = tenure(line);
    let [out, err] = [&ended.stdout, &ended.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!(ended.status.code(), Some(0), "{line}: {out}{err}");
    assert!(!out.contains("outside") && !out.contains("VIOLATED"), "{line}: {out}");
}

#[test]
fn sampled_small_groups_keep_cost_and_promises() {
    assert_small_groups_hold(SHARE);
}

#[test]
#[ignore = "minutes; `just long` runs it"]
fn all_small_groups_keep_cost_and_promises() {
    assert_small_groups_hold(1);
}

fn assert_small_groups_hold(share: usize) {
    let cards = data("list", 0);
    let cards = cards.as_array().expect("a list of cards");
    assert!(cards.len() > 40, "{}", cards.len());
    for card in cards.iter().step_by(share) {
        let name = card["name"].as_str().expect("a card has a name");
        for size in [1, 2] {
            for workload in workloads(card) {
                assert_holds(&format!("simulate {name} -n {size} {workload}"));
            }
        }
    }
}

/// Simulates rings in which all processes except one or two are down. The live processes satisfy
/// the properties that the card claims, at the cost that the card states.
#[test]
fn small_remaining_rings_keep_cost_and_promises() {
    let cards = data("list", 0);
    let absence = |card: &&Value| card["card"]["faults"]["absence"] == true;
    let absent: Vec<&Value> = cards.as_array().into_iter().flatten().filter(absence).collect();
    assert!(absent.len() > 4, "{absent:?}");
    for card in absent {
        let name = card["name"].as_str().expect("a card has a name");
        for down in ["1,2,3,4", "2,3,4,5", "1,3,4", "3,4,5"] {
            for workload in ["", "--ids random --runs 8"] {
                assert_holds(&format!("simulate {name} -n 5 --down {down} {workload}"));
            }
        }
        assert_holds(&format!("simulate {name} -n 5 --down 1,2,3,4 --initiators 5"));
    }
}
