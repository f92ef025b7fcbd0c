//! Commands that are started, waited for, and never left behind.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Nothing here takes that long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// The address space that a command which reads files has: 2 GiB, in KiB.
const ROOM: u32 = 2 << 20;

/// A command under way, its output in files so that it never waits for a reader.
pub(crate) struct Running {
    pub(crate) child: Child,
    output: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// None where a signal ended it, or where it had to be killed.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn of(mut command: Command) -> Running {
    let output = tempfile::tempdir().unwrap();
    let file = |name: &str| File::create(output.path().join(name)).unwrap();
    let child = command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
    Running { child: child.spawn().unwrap(), output }
}

/// Starts the command.
pub(crate) fn start(line: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line.split_whitespace());
    of(command)
}

/// Starts the command in a room of 2 GiB.
pub(crate) fn start_confined(folder: &Path, line: &str) -> Running {
    let mut command = Command::new("sh");
    command.current_dir(folder).arg("-c").arg(format!("ulimit -v {ROOM}; exec \"$0\" \"$@\""));
    command.arg(env!("CARGO_BIN_EXE_tenure")).args(line.split_whitespace());
    of(command)
}

impl Running {
    /// Waits for the end; kills what hangs.
    pub(crate) fn wait(self) -> Ended {
        self.wait_for(PATIENCE)
    }

    pub(crate) fn wait_for(mut self, patience: Duration) -> Ended {
        let begun = Instant::now();
        let mut code = None;
        while begun.elapsed() < patience {
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

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The end of what it said, for whoever looks for what was wrong.
    pub(crate) fn last_words(&self) -> String {
        let tail = |text: &str| {
            let lines: Vec<_> = text.lines().collect();
            lines[lines.len().saturating_sub(12)..].join("\n")
        };
        format!("status {:?}\n{}\n{}", self.code, tail(&self.out), tail(&self.err))
    }
}
