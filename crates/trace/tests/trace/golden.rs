//! Tests of the test cluster, and of `run_golden_scripts`, which compares scripts with their
//! expected outcomes. The tests run scripts of a minimal lock.

use crate::tiny::Tiny;
use tenure_core::{ChannelOrder, ProcessId};
use tenure_trace::{
    ActionError, PerformError, Script, ScriptAction, ScriptRunner, TestCluster, perform_script,
    run_golden_scripts,
};

fn performed(script: &str) -> Result<Vec<String>, PerformError> {
    perform_script::<Tiny>(&script.parse::<Script>().unwrap(), |_| 0)
}

fn refused(script: &str) -> String {
    performed(script).unwrap_err().to_string()
}

#[test]
fn golden_scripts_pass() {
    run_golden_scripts::<Tiny>("tests/golden", |_| 0);
}

#[test]
fn different_outcome_fails_with_diff() {
    if std::env::var_os("TENURE_GOLDEN").is_some() {
        return; // While scripts are rewritten, none comes out differently.
    }
    let folder = tempfile::tempdir().unwrap();
    let story = "group 2\nenter p2\n----\nP2 asks Enter\n  sends P1 Grant\n";
    std::fs::write(folder.path().join("wrong.txt"), story).unwrap();
    let failure =
        std::panic::catch_unwind(|| run_golden_scripts::<Tiny>(folder.path(), |_| 0)).unwrap_err();
    let description = failure.downcast_ref::<String>().unwrap();
    assert!(description.contains("wrong.txt"), "{description}");
    assert!(description.contains("-  sends P1 Grant\n+  sends P1 Request\n"), "{description}");
}

#[test]
fn empty_directory_fails() {
    let folder = tempfile::tempdir().unwrap();
    assert!(std::panic::catch_unwind(|| run_golden_scripts::<Tiny>(folder.path(), |_| 0)).is_err());
}

#[test]
fn the_configuration_is_used() {
    let script: Script = "group 2\nenter p2; stabilize\n".parse().unwrap();
    let outcome = perform_script::<Tiny>(&script, |_| 41).unwrap();
    assert!(outcome[0].ends_with("emits Entered { fence: Fence(0, 42) }"), "{}", outcome[0]);
}

#[test]
fn impossible_action_is_rejected_with_line_number() {
    for (script, description) in [
        ("enter p1", "line 1: there is no group yet; start with `group 3`"),
        ("group 2\n\nenter p3", "line 3: there is no P3 in a group of 2"),
        (
            "group 2\nelect p1",
            "line 2: `elect p1` is not a command of this protocol; other actions begin with \
             deliver, lose, duplicate, delay, fire, crash, recover, suspect or trust",
        ),
        ("group 2\ndeliver p1→p2", "line 2: no such message is under way: p1→p2"),
        (
            "group 2\nenter p2\nlose p2→p1 grant",
            "line 3: no such message is under way: p2→p1 grant",
        ),
        (
            "group 2\nenter p2; fire p2 askagain\ndeliver p2→p1 2",
            "line 3: the channel is FIFO and p2→p1 2 is not the oldest message; \
             use `channel reordered`",
        ),
        ("group 2\ncrash p1\nenter p1", "line 3: P1 is down; recover it first"),
        ("group 2\nrecover p1", "line 2: P1 is up; only a crashed process recovers"),
        (
            "group 2\nenter p2\nfire p2 noon",
            "line 3: `noon` must match exactly one of P2's armed timers [AskAgain, GiveUp]",
        ),
        (
            "group 2\nenter p2; lose p2→p1; crash p1\nstabilize timers",
            "line 3: the group does not come to rest within 10000 steps; \
             limit it with `stabilize 20`",
        ),
    ] {
        assert_eq!(refused(script), description, "{script}");
    }
}

#[test]
fn unique_part_of_timer_name_suffices() {
    assert!(performed("group 2\nenter p2; fire p2 again").is_ok());
    assert!(performed("group 2\nenter p2; fire p2 a").is_ok());
    assert!(performed("group 2\nenter p2; fire p2 i").is_err(), "AskAgain and GiveUp");
}

#[test]
fn rearming_timers_does_not_delay_others() {
    // AskAgain is due every 5 units and its message is lost; GiveUp is due after 50 units.
    let story = "group 2\ncrash p1; enter p2; lose p2→p1\nstabilize timers 19";
    let outcome = performed(story).unwrap().remove(0);
    assert_eq!(outcome.matches("AskAgain fires").count(), 9);
    assert!(outcome.ends_with("P2's timer GiveUp fires"), "{outcome}");
}

#[test]
fn cluster_runs_without_script() {
    let mut cluster = TestCluster::<Tiny>::with_transcript(2, ChannelOrder::Fifo, |_| 0);
    cluster.perform(&"enter p2".parse().unwrap()).unwrap();
    assert_eq!(cluster.in_flight().count(), 1);
    cluster.perform(&ScriptAction::Stabilize { timers: false, most: None }).unwrap();
    assert_eq!(cluster.take_events().len(), 2, "a command and an event");
    assert_eq!(cluster.take_transcript().len(), 6);
    cluster.perform(&ScriptAction::Crash(ProcessId(1))).unwrap();
    assert_eq!(cluster.process(ProcessId(1)), None);
    let again = cluster.perform(&ScriptAction::Crash(ProcessId(1)));
    assert_eq!(again, Err(ActionError::Down { at: ProcessId(1) }));
}
