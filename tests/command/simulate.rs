//! Tests of the output of `tenure simulate` and `tenure compare`. Scripts and people read this
//! output.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::hold::until;
use crate::killed::Killed;
use crate::shell::{assert_fails_with, assert_refused as refused, data as data_with, tenure, text};
use serde_json::{Value, json};

#[track_caller]
fn data(line: &str) -> Value {
    data_with(line, 0)
}

#[test]
fn documented_example_is_reproduced_exactly() {
    let expected = json!({
        "algorithm": "chang-roberts", "n": 5, "ids": [5, 4, 3, 2, 1], "seed": 1,
        "messages": {
            "total": 20, "received": 20, "by_kind": {"election": 15, "elected": 5},
            "dropped": 0, "duplicated": 0,
        },
        "election": {"started": 5, "took_part": 5, "messages": [20]},
        "elected": {"1": 5, "2": 5, "3": 5, "4": 5, "5": 5}, "leaders": [5],
        "entries": {"total": 0, "order": []},
        "delays": {
            "entry": {"mean": 0.0, "max": 0.0}, "exit": {"mean": 0.0, "max": 0.0},
            "synchronisation": {"mean": 0.0, "max": 0.0},
        },
        "bypass_max": 0, "finished_at": 10.0, "blocked": [],
        "verdicts": {
            "agreement": "holds", "validity": "holds", "progress": "holds",
            "cost": "holds", "topology": "holds",
        },
    });
    assert_eq!(data("simulate chang-roberts --ids 5,4,3,2,1"), expected);
}

#[test]
fn messages_per_entry_match_the_papers() {
    for n in [2, 3, 5, 9] {
        let entries = 2 * n;
        let total = |name: &str| {
            let run = data(&format!("simulate {name} -n {n} --entries 2 --latency 1..5 --seed 7"));
            assert_eq!(run["entries"]["total"], entries, "{name}, n = {n}");
            run["messages"]["total"].as_u64().unwrap()
        };
        assert_eq!(total("lamport"), 3 * (n - 1) * entries, "n = {n}");
        assert_eq!(total("ricart-agrawala"), 2 * (n - 1) * entries, "n = {n}");
        assert_eq!(total("central"), 3 * (entries - 2), "n = {n}: the coordinator's are free");
    }
}

#[test]
fn delays_match_the_comparison_table() {
    let delays = |line: &str| data(line)["delays"].clone();
    let alone = |name: &str| delays(&format!("simulate {name} --sequential 20"));
    let crowd = |name: &str| delays(&format!("simulate {name} --entries 2"));
    for name in ["lamport", "ricart-agrawala"] {
        assert_eq!(alone(name)["entry"]["max"], 2.0, "{name}: request and reply");
        assert_eq!(crowd(name)["synchronisation"]["max"], 1.0, "{name}: one message hands on");
    }
    assert_eq!(alone("central")["entry"]["max"], 2.0, "request and grant");
    assert_eq!(crowd("central")["synchronisation"]["max"], 2.0, "release and grant");
    let ring = crowd("token-ring");
    assert_eq!(ring["synchronisation"]["max"], 1.0, "the next on the ring waits already");
    assert_eq!(ring["exit"]["max"], 0.0);
}

#[test]
fn least_loaded_process_wins_with_ties_by_number() {
    let run = data("simulate chang-roberts --loads 50,25,25");
    assert_eq!((&run["ids"], &run["leaders"]), (&json!([1, 2, 3]), &json!([3])));
}

#[test]
fn election_cost_depends_on_starters_and_crashed_processes() {
    let run = data("simulate chang-roberts --ids 5,1,2,3,4 --initiators 2");
    assert_eq!(run["messages"]["total"], 14, "3N − 1: all the way to the largest, and two laps");
    let run = data("simulate bully --down 5 --initiators 1");
    assert_eq!(run["messages"]["total"], 20, "N(N − 1)");
    assert_eq!(run["leaders"], json!([4]));
    assert_eq!(run["elected"]["5"], Value::Null);
}

