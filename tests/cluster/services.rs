//! A lock service and its clients as processes: `tenure run --service`.

use serde_json::Value;

use crate::running::Running;
use crate::waiting::alone;

/// A run of a service, as data, once it has ended with this status.
#[track_caller]
fn run(line: &str, code: i32) -> Value {
    let line = format!("run --format json {line}");
    let mut run = Running::start(&line.split_whitespace().collect::<Vec<_>>());
    let status = run.ended();
    let (out, err) = (run.said("out"), run.said("err"));
    assert_eq!(status.code(), Some(code), "{out}\n{err}");
    let result: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}\n{err}"));
    if let Some(directory) = result["directory"].as_str() {
        std::fs::remove_dir_all(directory).unwrap();
    }
    result
}

#[test]
fn a_service_keeps_its_promises_while_its_leader_is_killed_and_comes_back() {
    let _alone = alone();
    let faults = "--kill leader@700ms --restart leader@1500ms --duration 3s";
    let result = run(&format!("--service 3 --clients 4 {faults}"), 0);
    let verdicts = result["verdicts"].as_object().unwrap();
    assert_eq!(verdicts.len(), 7);
    assert!(verdicts.values().all(|verdict| verdict == "holds"), "{result:#}");
    assert_eq!(result["kills"], 1);
    assert!(result["entries"].as_u64() > Some(0), "{result:#}");
    assert_eq!(result["counter"]["expected"], result["counter"]["found"], "{result:#}");
    assert!(result["failover_ms"]["max"].is_number(), "{result:#}");
}

#[test]
fn a_member_that_is_stopped_and_one_that_leaves_take_nothing_with_them() {
    let _alone = alone();
    let faults = "--pause 1@500ms..1s --leave leader@1500ms --restart leader@2s --duration 3s";
    let result = run(&format!("--service 3 --clients 3 {faults}"), 0);
    assert_eq!(result["violations"], 0, "{result:#}");
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
}

#[test]
fn without_the_lock_of_the_service_updates_are_lost() {
    let _alone = alone();
    let result = run("--service 1 --clients 8 --no-lock --duration 1s", 1);
    assert!(result["counter"]["lost"].as_i64() > Some(0), "{result:#}");
    assert_eq!(result["lock"], false);
}
