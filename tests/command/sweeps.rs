//! Tests of sweeps, their files and plots, and the merging of their shards.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shell::{assert_fails_with, assert_refused, data, tenure, text};
use crate::skipped::report_skip;

/// Parses a CSV file without quoted cells. Returns a map for each line, from the names of the
/// columns to the cells.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned));
    let head: Vec<String> = lines.next().expect("a head").collect();
    lines.map(|cells| head.iter().cloned().zip(cells).collect()).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} is {:?}", row[column]))
}

/// Returns the figures of the run with this seed, from the JSON output of `tenure simulate` without
/// `--sweep`.
fn of_one_run(n: &str, latency: &str, seed: u64) -> BTreeMap<&'static str, f64> {
    let line = format!("simulate lamport -n {n} --entries 3 --latency {latency} --seed {seed}");
    let run = data(&line, 0);
    let at = |path: &str| run.pointer(path).and_then(Value::as_f64).expect("a number");
    BTreeMap::from([
        ("messages_per_entry", at("/messages/total") / at("/entries/total")),
        ("messages", at("/messages/total")),
        ("waiting_time", at("/delays/entry/mean")),
        ("longest_wait", at("/delays/entry/max")),
        ("duration", at("/finished_at")),
        ("bypass", at("/bypass_max")),
    ])
}

#[test]
fn csv_matches_single_runs() {
    const RUNS: u64 = 5;
    let line = "simulate lamport --sweep n=2..3 --sweep latency=1..9,exp:4 --seed 7";
    let rows = rows(&text(&format!("{line} --runs {RUNS} --format csv"), 0));
    for n in ["2", "3"] {
        for latency in ["1..9", "exp:4"] {
            let runs: Vec<_> = (7..7 + RUNS).map(|seed| of_one_run(n, latency, seed)).collect();
            for figure in runs[0].keys() {
                let is_wanted = |row: &&BTreeMap<String, String>| {
                    (&*row["n"], &*row["latency"], &*row["figure"]) == (n, latency, figure)
                };
                let row = rows.iter().find(is_wanted).expect("a row");
                let mut values: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
                values.sort_by(f64::total_cmp);
                let mean = values.iter().sum::<f64>() / RUNS as f64;
                let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
                let deviation = (squares / (RUNS - 1) as f64).sqrt();
                // Student's quantile for four degrees of freedom.
                let half = 2.78 * deviation / (RUNS as f64).sqrt();
                let expected = [
                    ("count", RUNS as f64),
                    ("mean", mean),
                    ("stddev", deviation),
                    ("ci95_low", mean - half),
                    ("ci95_high", mean + half),
                    ("min", values[0]),
                    ("p50", values[2]),
                    ("p90", values[4]),
                    ("max", values[4]),
                ];
                for (column, value) in expected {
                    let found = number(row, column);
                    let is_near = (found - value).abs() <= 1e-5 + value.abs() * 1e-3;
                    assert!(is_near, "n {n}, {latency}, {figure}, {column}: {found}, not {value}");
                }
                assert!((number(row, "mean") - mean).abs() < 1e-5, "{figure}");
                assert_eq!(
                    (&*row["violated"], &*row["incomplete"], &*row["entries"]),
                    ("0", "0", "3")
                );
            }
        }
    }
}

/// One run determines no deviation, so its confidence interval is undefined in every format.
#[test]
fn one_run_has_no_confidence_interval() {
    let line = "simulate lamport --sweep n=3..4 --runs 1";
    let shown = text(line, 0);
    assert!(shown.contains(" ± –") && !shown.contains(" ± 0"), "{shown}");
    assert!(shown.contains("± –: no confidence interval"), "{shown}");
    let csv = rows(&text(&format!("{line} --format csv"), 0));
    assert!(csv.len() > 2);
    for row in &csv {
        let undefined = ["ci95_low", "ci95_high", "stddev"].map(|column| &*row[column]);
        assert_eq!((&*row["count"], undefined), ("1", [""; 3]), "{row:?}");
        assert_eq!(number(row, "mean").total_cmp(&number(row, "max")), Ordering::Equal, "{row:?}");
    }
    let point = text(&format!("{line} --format jsonl"), 0);
    let point: Value = serde_json::from_str(point.lines().next().expect("a line")).expect("JSON");
    let messages = &point["figures"]["messages"];
    assert!(messages["ci95"].is_null() && messages["stddev"].is_null(), "{messages}");
    assert!(messages["mean"].is_number(), "{messages}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plot.svg");
    text(&format!("{line} --plot {}", file.display()), 0);
    let svg = std::fs::read_to_string(&file).expect("a plot");
    assert!(!svg.contains("95 %") && svg.contains("no confidence intervals"), "{svg}");

    let two = text("simulate lamport --sweep n=3..4 --runs 2", 0);
    assert!(!two.contains("± –"), "{two}");
}

