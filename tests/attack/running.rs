//! Commands that tests start, and that always end with the test.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::killed::Killed;

const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Limit on the address space of a command that reads files, in KiB: 2 GiB.
const CAPACITY: u32 = 2 << 20;

/// A running command. It writes its output to files, and therefore never blocks on a full pipe.
pub(crate) struct Running {
    pub(crate) child: Killed,
    output: TempDir,
}

#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit status; `None` if a signal or the time limit ended the command.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn of(mut command: Command) -> Running {
    let output = tempfile::tempdir().unwrap();
    let file = |name: &str| File::create(output.path().join(name)).unwrap();
    let child = command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
    Running { child: Killed(child.spawn().unwrap()), output }
}

pub(crate) fn start(line: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line.split_whitespace());
    of(command)
}

/// Starts `tenure` with this command line in a folder, and with 2 GiB of address space.
pub(crate) fn start_confined(folder: &Path, line: &str) -> Running {
    let mut command = Command::new("sh");
    command.current_dir(folder).arg("-c").arg(format!("ulimit -v {CAPACITY}; exec \"$0\" \"$@\""));
    command.arg(env!("CARGO_BIN_EXE_tenure")).args(line.split_whitespace());
    of(command)
}

impl Running {
    /// Waits until the command has ended. Kills it after the time limit.
    pub(crate) fn wait(self) -> Ended {
        self.wait_for(TIME_LIMIT)
    }

    pub(crate) fn wait_for(mut self, time_limit: Duration) -> Ended {
        let started = Instant::now();
        let mut code = None;
        while started.elapsed() < time_limit {
            if let Some(status) = self.child.try_wait().unwrap() {
                code = status.code();
                break;
            }
            sleep(Duration::from_millis(5));
        }
        let text = |name: &str| fs::read(self.output.path().join(name)).unwrap();
        let text = |name: &str| String::from_utf8_lossy(&text(name)).into_owned();
        Ended { code, out: text("out"), err: text("err") }
    }
}

impl Ended {
    /// Returns the last part of the command's output, for error messages.
    pub(crate) fn last_output(&self) -> String {
        let tail = |text: &str| {
            let lines: Vec<_> = text.lines().collect();
            lines[lines.len().saturating_sub(12)..].join("\n")
        };
        format!("status {:?}\n{}\n{}", self.code, tail(&self.out), tail(&self.err))
    }
}
