//! Damages traces and configurations at random. Every command that reads them ends with a
//! documented status, within 2 GiB of memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::running::{Ended, start, start_confined};
use crate::{attack, seeds};

/// Values that most fields of a trace or a configuration do not permit.
const INVALID_VALUES: [&str; 14] = [
    "0",
    "1",
    "-1",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551615",
    "1e308",
    "null",
    "\"\\u001b[2J\"",
    "[]",
    "{}",
    "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
];

const TRACE_COMMANDS: [&str; 9] = [
    "trace verify damaged.ndjson",
    "trace verify damaged.ndjson whole.ndjson --format json",
    "trace show damaged.ndjson --states",
    "trace diagram damaged.ndjson",
    "trace diagram damaged.ndjson --as svg",
    "trace diagram damaged.ndjson --as html",
    "trace export damaged.ndjson --as mermaid",
    "trace export damaged.ndjson --as shiviz",
    "trace replay damaged.ndjson",
];

/// Directory with complete traces, and the paths of these traces. The traces are created once for
/// all tests.
static UNDAMAGED_TRACES: LazyLock<(TempDir, Vec<PathBuf>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let mut traces = Vec::new();
    for (name, line) in [
        ("lock", "simulate lamport -n 3 --latency 1..4 --states"),
        ("office", "simulate coordinated:bully -n 3 --crash 3@40 --recover 3@80"),
        ("ring", "simulate chang-roberts -n 4"),
        ("found", "check ricart-agrawala -n 2 --variant clock-only-strict"),
    ] {
        let path = folder.path().join(name).with_extension("ndjson");
        let ended = start(&format!("{line} --trace {}", path.display())).wait();
        assert!(path.exists(), "{line}: {}", ended.last_output());
        traces.push(path);
    }
    (folder, traces)
});

const CONFIGURATION: &str = r#"version = 1
[cluster]
name = "attacked"
me = 1
addresses = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
[service]
mutex = "coordinated:bully"
election = "bully"
[detector]
period_ms = 50
timeout_ms = 400
[store]
directory = "node-1"
[trace]
file = "node-1.ndjson"
segment_kib = 64
[work]
resource = "127.0.0.1:4"
entries = 3
"#;

fn damage(rng: &mut Rng, text: &str) -> Vec<u8> {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for _ in 0..rng.usize(1..4) {
        let place = rng.usize(0..lines.len().max(1)) * usize::from(rng.u8(0..4) > 0);
        if place >= lines.len() {
            break;
        }
        match rng.u8(0..8) {
            0 => drop(lines.remove(place)),
            1 => lines.insert(place, lines[place].clone()),
            2 => {
                let other = rng.usize(0..lines.len());
                lines.swap(place, other);
            }
            3 if place == 0 => {
                lines[0] =
                    with_a_field(&lines[0], CHANGED_FIELDS[rng.usize(0..CHANGED_FIELDS.len())]);
            }
            _ => lines[place] = with_another_value(rng, &lines[place]),
        }
    }
    // A reader rejects a wrong record number at once. In half of the cases, the numbers are
    // corrected, so that the later checks of the reader are tested as well.
    if rng.bool() {
        number_records(&mut lines);
    }
    let mut bytes = lines.join("\n").into_bytes();
    bytes.push(b'\n');
    match rng.u8(0..6) {
        0 => bytes.truncate(rng.usize(0..=bytes.len())),
        1 => {
            let place = rng.usize(0..bytes.len());
            bytes[place] = rng.u8(..);
        }
        _ => {}
    }
    bytes
}

/// Sets the number of each record to its position. Keeps lines without a number unchanged.
fn number_records(lines: &mut [String]) {
    for (position, line) in lines.iter_mut().enumerate().skip(1) {
        let Some((start, rest)) = line.split_once("\"sequence\":") else { continue };
        let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        *line = format!("{start}\"sequence\":{position}{rest}");
    }
}

/// Fields of a trace's header, each with a value that would damage the trace. The undamaged traces
/// of the test contain none of these values.
const CHANGED_FIELDS: [(&str, &str); 8] = [
    ("ranks", "[{\"weight\":1,\"id\":1}]"),
    ("ranks", "[]"),
    ("most_inside", "0"),
    ("most_inside", "4294967295"),
    ("topology", "\"unidirectional-ring\""),
    ("repeats", "4294967295"),
    ("most_messages", "0"),
    ("most_bypass", "0"),
];

