//! Tests of `tenure run` and `tenure node`, whose real processes are killed, stopped and starved.
//!
//! Few clusters run at the same time, because their load influences the results.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::log_storage::Mount;
use crate::running::{Ended, Running, run_report, tenure};
use crate::waiting::{cluster_slot, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tenure_runtime::ports::reserve_address;

impl Ended {
    /// Returns the error message of the command. Asserts that the message is a single line, and
    /// that standard output is empty.
    #[track_caller]
    fn line(&self) -> &str {
        assert_eq!(self.out, "", "nothing but a result is for standard output");
        let lines: Vec<_> = self.err.lines().collect();
        let [line] = lines[..] else { panic!("not one line: {}", self.err) };
        line
    }
}

/// Option that makes each holder keep the lock for 10 ms. A run of a given duration then has fewer
/// entries, and takes less processor time.
const PACE: &str = "--hold 10ms";

#[track_caller]
fn recorded(trace: &Path, kind: &str) {
    let kind = format!("\"kind\":\"{kind}\"");
    eventually(&kind, || fs::read_to_string(trace).ok().filter(|text| text.contains(&kind)));
}

/// Returns the command lines that contain `path`. These command lines belong to the nodes of one
/// test.
#[cfg(target_os = "linux")]
fn nodes_of(path: &Path) -> Vec<String> {
    let needle = format!("{}/p", path.display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let command_line = |process: fs::DirEntry| {
        let line = fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    };
    processes.filter_map(command_line).filter(|line| line.contains(&needle)).collect()
}

/// Returns an empty list, because processes can be listed only on Linux.
#[cfg(not(target_os = "linux"))]
fn nodes_of(_: &Path) -> Vec<String> {
    Vec::new()
}

fn directory() -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("run");
    let path = path.to_str().unwrap().to_string();
    (directory, path)
}

/// Executes `tenure run` with these options. Asserts that no update is lost, and returns the
/// report.
#[track_caller]
fn run_without_lost_updates(line: &str) -> Value {
    let result = run_report(line, 0);
    assert_no_lost_updates(&result);
    result
}

#[track_caller]
fn assert_no_lost_updates(result: &Value) {
    assert_eq!(result["violations"], 0, "{result:#}");
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
    assert_eq!(result["counter"]["expected"], result["counter"]["found"], "{result:#}");
    assert!(result["entries"].as_u64() > Some(0), "{result:#}");
}

#[test]
fn killed_leader_is_replaced_and_leads_again_after_restart() {
    let _slot = cluster_slot();
    // On a loaded machine, the killed node may be back before the others have elected a leader.
    for [restart, duration] in [[2500, 8_000], [16_000, 40_000]] {
        let faults = format!("--kill leader@1s --restart leader@{restart}ms");
        let line = format!("--duration {duration}ms {PACE} {faults}");
        let result = run_without_lost_updates(&line);
        assert_eq!(result["crashes"], 1);
        let elections = result["elections"].as_array().unwrap();
        let after_crash = elections.iter().find(|election| election["cause"] == "crash");
        let Some(after_crash) = after_crash else { continue };
        assert_eq!(after_crash["leader"], 4, "{result:#}");
        assert_eq!(elections.last().unwrap()["leader"], 5, "{result:#}");
        return;
    }
    panic!("no election in the 15 seconds after the crash");
}

#[test]
fn updates_are_lost_without_a_lock() {
    let _slot = cluster_slot();
    let result = run_report("--nodes 3 --no-lock --no-faults --entries 500", 1);
    assert!(result["counter"]["lost"].as_i64() > Some(0), "{result:#}");
    assert_eq!(result["counter"]["expected"], 1500);
    assert_eq!(result["refused"], 0);
    assert!(result["directory"].is_string(), "the files are kept: {result:#}");
}

#[test]
fn ricart_agrawala_takes_eight_messages_per_entry_of_five() {
    let _slot = cluster_slot();
    let result = run_without_lost_updates("--mutex ricart-agrawala --entries 40");
    assert_eq!(result["entries"], 200);
    assert_eq!(result["messages_per_entry"]["measured"], 8.0);
    assert_eq!(result["messages_per_entry"]["card"], 8);
}

#[test]
fn central_lock_takes_three_messages_per_entry() {
    let _slot = cluster_slot();
    let result = run_without_lost_updates("--mutex central --nodes 4 --entries 40");
    assert_eq!(result["messages_per_entry"]["away_from_coordinator"], 3.0);
    assert_eq!(result["messages_per_entry"]["measured"], 2.25);
}

#[test]
fn stopped_leader_loses_no_updates() {
    let _slot = cluster_slot();
    let result =
        run_without_lost_updates("--nodes 3 --duration 5s --hold 2ms --pause leader@1s..2500ms");
    eprintln!("{} refused, {} overlaps", result["refused"], result["overlaps"]);
}

/// A holder is suspended between its read and its write, and another process enters. When the
/// holder continues and writes with its old fencing token, the resource rejects the write.
#[test]
fn stopped_holder_is_rejected_by_its_old_fence() {
    let _slot = cluster_slot();
    let result =
        run_without_lost_updates("--nodes 3 --duration 9s --hold 2ms --pause inside@1s..6s");
    assert!(result["refused"].as_u64() > Some(0), "{result:#}");
}

#[test]
fn killed_holder_restarts_and_is_served() {
    let _slot = cluster_slot();
    let faults = "--kill inside@1s --restart inside@2s";
    let result = run_without_lost_updates(&format!("--nodes 3 --duration 6s {PACE} {faults}"));
    assert_eq!(result["crashes"], 1, "{result:#}");
}

/// Restarts all nodes, and kills them 1 ms later, while they boot. Restarts them again, and asserts
/// that no update is lost. Both starts of a node may have the same session number.
#[test]
fn nodes_killed_during_boot_restart() {
    let _slot = cluster_slot();
    let faults = "--kill all@500ms --restart all@800ms --kill all@801ms --restart all@1100ms";
    run_without_lost_updates(&format!("--nodes 3 --election raft {faults} --duration 3s"));
}

#[test]
fn stopped_process_with_perfect_detector_is_checked_at_the_resource() {
    let _slot = cluster_slot();
    let pauses = "--pause 4@1766ms..4353ms --pause 3@956ms..2805ms";
    let line = format!("--mutex tolerant-ricart-agrawala --duration 5s --hold 5ms {pauses}");
    let result = run_without_lost_updates(&line);
    let note = "a perfect failure detector";
    assert!(result["notes"].to_string().contains(note), "{result:#}");
    eprintln!("{} overlaps, not promised: {}", result["overlaps"], result["not_promised"]);
}

#[test]
fn verified_trace_segments_are_deleted_during_a_run() {
    let _slot = cluster_slot();
    let temporary = tempfile::tempdir().unwrap();
    // A trace segment is full after some 200 entries of each process.
    let line = "run --nodes 3 --mutex lamport --entries 800 --trace-mib 1 --format json";
    let mut run = Running::start_in(temporary.path(), line);
    eventually("a verified and deleted segment", || {
        let folder = fs::read_dir(temporary.path()).unwrap().flatten().next()?.path();
        let (first, later) = (folder.join("p1.ndjson"), folder.join("p1-3.ndjson"));
        (later.exists() && !first.exists()).then_some(())
    });
    let result = run.ended().expect(0).json();
    assert_no_lost_updates(&result);
    assert_eq!((&result["entries"], &result["crashes"]), (&2_400.into(), &0.into()));
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "nothing stays");
}

