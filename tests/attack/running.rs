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
    /// True if the command was still running at the time limit.
    pub(crate) has_timed_out: bool,
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
        let mut status = self.child.try_wait().unwrap();
        while status.is_none() && started.elapsed() < time_limit {
            sleep(Duration::from_millis(5));
            status = self.child.try_wait().unwrap();
        }
        let text = |name: &str| fs::read(self.output.path().join(name)).unwrap();
        let text = |name: &str| String::from_utf8_lossy(&text(name)).into_owned();
        let code = status.and_then(|status| status.code());
        Ended { code, has_timed_out: status.is_none(), out: text("out"), err: text("err") }
    }
}

impl Ended {
    /// Returns the last part of the command's output, for error messages.
    pub(crate) fn last_output(&self) -> String {
        let tail = |text: &str| {
            let lines: Vec<_> = text.lines().collect();
            lines[lines.len().saturating_sub(12)..].join("\n")
        };
        let end = match self.code {
            Some(code) => format!("status {code}"),
            None if self.has_timed_out => "timed out".to_owned(),
            None => "ended by a signal".to_owned(),
        };
        format!("{end}\n{}\n{}", tail(&self.out), tail(&self.err))
    }
}