/// A process that has crashed before the election is not part of the ring. A later crash is a fault
/// of the run.
#[test]
fn ring_consists_of_live_processes() {
    let run = data("simulate chang-roberts -n 6 --down 6 --initiators 1");
    assert_eq!((&run["messages"]["total"], &run["leaders"]), (&json!(14), &json!([5])));
    let text = text("simulate chang-roberts -n 6 --down 6 --initiators 1", 0);
    assert!(text.contains("expected: exactly 14"), "{text}");
    for down in ["3", "1,6", "2,3,4", "1,2,3,4,5"] {
        for name in ["lelann", "hirschberg-sinclair", "dolev-klawe-rodeh", "franklin"] {
            let run = data(&format!("simulate {name} -n 6 --down {down}"));
            assert_eq!(run["blocked"], json!([]), "{name}, {down} down");
        }
    }
    let names = "repaired-chang-roberts";
    refused("simulate chang-roberts -n 6 --crash 6@1", &[names, "a process crashes"]);
    refused("simulate itai-rodeh -n 6 --down 6", &[names, "down from the start"]);
}

#[test]
fn equal_ranks_are_rejected_unless_allowed() {
    let line = "simulate chang-roberts -n 4 --ids 5,1,5,2";
    refused(line, &["rank 5 is given twice", "--beyond-assumptions"]);
    refused("check chang-roberts --ids 5,1,5", &["rank 5", "--beyond-assumptions"]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("equal.ndjson");
    let trace = format!("{line} --beyond-assumptions --trace {}", file.display());
    let run = data_with(&trace, 1);
    assert_eq!(
        (&run["leaders"], &run["verdicts"]["agreement"]),
        (&json!([5, 5]), &json!("violated"))
    );
    let drawn = text(&format!("trace diagram {}", file.display()), 0);
    assert!(drawn.contains("P1 leads") && drawn.contains("P3 leads"), "{drawn}");
    for over in ["simulator", "checker", "tcp"] {
        let again = text(&format!("trace replay {} --over {over}", file.display()), 1);
        assert!(again.contains("agreement violated again"), "{over}: {again}");
    }
}

/// Sent and received messages are counted separately. A lost message is sent and not received. A
/// duplicated message is received twice.
#[test]
fn received_messages_are_counted_separately() {
    let run = data("simulate lamport -n 4 --latency 1..5");
    assert_eq!(run["messages"]["received"], run["messages"]["total"]);
    let lossy = "simulate fifo:central -n 3 --entries 4 --lose 0.2 --duplicate 0.2";
    let messages = data(lossy)["messages"].clone();
    let of = |key: &str| messages[key].as_i64().unwrap();
    assert!(of("dropped") > 0 && of("duplicated") > 0, "{messages}");
    assert_eq!(of("received"), of("total") + of("duplicated") - of("dropped"), "{messages}");
    let compared = data("compare mutex --only central,lamport --runs 2");
    for row in compared["algorithms"].as_array().unwrap() {
        assert_eq!(row["received"]["mean"], row["total"]["mean"]);
    }
}

#[test]
fn many_runs_are_summarized_beside_the_first() {
    let first = data("simulate chang-roberts -n 8 --ids random --seed 3");
    let mut many = data("simulate chang-roberts -n 8 --ids random --seed 3 --runs 200");
    let total = many["summary"]["messages"]["total"].take();
    many.as_object_mut().unwrap().remove("summary");
    assert_eq!(many, first, "the other keys are those of the first run");
    // In theory, the mean is n·Hₙ + n, the minimum is 3n − 1, and the maximum is n(n + 1)/2 + n.
    let (mean, deviation) = (total["mean"].as_f64().unwrap(), total["stddev"].as_f64().unwrap());
    let theory = 8.0 * (1..=8).map(|i| 1.0 / f64::from(i)).sum::<f64>() + 8.0;
    let error = deviation / 200f64.sqrt();
    assert!((mean - theory).abs() < 4.0 * error, "{mean} ± {error}, not {theory}");
    assert!(deviation > 1.0, "rings are drawn anew");
    assert!(total["min"].as_f64().unwrap() >= 23.0 && total["max"].as_f64().unwrap() <= 44.0);
}

fn traced(directory: &Path, line: &str) -> String {
    let file = directory.join("trace.ndjson");
    text(&format!("{line} --trace {}", file.display()), 0);
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn traces_do_not_depend_on_the_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let line = "simulate ricart-agrawala -n 4 --entries 3 --latency exp:2 --hold 1..3 --runs 6";
    let trace = |options: &str| traced(directory.path(), &format!("{line} {options}"));
    let alone = trace("--threads 1");
    assert!(alone.lines().count() > 50, "{alone}");
    assert_eq!(alone, trace("--threads 2"));
    assert_ne!(alone, trace("--threads 1 --seed 2"), "another seed is another run");
    let printed = |threads: u32| text(&format!("{line} --threads {threads}"), 0);
    assert_eq!(printed(1), printed(2));
}

#[test]
fn trace_contains_its_command() {
    let directory = tempfile::tempdir().unwrap();
    let options = "--ids random --latency 1..4 --channel fifo --seed 9";
    let trace = traced(directory.path(), &format!("simulate chang-roberts -n 6 {options}"));
    let head: Value = serde_json::from_str(trace.lines().next().unwrap()).unwrap();
    let replay = head["replay"].as_str().expect("the head has the command");
    let again = traced(directory.path(), replay.strip_prefix("tenure ").unwrap());
    assert_eq!(trace, again);
    let file = directory.path().join("trace.ndjson");
    text(&format!("trace verify {}", file.display()), 0);
}

#[test]
fn violation_sets_the_exit_status_and_prints_a_command() {
    let line = "simulate lamport -n 3 --entries 3 --channel reordered --latency exp:5 \
                --hold 5 --runs 200 --beyond-assumptions";
    let found = data_with(line, 1);
    let violations = found["violations"].as_array().unwrap();
    let unsafe_ = violations.iter().find(|it| it["property"] == "mutual-exclusion").unwrap();
    for command in ["replay", "shrunk"] {
        let command = unsafe_[command].as_str().unwrap().strip_prefix("tenure ").unwrap();
        let again = data_with(command, 1);
        assert_eq!(again["verdicts"]["mutual-exclusion"], "violated", "{command}");
    }
    assert!(unsafe_["shrunk"].as_str().unwrap().contains("-n 2"), "{unsafe_}");
    let report = text(line, 1);
    assert!(report.contains("VIOLATED") && report.contains("again:  tenure simulate lamport"));
}

#[test]
fn only_promised_or_selected_properties_fail() {
    let line = "simulate central -n 3 --entries 4 --latency exp:8 --runs 50";
    data(line);
    let named = data_with(&format!("{line} --property bounded-bypass=1"), 1);
    let replay = named["violations"][0]["replay"].as_str().unwrap();
    assert!(replay.ends_with("--property bounded-bypass=1"), "{replay}");
    data_with(replay.strip_prefix("tenure ").unwrap(), 1);
}

#[test]
fn simulate_rejects_an_environment_outside_the_card() {
    refused("simulate lamport --channel reordered", &["order", "--beyond-assumptions"]);
    refused("simulate ricart-agrawala --lose 0.1", &["lost", "--beyond-assumptions"]);
    refused("simulate ricart-agrawala --crash 2@5", &["crash", "--beyond-assumptions"]);
    refused("simulate itai-rodeh --down 2", &["down", "--beyond-assumptions"]);
    refused("simulate bully --timing asynchronous", &["synchronous", "--beyond-assumptions"]);
    let run = data_with("simulate ricart-agrawala --crash 2@0.5 --beyond-assumptions", 1);
    assert_eq!(run["verdicts"]["starvation-freedom"], "violated");
    assert_eq!(run["verdicts"]["deadlock-freedom"], "violated");
    assert_eq!(run["blocked"], json!([1, 3, 4, 5]));
    data("simulate fifo:ricart-agrawala --lose 0.2 --duplicate 0.1 --latency 1..3");
}

#[test]
fn faults_are_counted_and_unused_ones_are_warnings() {
    let run = data("simulate fifo:lamport --entries 3 --lose 0.3 --seed 2");
    let faults = &run["faults"]["loss"];
    assert!(faults["injected"].as_u64().unwrap() > 0, "{faults}");
    assert_eq!(faults["injected"], faults["observed"]);
    assert_eq!(run["warnings"], Value::Null);
    let inert = "simulate bully --recover 5@10";
    let warnings = data(inert)["warnings"].to_string();
    assert!(warnings.contains("the recovery of P5 never occurred"), "{warnings}");
    let report = text(inert, 0);
    assert!(report.contains("warning") && report.contains("P5 never occurred"), "{report}");
    let line = "simulate fifo:central -n 3 --partition 1,2@1..20";
    let run = data(line);
    assert!(run["faults"]["partition"]["observed"].as_u64().unwrap() > 0, "{run}");
}

#[test]
fn crashes_can_be_placed_at_critical_steps() {
    let beyond = |line: &str| data_with(&format!("{line} --beyond-assumptions"), 1);
    let blocked = |line: &str| beyond(line)["blocked"].clone();
    let central = "simulate central -n 3 --crash";
    assert_eq!(blocked(&format!("{central} 2@inside:1+0.5")), json!([3]));
    assert_eq!(blocked(&format!("{central} 2@waiting")), json!([3]));
    assert_eq!(blocked(&format!("{central} 1@message:2")), json!([2, 3]));
    // A coordinator that forgets its state admits a second process; the output names a command that
    // shows this.
    let forgetful = "simulate central -n 3 --entries 0,3,3 --crash 1@3 --hold 5 --latency 1..4 \
                     --recover 1@+0.5:forgetful --runs 20";
    let found = beyond(forgetful);
    let violation = found["violations"].as_array().unwrap();
    let unsafe_ = violation.iter().find(|it| it["property"] == "mutual-exclusion").unwrap();
    let replay = unsafe_["replay"].as_str().unwrap();
    assert!(replay.contains("--crash 1@3 --recover 1@+0.5:forgetful"), "{replay}");
    data_with(replay.strip_prefix("tenure ").unwrap(), 1);
}

#[test]
fn workloads_are_open_hot_or_with_user_messages() {
    let hot = data("simulate ricart-agrawala -n 3 --hot 2:7");
    let order = hot["entries"]["order"].as_array().unwrap();
    let of = |process: u32| order.iter().filter(|entry| **entry == process).count();
    assert_eq!([of(1), of(2), of(3)], [1, 7, 1]);
    let hot = data("simulate central -n 3 --entries 2 --hot 3");
    assert_eq!(hot["entries"]["total"], 24);
    let open = data("simulate ricart-agrawala -n 2 --entries 5 --arrivals 100");
    assert_eq!(open["entries"]["total"], 10);
    assert!(open["finished_at"].as_f64().unwrap() >= 500.0, "{open}");
    let line = "simulate central -n 3 --entries 3 --think 0..20 --latency 1..9 --app-messages 1 \
                --runs 100 --property order-with-messages";
    let report = data_with(line, 1);
    assert!(report["violations"][0]["runs"].as_u64().unwrap() > 1, "{report}");
    let replay = report["violations"][0]["replay"].as_str().unwrap();
    assert!(replay.contains("--app-messages 1"), "{replay}");
    data_with(replay.strip_prefix("tenure ").unwrap(), 1);
}

#[test]
fn links_can_have_own_latency() {
    let entry = |links: &str| {
        let run = data(&format!("simulate central -n 2 --entries 0,1 {links}"));
        run["delays"]["entry"]["max"].as_f64().unwrap()
    };
    assert_eq!(entry(""), 2.0);
    assert_eq!(entry("--link-latency 2-1=5"), 6.0);
    assert_eq!(entry("--link-latency 2-1=5 --link-latency 1-2=0.5"), 5.5);
}

#[test]
fn partition_may_be_permanent() {
    let line = "simulate central -n 3 --partition 1,2@0.. --beyond-assumptions";
    assert_eq!(data_with(line, 1)["blocked"], json!([3]));
}

#[test]
fn idle_ring_runs_until_the_time_limit() {
    let run = data("simulate token-ring --entries 0 --until 100");
    assert_eq!(run["finished_at"], 100.0);
    assert!(run["messages"]["by_kind"]["token"].as_u64().unwrap() >= 49, "{run}");
    let status = data_with("simulate ricart-agrawala --entries 50 --until 20", 3);
    assert_eq!(status["verdicts"]["starvation-freedom"], "incomplete");
}

#[test]
fn invalid_input_is_rejected_with_the_remedy() {
    let chang = "simulate chang-roberts";
    refused(&format!("{chang} -n 0"), &["invalid number of processes 0", "1 to"]);
    refused(&format!("{chang} --ids 3,1,3"), &["rank 3 is given twice"]);
    refused(&format!("{chang} --ids 3,1 -n 3"), &["2 ranks for -n 3"]);
    refused(&format!("{chang} --ids 3,x"), &["'x'", "8,1,5"]);
    refused(
        &format!("{chang} --loads 50,0,25"),
        &["'50,0,25' for '--loads", "expected a load of 1 or more", "found '0'"],
    );
    refused(&format!("{chang} --ids 1,2 --loads 1,2"), &["--ids", "--loads"]);
    refused(&format!("{chang} --initiators 1,9"), &["P9", "P1 to P5"]);
    refused(
        &format!("{chang} --initiators 0"),
        &["invalid value '0' for '--initiators", "1 for P1"],
    );
    refused(&format!("{chang} --variant forward-last"), &["forward-last"]);
    refused(&format!("{chang} --property speed"), &["speed", "nearest are"]);
    refused("simulate paxoss", &["paxoss", "nearest are paxos"]);
    refused(
        "simulate maekawa --quorums circles",
        &[
            "invalid value 'circles' for '--quorums <NAME|FILE>'",
            "pairs, fpp, grid, majority",
            "or a file",
        ],
    );
    refused("simulate maekawa --quorums fpp -n 8", &["not 8"]);
    refused("simulate bully --down 6", &["--down", "P6", "P1 to P5"]);
    refused("simulate central --coordinator 7", &["--coordinator", "P7"]);
    refused("simulate central --partition 1,9@1..5", &["partition", "P9"]);
    refused("simulate central --partition 1@5..1", &["5..1", "swap"]);
    refused("simulate central --partition 1", &["1,2@10..50"]);
    refused("simulate central --crash 3", &["--crash", "3@10"]);
    refused("simulate bully --crash 6@1", &["crash", "P6"]);
    refused("simulate central --crash 3@soon", &["soon", "message:4", "inside:2"]);
    refused("simulate central --crash 3@message:0", &["message:0", "message:4"]);
    refused("simulate central --recover 3@+5", &["--recover 3@+", "--crash", "P3"]);
    refused("simulate central --recover 3@5:maybe", &["maybe", "3@50:forgetful"]);
    refused("simulate central --arrivals 2 --think 1", &["--arrivals", "--think"]);
    refused("simulate central --arrivals 2 --sequential 1", &["--arrivals", "--sequential"]);
    refused("simulate central --arrivals often", &["often", "exp:2"]);
    refused("simulate central --hot 9", &["--hot", "P9", "P1 to P5"]);
    refused("simulate central --hot 3 --entries 429496730", &["--hot 3", "--hot 3:50"]);
    refused(
        "simulate central --hot 3:x",
        &["invalid value '3:x' for '--hot <P[:K]>': expected a process and its entries: 3 or 3:50"],
    );
    refused("simulate central --app-messages 2", &["'2' for '--app-messages", "0 to 1"]);
    refused("simulate central --link-latency 1-9=2", &["--link-latency", "P9", "P1 to P5"]);
    refused("simulate central --link-latency 1=2", &["invalid value '1=2'", "1-2=5..9"]);
    refused("simulate central --link-latency 2-2=2", &["'2-2=2'", "two different"]);
    refused("simulate central -n 2000 --link-latency 1-2=2", &["--link-latency", "1000"]);
    refused("simulate central --lose 1.5", &["1.5", "0 to 1"]);
    refused("simulate central --duplicate -0.5", &["-0.5", "0 to 1"]);
    refused("simulate central --latency 3..1", &["3..1", "before it begins"]);
    refused("simulate central --think soon", &["soon", "exp:2"]);
    refused("simulate central --entries 1,1,1 -n 2", &["3 numbers", "2 processes"]);
    refused("simulate central --entries unbounded", &["tenure check"]);
    refused("simulate central --runs 0", &["'0' for '--runs <K>'", "at least 1"]);
    refused("simulate central --drift 1", &["drift", "below 1"]);
    refused("simulate central --gst 5", &["--gst", "--timing partial"]);
}

#[test]
fn invalid_comparison_is_rejected_with_the_remedy() {
    refused("compare locks", &["locks", "mutex"]);
    refused("compare mutex -n 0", &["invalid number of processes 0"]);
    refused("compare mutex --variant reference", &["--variant", "simulate"]);
    refused("compare election --ids 1,2 --plot x.svg", &["--plot", "--ids random"]);
}

#[test]
fn rejected_run_writes_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.ndjson");
    refused(&format!("simulate central --lose 0.5 --trace {}", file.display()), &["lost"]);
    assert!(!file.exists());
    let nowhere = directory.path().join("nowhere/trace.ndjson");
    let output = tenure(&format!("simulate central --trace {}", nowhere.display()));
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn tables_fit_a_hundred_columns_and_show_the_theory() {
    let lines = [
        "simulate ricart-agrawala -n 30 --entries 2",
        "simulate chang-roberts -n 9 --ids random --runs 100",
        "simulate fifo:coordinated:bully -n 4 --entries 2",
        "compare mutex -n 4 --entries 2 --runs 5",
        "compare election -n 6 --runs 5",
    ];
    for line in lines {
        let report = text(line, 0);
        for row in report.lines() {
            assert!(row.chars().count() <= 100, "{line}: {row}");
        }
    }
    let report = text("simulate ricart-agrawala -n 5", 0);
    assert!(report.contains("card: 2(N−1), here 8"), "{report}");
    assert!(report.contains("expected: exactly 8"), "{report}");
}

/// Simulates a lock that an elected leader grants. The links lose messages. The election tolerates
/// losses, but the lock does not repeat its messages. Therefore `tenure` rejects the run. With
/// `--beyond-assumptions`, the run fails. With reliable channels, the run succeeds.
#[test]
fn lock_at_a_leader_requires_reliable_channels() {
    let lossy = "coordinated:restarting-chang-roberts -n 3 --lose 0.1 --runs 10";
    refused(&format!("simulate {lossy}"), &["messages are lost", "fifo:"]);
    text(&format!("simulate {lossy} --beyond-assumptions"), 1);
    text(&format!("simulate fifo:{lossy}"), 0);
}

#[test]
fn compare_runs_all_algorithms_on_one_workload() {
    let table = data("compare mutex -n 5 --sequential 40 --runs 10");
    let find = |name: &str| {
        let all = table["algorithms"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    assert_eq!(find("lamport")["messages"]["mean"], 12.0);
    assert_eq!(find("ricart-agrawala")["messages"]["mean"], 8.0);
    assert_eq!(find("ricart-agrawala")["theory"]["expected"], 8.0);
    assert_eq!(find("maekawa")["broken"], json!([]));
    assert!(find("token-ring")["delays"]["entry"].as_f64().unwrap() > 0.0);
    // Lost messages block a ring; the comparison names a command that shows this.
    let lossy = data_with("compare election --lose 0.5 --runs 3 -n 3 --beyond-assumptions", 1);
    let ring = &lossy["algorithms"][0];
    assert_eq!((&ring["name"], &ring["broken"][0]), (&json!("lelann"), &json!("progress")));
    let replay = ring["replay"][0].as_str().unwrap();
    text(replay.strip_prefix("tenure ").unwrap(), 1);
}

#[test]
fn comparison_has_delays_order_and_bypass() {
    let line = "compare mutex -n 4 --entries 2 --runs 10 --latency 1..9 --think 0..20 \
                --app-messages 0.5";
    let table = data(line);
    let row = |name: &str| {
        let all = table["algorithms"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    // The lock of Suzuki and Kasami promises no order of requests, and violates it in some runs.
    let suzuki = row("suzuki-kasami");
    assert!(suzuki["violated"]["order-with-messages"].as_u64().unwrap() > 0, "{suzuki}");
    assert_eq!(suzuki["theory"]["order"], "no");
    assert_eq!(row("token-ring")["bypass_max"], 1.0, "no process enters twice while another waits");
    let report = text(line, 0);
    let head = report.lines().find(|line| line.starts_with("algorithm")).unwrap();
    for column in ["entry", "exit", "nisation", "bypass", "order", "broken"] {
        assert!(head.contains(column), "{column} in {head}");
    }
    assert!(report.lines().all(|line| line.chars().count() <= 100), "{report}");
    // Without messages between users, a lock that uses timestamps keeps the order.
    let quiet = data("compare mutex -n 4 --entries 2 --runs 10 --latency 1..9 --think 0..20");
    let lamport = &quiet["algorithms"][2];
    assert_eq!(
        (&lamport["name"], &lamport["violated"]["order"]),
        (&json!("lamport"), &json!(null))
    );
}

#[test]
fn comparison_lists_algorithms_excluded_by_their_card() {
    let table = data("compare mutex -n 3 --duplicate 0.2 --runs 3");
    let all = table["algorithms"].as_array().unwrap();
    let refused = |name: &str| {
        let row = all.iter().find(|it| it["name"] == name).unwrap();
        row["refused"].as_str().map(str::to_owned)
    };
    assert!(refused("token-ring").unwrap().contains("--beyond-assumptions"));
    assert_eq!(refused("central"), None, "its card allows duplicates");
}

#[test]
fn plot_has_a_curve_for_each_algorithm() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mutex.svg");
    text(&format!("compare mutex -n 4 --runs 1 --plot {}", file.display()), 0);
    let svg = std::fs::read_to_string(file).unwrap();
    for name in ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa"] {
        assert!(svg.contains(&format!(">{name}<")), "{name}");
    }
    for label in ["messages per entry", "delay from exit to entry [units]", "number of processes"] {
        assert!(svg.contains(&format!(">{label}<")), "{label}");
    }
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "every number is one");
}

#[test]
fn uncontended_theory_is_not_plotted_with_contended_measurements() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mutex.svg");
    let only = "compare mutex -n 4 --runs 1 --only edge-chasing --plot";
    text(&format!("{only} {}", file.display()), 0);
    let svg = std::fs::read_to_string(file).unwrap();
    let lines = svg.matches("<polyline class=\"theory\"").count();
    assert_eq!(lines, 1, "the fewest messages of an entry, and nothing of the delays");
}

/// Starts a command, and interrupts it once its trace has at least `after` bytes. Waits until the
/// command has ended.
fn interrupted(line: &str, trace: &Path, after: u64) -> Output {
    use rustix::process::{Pid, Signal, kill_process};
    let child = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(line.split_whitespace())
        .arg("--trace")
        .arg(trace)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = Killed(child.unwrap());
    // Once the command writes its trace, it has installed its signal handler.
    until(|| std::fs::metadata(trace).is_ok_and(|file| file.len() >= after));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait_with_output()
}

const ENDLESS: &str = "simulate token-ring --entries 0 --until 1000000000";

#[test]
fn interrupted_run_prints_partial_figures_and_a_readable_trace() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.ndjson");
    let output = interrupted(ENDLESS, &file, 1 << 22);
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{report}");
    assert!(
        report.contains("interrupted: partial figures") && report.contains("token"),
        "{report}"
    );
    assert!(report.contains("no theory for a partial run"), "no comparison with theory: {report}");
    text(&format!("trace verify {}", file.display()), 0);
    let trace = std::fs::read_to_string(&file).unwrap();
    assert!(trace.ends_with('\n') && trace.lines().count() > 1000);
    let whole = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    assert!(trace.lines().all(whole), "the last line is complete");
}

#[test]
fn interrupted_run_is_partial_in_json() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.ndjson");
    // An interrupt in the third run ends the command; the figures cover the earlier runs.
    let many = "simulate token-ring --entries 0 --until 100000 --runs 100000 --threads 1";
    for line in [ENDLESS, many] {
        let output = interrupted(&format!("{line} --format json"), &file, 1 << 22);
        assert_eq!(output.status.code(), Some(3), "{line}");
        let data: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(data["interrupted"], true, "{line}");
        assert!(data["messages"]["by_kind"]["token"].as_u64().unwrap() > 1000, "{line}");
        assert_eq!(data["summary"].is_object(), line == many);
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn group_larger_than_memory_is_rejected_in_one_line() {
    for (size, status, report) in [
        (2_000_000, 2, "2000000 processes do not fit into memory"),
        (100_000, 3, "0.5 GB, half of the memory that this process may use; try a smaller group"),
    ] {
        let script = "ulimit -v 1000000; exec \"$0\" simulate bully -n \"$1\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_tenure"), &size.to_string()]);
        assert_fails_with(&command.output().expect("a shell"), status, report);
    }
}