#[test]
fn channel_tolerates_lost_and_duplicated_messages() {
    let _slot = cluster_slot();
    let faults = "--fifo --lose 0.1 --duplicate 0.1";
    let result = run_without_lost_updates(&format!(
        "--mutex ricart-agrawala --nodes 3 --entries 40 {faults}"
    ));
    assert_eq!(result["messages_per_entry"]["measured"], 4.0);
    let channel = &result["channel"];
    assert!(channel["injected"]["lost"].as_u64() > Some(0), "{result:#}");
    assert!(channel["injected"]["duplicated"].as_u64() > Some(0), "{result:#}");
    assert!(channel["recovered"]["repeats"].as_u64() > Some(0), "{result:#}");
}

#[test]
#[ignore = "long: 21 s"]
fn clusters_of_one_and_twenty_nodes_run() {
    let _slot = cluster_slot();
    run_without_lost_updates("--nodes 1 --no-faults --entries 20");
    let result = run_without_lost_updates("--nodes 20 --no-faults --entries 3");
    assert_eq!(result["entries"], 60);
}

#[test]
fn traces_of_a_run_can_be_verified_again() {
    let _slot = cluster_slot();
    let (_directory, path) = directory();
    let line = format!("run --nodes 3 --no-faults --entries 20 --dir {path} --format json");
    let result = tenure(&line).expect(0).json();
    let files = ["p1", "p2", "p3", "parent", "resource"];
    let files = files.map(|name| format!("{path}/{name}.ndjson")).join(" ");
    let verified = tenure(&format!("trace verify --format json {files}")).expect(0).json();
    assert_eq!(verified["entries"], result["entries"]);
    assert_eq!(verified["counter"], result["counter"]);
    let story = tenure(&format!("trace show --kind event {files}"));
    assert!(story.expect(0).out.lines().filter(|line| line.contains("enters")).count() == 60);
    let again = tenure(&line);
    assert!(again.expect(2).line().contains("is not empty"), "{}", again.err);
}

