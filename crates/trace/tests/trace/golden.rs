//! The stage and the golden runner, with a lock small enough to follow by hand.

use crate::tiny::Tiny;
use tenure_core::{Order, ProcessId};
use tenure_trace::{Action, Impossible, PerformError, Script, Stage, Theatre, golden, perform};

fn performed(script: &str) -> Result<Vec<String>, PerformError> {
    perform::<Tiny>(&script.parse::<Script>().unwrap(), |_| 0)
}

fn refused(script: &str) -> String {
    performed(script).unwrap_err().to_string()
}

#[test]
fn stories_come_out_as_they_are_written() {
    golden::<Tiny>("tests/golden", |_| 0);
}

#[test]
fn a_story_that_comes_out_differently_fails_with_the_difference() {
    if std::env::var_os("TENURE_GOLDEN").is_some() {
        return; // While scripts are rewritten, none comes out differently.
    }
    let folder = tempfile::tempdir().unwrap();
    let story = "group 2\nenter p2\n----\nP2 asks Enter\n  sends P1 Grant\n";
    std::fs::write(folder.path().join("wrong.txt"), story).unwrap();
    let failure = std::panic::catch_unwind(|| golden::<Tiny>(folder.path(), |_| 0)).unwrap_err();
    let says = failure.downcast_ref::<String>().unwrap();
    assert!(says.contains("wrong.txt"), "{says}");
    assert!(says.contains("-  sends P1 Grant\n+  sends P1 Request\n"), "{says}");
}

#[test]
fn a_folder_without_scripts_fails() {
    let folder = tempfile::tempdir().unwrap();
    assert!(std::panic::catch_unwind(|| golden::<Tiny>(folder.path(), |_| 0)).is_err());
}

#[test]
fn the_configuration_is_used() {
    let script: Script = "group 2\nenter p2; stabilize\n".parse().unwrap();
    let outcome = perform::<Tiny>(&script, |_| 41).unwrap();
    assert!(outcome[0].ends_with("is told Entered { fence: Fence(0, 42) }"), "{}", outcome[0]);
}

#[test]
fn what_is_not_possible_is_refused_with_its_line() {
    for (script, says) in [
        ("enter p1", "line 1: there is no group yet; say `group 3` first"),
        ("group 2\n\nenter p3", "line 3: there is no P3 in a group of 2"),
        ("group 2\nelect p1", "line 2: `elect p1` is no command of this protocol"),
        ("group 2\ndeliver p1→p2", "line 2: no such message is under way: p1→p2"),
        (
            "group 2\nenter p2\nlose p2→p1 grant",
            "line 3: no such message is under way: p2→p1 grant",
        ),
        (
            "group 2\nenter p2; fire p2 askagain\ndeliver p2→p1 2",
            "line 3: the channel is FIFO and p2→p1 2 is not the oldest message; \
             say `channel reordered`",
        ),
        ("group 2\ncrash p1\nenter p1", "line 3: P1 is down; recover it first"),
        ("group 2\nrecover p1", "line 2: P1 is up; only a crashed process recovers"),
        (
            "group 2\nenter p2\nfire p2 noon",
            "line 3: `noon` is not exactly one of P2's armed timers [AskAgain, GiveUp]",
        ),
        (
            "group 2\nenter p2; lose p2→p1; crash p1\nstabilize timers",
            "line 3: after 10000 steps there is still something to do; say `stabilize 20`",
        ),
    ] {
        assert_eq!(refused(script), says, "{script}");
    }
}

#[test]
fn a_part_of_a_timers_name_is_enough_if_it_is_the_only_one() {
    assert!(performed("group 2\nenter p2; fire p2 again").is_ok());
    assert!(performed("group 2\nenter p2; fire p2 a").is_ok());
    assert!(performed("group 2\nenter p2; fire p2 i").is_err(), "AskAgain and GiveUp");
}

#[test]
fn timers_fire_when_they_are_due_however_often_others_are_armed_again() {
    // AskAgain is due every 5 units and its message is lost; GiveUp is due after 50.
    let story = "group 2\ncrash p1; enter p2; lose p2→p1\nstabilize timers 19";
    let outcome = performed(story).unwrap().remove(0);
    assert_eq!(outcome.matches("AskAgain fires").count(), 9);
    assert!(outcome.ends_with("P2's timer GiveUp fires"), "{outcome}");
}

#[test]
fn a_stage_can_be_moved_without_a_script() {
    let mut stage = Stage::<Tiny>::telling(2, Order::Fifo, |_| 0);
    stage.perform(&"enter p2".parse().unwrap()).unwrap();
    assert_eq!(stage.under_way().count(), 1);
    stage.perform(&Action::Stabilize { timers: false, most: None }).unwrap();
    assert_eq!(stage.take_seen().len(), 2, "a command and an event");
    assert_eq!(stage.take_lines().len(), 6);
    stage.perform(&Action::Crash(ProcessId(1))).unwrap();
    assert_eq!(stage.process(ProcessId(1)), None);
    let again = stage.perform(&Action::Crash(ProcessId(1)));
    assert_eq!(again, Err(Impossible::Down { at: ProcessId(1) }));
}
