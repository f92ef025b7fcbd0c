//! Tests of self-stabilization: `tenure check --from any`.

use crate::shell::{assert_fails_with, data, tenure, text};

#[test]
fn ring_converges_in_13_moves_from_any_state() {
    let report = data("check dijkstra-ring -n 4 --from any --property convergence,closure", 0);
    assert_eq!(report["properties"]["closure"], "holds");
    assert_eq!(report["properties"]["convergence"], "holds");
    let counted = ["states", "legitimate", "moves"].map(|key| report[key].as_u64());
    assert_eq!(counted, [256, 40, 13].map(Some));
    let one = data("check dijkstra-ring -n 4 --from any --property closure", 0);
    assert_eq!(one["properties"].as_object().map(serde_json::Map::len), Some(1));
}

#[test]
fn worst_schedule_is_drawn() {
    for (n, moves) in [(3, 2), (4, 13), (5, 24)] {
        let line = format!("check dijkstra-ring -n {n} --from any --measure moves");
        let measured = data(&line, 0);
        assert_eq!(measured[0]["maximum"]["value"], moves);
        let drawn = text(&line, 0);
        assert!(drawn.contains(&format!("maximum {moves}, in {moves} steps")), "{drawn}");
        let rows = drawn.lines().filter(|line| line.contains('●')).count();
        assert_eq!(rows, moves + 1, "one row for each step, and the legend: {drawn}");
    }
}

#[test]
fn too_few_states_leave_a_cycle_that_is_drawn() {
    let drawn = text("check dijkstra-ring -n 4 --from any --states 2", 1);
    assert!(drawn.contains("closure                  holds"), "{drawn}");
    assert!(drawn.contains("convergence              violated"), "{drawn}");
    assert!(drawn.contains("… and again from 0"), "{drawn}");
    let enough = text("check dijkstra-ring -n 4 --from any --states 3", 0);
    assert!(enough.contains("convergence              holds"), "{enough}");
}

#[test]
fn other_solutions_start_in_any_state_by_default() {
    for (line, moves) in [("dijkstra-four-state -n 5", 13), ("dijkstra-three-state -n 5", 22)] {
        assert_eq!(data(&format!("check {line}"), 0)["moves"], moves);
        let report = data(&format!("check {line} --from any --property convergence"), 0);
        assert_eq!(report["moves"], moves);
    }
}

#[test]
fn mistakes_are_listed_with_their_commands() {
    for name in ["dijkstra-ring", "dijkstra-four-state", "dijkstra-three-state"] {
        let card = text(&format!("list {name}"), 0);
        let commands = card.lines().filter_map(|line| line.trim().strip_prefix("tenure check "));
        let mut found = 0;
        for command in commands.filter(|it| it.contains("--from any") && it.contains("--variant")) {
            let report = data(&format!("check {command}"), 1);
            assert_eq!(report["verdict"], "violated", "{command}");
            found += 1;
        }
        assert!(found > 0, "{card}");
    }
}

#[test]
fn messages_may_be_in_flight_at_the_start() {
    let line = "check dijkstra-ring -n 2 --from any-with-messages --states";
    assert_eq!(data(&format!("{line} 3"), 0)["moves"], 8);
    assert_eq!(data(&format!("{line} 2"), 1)["moves"], "unbounded");
}

#[test]
fn rejects_what_has_no_meaning_from_any_state() {
    let cases = [
        ("lamport --from any", "--from does not apply to lamport: expected dijkstra-ring, "),
        ("dijkstra-ring --from any --measure messages", "--measure messages does not apply"),
        ("dijkstra-ring --from any --property progress", "expected closure, convergence"),
        ("dijkstra-ring --property closure", "--property closure does not apply"),
        ("dijkstra-ring --from any --lose 1", "--lose does not apply to dijkstra-ring from any"),
        ("dijkstra-ring --from any -n 1", "invalid number of machines 1: expected at least 2"),
        ("dijkstra-ring --from any --states 1", "invalid number of states 1: expected 2 to 254"),
        ("dijkstra-four-state --from any --states 3", "only dijkstra-ring has K states"),
        ("dijkstra-four-state --from any-with-messages", "has no version with messages"),
        ("dijkstra-ring --from any -n 12", "lower -n or --states, or raise --max-states"),
        ("dijkstra-ring --from any --variant x", "unknown variant `x`"),
    ];
    for (line, message) in cases {
        assert_fails_with(&tenure(&format!("check {line}")), 2, message);
    }
    let other = tenure("simulate dijkstra-four-state");
    assert_fails_with(
        &other,
        2,
        "only the checker runs it: use `tenure check dijkstra-four-state`",
    );
}