#[test]
fn interrupted_run_ends_every_child_and_prints_its_results() {
    let _slot = cluster_slot();
    for signal in [Signal::INT, Signal::TERM] {
        let (_directory, path) = directory();
        let line =
            format!("run --nodes 3 --duration 60s --pause 2@500ms..50s --dir {path} --format json");
        let mut run = Running::start(&line);
        recorded(Path::new(&format!("{path}/parent.ndjson")), "stop");
        run.signal(signal);
        let result = run.ended().expect(3).json();
        assert_eq!(result["violations"], 0, "{result}");
        assert_eq!(result["interrupted"], true);
        assert_eq!(result["verdicts"]["mutual-exclusion"], "holds", "{result}");
        assert_eq!(
            result["verdicts"]["starvation-freedom"], "incomplete",
            "a waiting process may have been served"
        );
        assert_eq!(nodes_of(Path::new(&path)), [""; 0]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn children_end_with_their_killed_parent() {
    let _slot = cluster_slot();
    let (_directory, path) = directory();
    let line = format!("run --nodes 3 --duration 60s --pause 2@500ms..50s --dir {path}");
    let run = Running::start(&line);
    let path = Path::new(&path);
    recorded(&path.join("parent.ndjson"), "stop");
    assert_eq!(nodes_of(path).len(), 3);
    run.signal(Signal::KILL);
    eventually("the end of all nodes", || nodes_of(path).is_empty().then_some(()));
}

#[test]
#[cfg(target_os = "linux")]
fn externally_killed_node_ends_the_run_with_one_line() {
    let _slot = cluster_slot();
    let (_directory, path) = directory();
    let line = format!("run --nodes 3 --pause 2@500ms..50s --duration 60s --dir {path}");
    let mut run = Running::start(&line);
    let path = Path::new(&path);
    recorded(&path.join("parent.ndjson"), "stop");
    let victim = format!("{}/p3.toml", path.display());
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|process| {
        let line = fs::read(process.path().join("cmdline")).ok()?;
        let number = process.file_name().to_str()?.parse::<i32>().ok()?;
        String::from_utf8_lossy(&line).contains(&victim).then_some(number)
    });
    for pid in pids {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
    let ended = run.ended();
    let line = ended.expect(4).line();
    assert!(line.contains("P3 ended unexpectedly: signal 9 from another process"), "{line}");
    assert_eq!(nodes_of(path), [""; 0]);
}

#[test]
fn corrupt_state_ends_the_run_with_its_path() {
    let _slot = cluster_slot();
    let (_directory, path) = directory();
    let faults = "--kill 2@500ms --restart 2@10s";
    let line = format!("run --nodes 3 {PACE} {faults} --duration 30s --dir {path}");
    let mut run = Running::start(&line);
    let path = Path::new(&path);
    recorded(&path.join("parent.ndjson"), "crash");
    // The parent records the crash before it kills the node, so wait until the node has ended.
    let victim = format!("{}/p2.toml", path.display());
    eventually("the end of P2", || {
        (!nodes_of(path).iter().any(|line| line.contains(&victim))).then_some(())
    });
    if cfg!(not(target_os = "linux")) {
        sleep(Duration::from_secs(3));
    }
    fs::write(path.join("p2/state"), "nonsense").unwrap();
    let ended = run.ended();
    let line = ended.expect(4).line();
    assert!(line.contains("P2") && line.contains("p2/state"), "{line}");
    assert_eq!(nodes_of(path), [""; 0]);
}

#[test]
fn full_disk_ends_the_run_with_one_line() {
    let _slot = cluster_slot();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let Some(_mount) = Mount::in_memory(path.clone(), "1m") else { return };
    let run = path.join("run");
    let line = format!("run --nodes 3 --duration 60s --dir {}", run.display());
    let ended = tenure(&line);
    let left = nodes_of(&run);
    let line = ended.expect(4).line();
    assert!(line.contains("No space left") || line.contains("disk is full"), "{line}");
    assert_eq!(left, [""; 0]);
}

fn configuration(directory: &Path, address: &str) -> String {
    let path = directory.join("node.toml");
    let store = directory.join("state");
    let text = format!(
        "version = 1\n[cluster]\nname = \"test\"\nme = 1\naddresses = [\"{address}\"]\n\
         [store]\ndirectory = {store:?}\n"
    );
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn occupied_port_is_named_in_the_error() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let config = configuration(directory.path(), &address);
    let ended = tenure(&format!("node --config {config}"));
    let message = ended.expect(4).err.lines().last().unwrap_or_default();
    assert!(message.contains(&address) && message.contains("already in use"), "{message}");
}

#[test]
fn node_does_not_overwrite_a_corrupt_state() {
    let directory = tempfile::tempdir().unwrap();
    let config = configuration(directory.path(), &reserve_address().to_string());
    let state = directory.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("state"), "nonsense").unwrap();
    let ended = tenure(&format!("node --config {config}"));
    let message = ended.expect(4).err.lines().last().unwrap_or_default();
    assert!(message.contains("is damaged"), "{message}");
    assert_eq!(fs::read_to_string(state.join("state")).unwrap(), "nonsense");
}

#[test]
fn invalid_configuration_is_one_line_with_its_position() {
    let directory = tempfile::tempdir().unwrap();
    let config = configuration(directory.path(), "127.0.0.1:no-port");
    let ended = tenure(&format!("node --config {config}"));
    assert!(ended.expect(2).line().contains("host:port"), "{}", ended.err);
    fs::write(&config, "version = 1\ncolour = 3\n").unwrap();
    let ended = tenure(&format!("node --config {config}"));
    assert!(
        ended.expect(2).line().contains("node.toml:") && ended.err.contains("colour"),
        "{}",
        ended.err
    );
    let ended = tenure("node --config /nowhere/node.toml");
    assert!(ended.expect(2).line().contains("/nowhere/node.toml"), "{}", ended.err);
}

#[test]
fn unknown_algorithms_and_mismatched_pairs_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let config = configuration(directory.path(), &reserve_address().to_string());
    let text = fs::read_to_string(&config).unwrap();
    for (mutex, election, part) in [
        ("coordinated:raft", "bully", "do not match"),
        ("lamprot", "raft", "nearest are lamport"),
        ("lamport", "bulli", "nearest are bully"),
    ] {
        let service = format!("[service]\nmutex = \"{mutex}\"\nelection = \"{election}\"\n");
        fs::write(&config, format!("{text}{service}")).unwrap();
        let ended = tenure(&format!("node --config {config}"));
        let message = ended.expect(2).err.trim_end();
        assert!(message.contains("node.toml: ") && message.contains(part), "{message}");
        assert!(message.len() < directory.path().as_os_str().len() + 250, "{message}");
    }
}

#[test]
fn mistakes_are_rejected_unless_allowed() {
    // A node that accepts its configuration fails later, because its port is occupied.
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupied.local_addr().unwrap().to_string();
    for (mutex, election, mistake) in [
        ("lamport", "bully", "own-request-on-top"),
        ("coordinated:raft", "raft", "forgotten-vote"),
        ("coordinated:raft", "raft", "given-at-once"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let config = configuration(directory.path(), &address);
        let service = format!("[service]\nmutex = \"{mutex}\"\nelection = \"{election}\"");
        let text = fs::read_to_string(&config).unwrap();
        let text = format!("{text}{service}\nvariants = [\"{mistake}\"]\n");
        fs::write(&config, &text).unwrap();
        let ended = tenure(&format!("node --config {config}"));
        let message = ended.expect(2).err.trim_end();
        assert!(message.contains(mistake) && message.contains("--allow-mistakes"), "{message}");
        tenure(&format!("node --config {config} --allow-mistakes")).expect(4);
        fs::write(&config, format!("{text}allow_mistakes = true\n")).unwrap();
        tenure(&format!("node --config {config}")).expect(4);
    }
}

#[test]
fn commands_that_only_print_succeed() {
    for (line, message) in [
        ("--version", "tenure "),
        ("--help", "run"),
        ("run --help", "--kill"),
        ("list", "ricart-agrawala"),
        ("list fifo:bully", "Garcia-Molina"),
        ("node --example", "[cluster]"),
        ("completions bash", "_tenure"),
    ] {
        let ended = tenure(line);
        assert!(ended.expect(0).out.contains(message), "{line}: {}", ended.out);
        assert_eq!(ended.err, "", "{line}");
    }
    let list = tenure("list --format json").expect(0).json();
    assert!(list.as_array().unwrap().iter().any(|algorithm| algorithm["name"] == "bully"));
}
