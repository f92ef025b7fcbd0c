//! Measurements of a tool that runs in its own process.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct Finished {
    pub(crate) output: String,
    pub(crate) cpu_seconds: f64,
    pub(crate) wall_seconds: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    Missing,
    TimedOut,
    /// The tool was not run, because it has timed out in a smaller group of the same model.
    NotTried,
    /// The tool failed. The text has its exit status and its errors.
    Failed(String),
}

pub(crate) fn run(command: &mut Command, timeout: Duration) -> Result<Finished, Failure> {
    let started = Instant::now();
    let spawned =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::Missing,
        _ => Failure::Failed(error.to_string()),
    })?;
    let output = collected(child.stdout.take().expect("standard output is piped"));
    let errors = collected(child.stderr.take().expect("standard error is piped"));
    // An ended process keeps its CPU times until it is waited for.
    let mut cpu_seconds = 0.0;
    while let Some((state, seconds)) = state(&child) {
        cpu_seconds = seconds;
        if state == 'Z' {
            break;
        }
        if started.elapsed() > timeout {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::TimedOut);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let wall_seconds = started.elapsed().as_secs_f64();
    let status = child.wait().map_err(|error| Failure::Failed(error.to_string()))?;
    let output = output.join().expect("the output is read");
    let errors = errors.join().expect("the errors are read");
    if !status.success() {
        return Err(Failure::Failed(format!("{status}: {errors}")));
    }
    Ok(Finished { output, cpu_seconds: cpu_seconds.max(0.01), wall_seconds })
}

/// Reads a stream in a thread, so that the tool is never blocked.
fn collected(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the state of a child and its CPU time in seconds, in steps of 10 ms. Returns `None` if
/// the child does not exist. The time includes the processes that the child has started, for
/// example compilers, after they have ended.
fn state(child: &Child) -> Option<(char, f64)> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let ticks: f64 = fields.skip(10).take(4).filter_map(|it| it.parse::<f64>().ok()).sum();
    Some((state, ticks / 100.0))
}

/// Returns the resident memory of this process, current (`VmRSS:`) or peak (`VmHWM:`).
pub(crate) fn resident_bytes(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    let kilobytes = found.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) * 1024.0
}

/// Prints the line that [`explored`] reads: `first`, `second`, 1 if the property holds or 0 if not,
/// and the peak memory minus `memory_before`, in bytes.
pub(crate) fn report_explored(first: u64, second: u64, holds: bool, memory_before: f64) {
    let memory = resident_bytes("VmHWM:") - memory_before;
    println!("\nexplored {first} {second} {} {memory}", u8::from(holds));
}

pub(crate) struct Explored {
    pub(crate) first: u64,
    pub(crate) second: u64,
    pub(crate) holds: bool,
    pub(crate) memory: f64,
}

pub(crate) fn explored(output: &str) -> Option<Explored> {
    let line = output.lines().find_map(|line| line.strip_prefix("explored "))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let [first, second, holds, memory] = words[..] else { return None };
    Some(Explored {
        first: first.parse().ok()?,
        second: second.parse().ok()?,
        holds: holds == "1",
        memory: memory.parse().ok()?,
    })
}

pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe().expect("the path of this program")
}