#[test]
fn raw_runs_have_the_mean_of_the_sweep() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("raw.csv");
    let line = "compare mutex --only central,token-ring --sweep n=3 --runs 20 --format jsonl";
    let points = text(&format!("{line} --raw {}", file.display()), 0);
    let raw = rows(&std::fs::read_to_string(&file).expect("a file"));
    for point in points.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let name = point["algorithm"].as_str().expect("a name");
        let of_figure = raw.iter().filter(|row| row["algorithm"] == name);
        let values = of_figure.filter(|row| row["figure"] == "waiting_time");
        let values: Vec<f64> = values.map(|row| number(row, "value")).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let found = point["figures"]["waiting_time"]["mean"].as_f64().expect("a mean");
        assert!(values.len() == 20 && (found - mean).abs() < 1e-9, "{name}: {found}, not {mean}");
        assert_eq!(point["parameters"]["n"], 3);
    }
}

/// Runs the shard `number` of a sweep that is divided into `of` shards. Writes the results to a
/// file, and returns the path of the file.
fn shard(folder: &Path, line: &str, number: u64, of: u64) -> PathBuf {
    let file = folder.join(format!("part-{number}.jsonl"));
    let part = text(&format!("{line} --shard {number}/{of} --threads 1"), 0);
    std::fs::write(&file, part).expect("a file");
    file
}

fn merge(files: &[PathBuf], options: &str) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    format!("merge {options} {}", files.join(" "))
}

#[test]
#[ignore = "long: 6 s"]
fn merged_shards_equal_one_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "compare mutex --only central,suzuki-kasami --sweep n=2,3 --runs 1024";
    let mut files: Vec<_> = (1..=64).map(|at| shard(folder.path(), line, at, 64)).collect();
    for format in ["csv", "jsonl", "text"] {
        let whole = text(&format!("{line} --format {format}"), 0);
        assert_eq!(text(&merge(&files, &format!("--format {format}")), 0), whole);
    }
    let [one, other] = ["one.svg", "other.svg"].map(|name| folder.path().join(name));
    text(&format!("{line} --plot {}", one.display()), 0);
    files.reverse();
    files.push(files[9].clone());
    text(&merge(&files, &format!("--plot {}", other.display())), 0);
    let read = |path: &Path| std::fs::read_to_string(path).expect("a plot");
    assert_eq!(read(&one), read(&other), "in another order, and one shard twice");

    files.retain(|file| !file.ends_with("part-7.jsonl") && !file.ends_with("part-40.jsonl"));
    assert_fails_with(&tenure(&merge(&files, "")), 2, "shards 7, 40 of 64 are missing");
}

/// The documented script for GNU parallel produces the same bytes as a single process. The test
/// needs the Debian package `parallel`: `cargo test --test command -- --ignored gnu_parallel`.
#[test]
#[ignore = "needs GNU parallel"]
fn gnu_parallel_gives_the_bytes_of_one_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "compare mutex --only central,maekawa --sweep n=3,7 --runs 128";
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweeps/parallel.sh");
    let command = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("a folder");
    let path = format!("{}:{}", command.display(), std::env::var("PATH").unwrap_or_default());
    let mut run = std::process::Command::new(script);
    let run = run.current_dir(&folder).env("PATH", path).env("SWEEP", line);
    assert!(run.status().expect("a script").success());
    let merged = std::fs::read_to_string(folder.path().join("locks.csv")).expect("a file");
    assert_eq!(merged, text(&format!("{line} --format csv"), 0));
}

#[test]
fn invalid_parts_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        folder
    };
    let line = "simulate central --sweep n=2,3 --runs 4";
    let first = shard(&at("first"), line, 1, 2);
    let second = shard(&at("second"), line, 2, 2);
    let other = shard(&at("other"), "simulate central --sweep n=2,4 --runs 4", 2, 2);
    let finer = shard(&at("finer"), line, 2, 3);
    let whole = std::fs::read_to_string(&second).expect("a file");
    let (cut, changed) = (folder.path().join("cut"), folder.path().join("changed"));
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(&cut, lines[..2].join("\n") + "\n").expect("a file");
    let tampered = whole.replacen("\"max\":", "\"max\":1", 1);
    std::fs::write(&changed, tampered).expect("a file");
    for (file, message) in [
        (&other, "another command, `tenure simulate central --sweep n=2,4 --runs 4`"),
        (&finer, "expected one of 2 shards"),
        (&cut, "the shard did not end; run it again"),
    ] {
        let files = [first.clone(), file.clone()];
        assert_fails_with(&tenure(&merge(&files, "")), 2, message);
    }
    let twice = [first.clone(), second.clone(), changed];
    assert_fails_with(&tenure(&merge(&twice, "")), 2, "with other results");
    assert_fails_with(&tenure(&merge(&[first], "")), 2, "shard 2 of 2 is missing");
}

