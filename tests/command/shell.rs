//! Functions that run `tenure` as a script does.

use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) fn tenure(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line.split_whitespace()).output().expect("the command starts")
}

/// Asserts that a command has ended with this status, and that it has printed one line with this
/// text to standard error.
#[track_caller]
pub(crate) fn assert_fails_with(ended: &Output, status: i32, message: &str) {
    let report = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(status), "{message}: {report}");
    assert!(report.contains(message) && is_concise(&report), "{message}: {report}");
}

/// Asserts that a command line is rejected, and that the error contains all of these words. The
/// command must print nothing else.
#[track_caller]
pub(crate) fn assert_refused(line: &str, words: &[&str]) {
    let output = tenure(line);
    let report = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {report}");
    assert!(is_concise(&report) && output.stdout.is_empty(), "{line}: {report}");
    for word in words {
        assert!(report.contains(word), "{line}: “{word}” is not in {report}");
    }
}

/// Returns true if the text is an error in one line, or an error in the form of the command-line
/// parser.
pub(crate) fn is_concise(report: &str) -> bool {
    report.starts_with("error: ") || report.trim_end().lines().count() == 1
}

/// Runs a command line and returns its standard output. Asserts the exit status.
#[track_caller]
pub(crate) fn text(line: &str, status: i32) -> String {
    let output = tenure(line);
    let report = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{line}: {report}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs a command line and returns its output, parsed as JSON. Asserts the exit status.
#[track_caller]
pub(crate) fn data(line: &str, status: i32) -> Value {
    let text = text(&format!("{line} --format json"), status);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}"))
}

const LIMIT: Duration = Duration::from_secs(120);

/// Waits until a process has used a quarter of a second of processor time.
#[track_caller]
pub(crate) fn has_computed(process: u32) {
    /// A quarter of a second of processor time, in the unit of `/proc`.
    const TICKS: u64 = 25;
    let started = Instant::now();
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name of the program may contain spaces. The time in user mode is the field 14.
        stat.rsplit(") ").next()?.split(' ').nth(11)?.parse::<u64>().ok()
    };
    if !cfg!(target_os = "linux") {
        return sleep(Duration::from_secs(2));
    }
    while ticks().is_none_or(|ticks| ticks < TICKS) {
        assert!(started.elapsed() < LIMIT, "it does not compute");
        sleep(Duration::from_millis(10));
    }
}

/// Waits until a process has installed a handler for a signal. Until then, the signal would end the
/// process.
#[track_caller]
pub(crate) fn handles(process: u32, signal: rustix::process::Signal) {
    let started = Instant::now();
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        (mask >> (signal.as_raw() - 1) & 1 == 1).then_some(())
    };
    while cfg!(target_os = "linux") && caught().is_none() {
        assert!(started.elapsed() < LIMIT, "no handler for {signal:?}");
        sleep(Duration::from_millis(10));
    }
}