/// Returns the header with this field set to this value. Adds the field if the header lacks it.
/// Returns an unparsable header without changes.
fn with_a_field(header: &str, (name, value): (&str, &str)) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(header) else {
        return header.to_owned();
    };
    fields.insert(name.to_owned(), serde_json::from_str(value).unwrap());
    Value::Object(fields).to_string()
}

/// Replaces one of the numbers in a line by another number or by an invalid value.
fn with_another_value(rng: &mut Rng, line: &str) -> String {
    let digit = |place: usize| line.as_bytes()[place].is_ascii_digit();
    let begins = |place: &usize| digit(*place) && (*place == 0 || !digit(*place - 1));
    let numbers: Vec<usize> = (0..line.len()).filter(begins).collect();
    let Some(start) = rng.choice(numbers) else { return line.to_owned() };
    let length = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    let value = match rng.u8(0..3) {
        0 => rng.u64(0..9).to_string(),
        _ => INVALID_VALUES[rng.usize(0..INVALID_VALUES.len())].to_owned(),
    };
    format!("{}{value}{}", &line[..start], &line[start + length..])
}

fn check_status(line: &str, ended: &Ended) -> Result<(), String> {
    match ended.code {
        Some(0..=4) if !ended.err.contains("panicked") => Ok(()),
        _ => Err(format!("tenure {line}\n{}", ended.last_output())),
    }
}

fn read_damaged_trace(folder: &Path, seed: u64) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    let (_, traces) = &*UNDAMAGED_TRACES;
    let whole = &traces[rng.usize(0..traces.len())];
    let text = fs::read_to_string(whole).unwrap();
    fs::copy(whole, folder.join("whole.ndjson")).unwrap();
    fs::write(folder.join("damaged.ndjson"), damage(&mut rng, &text)).unwrap();
    let line = TRACE_COMMANDS[rng.usize(0..TRACE_COMMANDS.len())];
    check_status(line, &start_confined(folder, line).wait())
}

fn start_damaged_configuration(folder: &Path, seed: u64) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    fs::write(folder.join("node.toml"), damage(&mut rng, CONFIGURATION)).unwrap();
    let line = "node --config node.toml";
    // An undamaged configuration starts a node, which does not end by itself.
    let ended = start_confined(folder, line).wait_for(Duration::from_secs(2));
    if ended.has_timed_out && !ended.err.contains("panicked") {
        return Ok(());
    }
    check_status(line, &ended)
}

#[test]
fn damaged_files_end_commands_with_documented_statuses() {
    attack("files", seeds(0..24), |seed| {
        let folder = tempfile::tempdir().unwrap();
        if seed % 4 == 3 {
            start_damaged_configuration(folder.path(), seed)
        } else {
            read_damaged_trace(folder.path(), seed)
        }
    });
}

/// Changes each field of a trace's header in turn. Each command must end with a documented status.
/// Random changes might miss some fields.
#[test]
fn header_fields_end_commands_with_documented_statuses() {
    let (_, traces) = &*UNDAMAGED_TRACES;
    let folder = tempfile::tempdir().unwrap();
    // The headers of a trace of a lock and of a trace of an election.
    for whole in [&traces[0], &traces[2]] {
        let text = fs::read_to_string(whole).unwrap();
        let (header, records) = text.split_once('\n').unwrap();
        fs::copy(whole, folder.path().join("whole.ndjson")).unwrap();
        for field in CHANGED_FIELDS {
            let damage = format!("{}\n{records}", with_a_field(header, field));
            fs::write(folder.path().join("damaged.ndjson"), damage).unwrap();
            for line in TRACE_COMMANDS {
                let ended = start_confined(folder.path(), line).wait();
                check_status(line, &ended).unwrap_or_else(|message| panic!("{field:?}: {message}"));
            }
        }
    }
}

/// Control experiment: every command can read the undamaged files.
#[test]
fn undamaged_file_is_read() {
    let (folder, traces) = &*UNDAMAGED_TRACES;
    for trace in traces {
        let line = format!("trace verify {}", trace.display());
        let ended = start_confined(folder.path(), &line).wait();
        let violated = trace.ends_with("found.ndjson");
        assert_eq!(ended.code, Some(i32::from(violated)), "{}", ended.last_output());
    }
}