#[test]
fn plot_has_a_line_per_series_and_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plot.svg");
    let line = "compare mutex --only central,lamport,maekawa --sweep n=2..4 --sweep lose=0,0.0 \
                --runs 3 --beyond-assumptions";
    text(&format!("{line} --plot {}", file.display()), 0);
    let svg = std::fs::read_to_string(&file).expect("a plot");
    let document = roxmltree::Document::parse(&svg).expect("well-formed XML");
    let named = |name: &str| document.descendants().filter(|it| it.has_tag_name(name)).count();
    // Each of the two panels, messages and waiting times, has six series.
    let tag = |name: &'static str| ("http://www.w3.org/2000/svg", name);
    let lines = document.descendants().filter(|it| it.has_tag_name(tag("polyline")));
    let lines: Vec<_> = lines.collect();
    assert_eq!((lines.len(), named("polyline")), (12, 12));
    for line in lines {
        let points = line.attribute("points").expect("points");
        assert_eq!(points.split(' ').count(), 3, "{points}");
    }
    for part in [
        "number of processes, n",
        "messages per entry",
        "waiting time [units of time]",
        "tenure compare mutex",
        "95 % confidence",
    ] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn plots_are_converted() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, magic) in [("plot.png", &b"\x89PNG"[..]), ("plot.pdf", b"%PDF")] {
        let file = folder.path().join(name);
        let line = "simulate chang-roberts --ids random --sweep n=2..4 --runs 2";
        let output = tenure(&format!("{line} --plot {}", file.display()));
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        if report.contains("no font found") {
            report_skip("a font");
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{report}");
        let bytes = std::fs::read(&file).expect("a plot");
        assert!(bytes.starts_with(magic) && bytes.len() > 2000, "{name}: {} bytes", bytes.len());
    }
}

#[test]
fn variants_are_measured_beside_the_algorithm() {
    let line = "compare mutex --only lamport,ricart-agrawala+clock-only-defer,ricart-agrawala \
                --sweep n=3 --runs 20 --format jsonl";
    let output = tenure(line);
    let points = String::from_utf8(output.stdout).expect("text");
    let points = points.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let points: Vec<Value> = points.collect();
    let names: Vec<&str> = points.iter().filter_map(|it| it["algorithm"].as_str()).collect();
    assert_eq!(names, ["lamport", "ricart-agrawala", "ricart-agrawala+clock-only-defer"]);
    let alone = data("simulate ricart-agrawala+clock-only-defer -n 3", 1);
    let option = data("simulate ricart-agrawala --variant clock-only-defer -n 3", 1);
    assert_eq!(alone, option);
    assert_fails_with(&tenure("compare mutex --only lamport+no-such"), 2, "no-such");
}

#[test]
fn invalid_sweeps_are_refused() {
    for (line, message) in [
        ("simulate central --sweep m=3", "unknown parameter 'm'"),
        ("simulate central -n 5 --sweep n=3..4", "--nodes and --sweep n exclude each other"),
        ("simulate central --sweep n=3 --sweep n=4", "--sweep n is given twice"),
        ("simulate central --sweep n=0,3 --sweep entries=1..200001", "10001 values"),
        ("simulate central --shard 5/4", "expected I/N"),
        ("simulate central --shard 1/4 --format csv", "--format"),
        ("simulate central --sweep n=3 --plot x.gif", ".svg, .png or .pdf"),
        ("simulate central --sweep n=3 --trace x.ndjson", "--trace does not apply"),
        ("simulate central --plot x.svg", "--sweep"),
        ("compare mutex --faults --sweep n=3", "--faults has no measurements"),
        ("simulate central --sweep n=0", "invalid number of processes 0"),
        (
            "simulate central --arrivals 5 --sweep think=0,5",
            "--arrivals and --sweep think exclude each other",
        ),
        (
            "simulate central --sequential 9 --sweep entries=1,2",
            "--sweep entries and --sequential exclude each other",
        ),
        (
            "simulate central --hot 3 --sweep sequential=10,20",
            "--hot and --sweep sequential exclude each other",
        ),
        (
            "simulate central --sweep think=1,2 --sweep arrivals=5",
            "--sweep arrivals and --sweep think exclude each other",
        ),
    ] {
        assert_refused(line, &[message]);
    }
    // A point that cannot be measured is a line with the reason.
    let rows = text("simulate maekawa --quorums fpp --sweep n=4,7 --runs 2 --format csv", 0);
    let refused = rows.lines().find(|line| line.starts_with("maekawa,4,")).expect("a line");
    assert!(refused.ends_with(|it: char| it != ',') && rows.contains("maekawa,7,3,1..9,0,"));
}
