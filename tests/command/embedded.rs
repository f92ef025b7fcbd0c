//! Tests of commands that run inside another program. Each command must print the same text as in a
//! separate process `tenure`.

use tenure::embedded::{PerformedCommand, perform};

use crate::shell;

/// Returns the text without the lines that contain measured times and bytes, which differ between
/// runs.
fn comparable(text: &str) -> String {
    let is_measured = |line: &str| {
        let line = line.trim_start();
        line.starts_with("\"seconds\":") || line.starts_with("\"bytes\":")
    };
    let (mut rest, mut in_totals) = (String::new(), false);
    for line in text.lines() {
        // The totals contain times. They begin with the line that contains ` transitions, `.
        // Further lines of the totals have an indent of four spaces.
        in_totals = line.contains(" transitions, ") || (in_totals && line.starts_with("    "));
        if !in_totals && !is_measured(line) {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    rest
}

/// Runs a command line in this process and in a process `tenure`. Asserts that the results are
/// equal.
fn assert_same(line: &str) -> PerformedCommand {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let inside = perform(&words);
    let outside = shell::tenure(line);
    let [stdout, stderr] =
        [&outside.stdout, &outside.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert_eq!(comparable(&inside.stdout), comparable(&stdout), "{line}");
    assert_eq!(inside.stderr, stderr, "{line}");
    assert_eq!(Some(i32::from(inside.exit)), outside.status.code(), "{line}");
    inside
}

#[test]
#[ignore = "long: 5 s"]
fn every_algorithm_is_checked_with_the_same_report() {
    let names: Vec<&str> = tenure_names().collect();
    assert!(names.len() > 80, "{}", names.len());
    for name in names {
        let checked = assert_same(&format!("check {name} --max-states 300 --format json"));
        assert!(checked.stdout.contains("\"states\""), "{name}: {}", checked.stderr);
    }
}

#[test]
fn every_algorithm_is_simulated_with_the_same_report() {
    for name in tenure_names() {
        let simulated = assert_same(&format!("simulate {name} -n 4 --seed 7 --format json"));
        assert!(simulated.stdout.contains("\"messages\""), "{name}: {}", simulated.stderr);
    }
}

fn tenure_names() -> impl Iterator<Item = &'static str> {
    use tenure::algorithms::catalogue::{AGREEMENTS, ELECTIONS, MUTEXES, composition_names};
    [MUTEXES, ELECTIONS, AGREEMENTS].concat().into_iter().chain(composition_names())
}

#[test]
fn counterexamples_errors_and_lessons_are_the_same() {
    for (line, exit) in [
        ("check ricart-agrawala -n 2 --variant clock-only-strict", 1),
        ("check ricart-agrawala -n 2 --variant clock-only-strict --format json", 1),
        ("check central -n 3 --never inside(P1)&inside(P3)", 0),
        ("check bakery -n 2", 0),
        ("check byzantine-generals -n 4 --liars 1", 0),
        ("check dijkstra-ring -n 3 --from any", 0),
        ("check chang-roberts -n 3 --measure messages", 0),
        ("check central -n 2 --max-states 3", 3),
        ("list central", 0),
        ("compare mutex -n 3", 0),
        ("question Q-19 --format json", 0),
        ("scenario race", 0),
        ("check nonsense", 2),
        ("simulate central -n none", 2),
        ("check --help", 0),
    ] {
        assert_eq!(assert_same(line).exit, exit, "{line}");
    }
}

#[test]
#[should_panic(expected = "check central")]
fn comparison_detects_a_different_report() {
    let inside = perform(&["check", "central", "-n", "3"].map(str::to_owned));
    let outside = shell::tenure("check central -n 2");
    let outside = String::from_utf8_lossy(&outside.stdout);
    assert_eq!(comparable(&inside.stdout), comparable(&outside), "check central");
}
