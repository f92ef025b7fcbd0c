//! Commands that tests run.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::waiting::{TIME_LIMIT, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A running command. It writes its output to files, and therefore never blocks on a full pipe.
pub(crate) struct Running {
    child: Child,
    output: TempDir,
}

impl Running {
    /// Starts `tenure` with this command line. The temporary files of the command are removed when
    /// this value is dropped.
    pub(crate) fn start(line: &str) -> Running {
        let output = tempfile::tempdir().unwrap();
        let temporary = output.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        Running::spawn(output, &temporary, line)
    }

    /// Starts `tenure` with this command line. The command writes temporary files to the directory
    /// `temporary`.
    pub(crate) fn start_in(temporary: &Path, line: &str) -> Running {
        Running::spawn(tempfile::tempdir().unwrap(), temporary, line)
    }

    fn spawn(output: TempDir, temporary: &Path, line: &str) -> Running {
        let file = |name: &str| File::create(output.path().join(name)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(line.split_whitespace())
            .env("TMPDIR", temporary)
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .unwrap();
        Running { child, output }
    }

    /// Returns the output of the command so far. `name` is `out` for standard output and `err` for
    /// standard error.
    pub(crate) fn output(&self, name: &str) -> String {
        fs::read_to_string(self.output.path().join(name)).unwrap()
    }

    /// Waits until the command has printed the URL of its page, and returns the URL.
    pub(crate) fn page(&self) -> String {
        let url = |text: &str| {
            let start = text.find("http://")?;
            let rest = &text[start..];
            Some(rest[..rest.find([' ', '\n', '"'])?].to_owned())
        };
        eventually("the address of a page", || {
            url(&self.output("err")).or_else(|| url(&self.output("out")))
        })
    }

    pub(crate) fn ended(&mut self) -> Ended {
        let status = eventually("the end of the command", || self.child.try_wait().unwrap());
        Ended { status, out: self.output("out"), err: self.output("err") }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Running {
    /// Interrupts the command, which then shuts down its nodes. If the command were killed, nodes
    /// could keep running. Kills it only after the time limit.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::INT);
            let started = Instant::now();
            while let Ok(None) = self.child.try_wait()
                && started.elapsed() < TIME_LIMIT
            {
                sleep(Duration::from_millis(10));
            }
            let _ = (self.child.kill(), self.child.wait());
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) fn tenure(line: &str) -> Ended {
    Running::start(line).ended()
}

/// Executes `tenure run` with these options, and returns the report. Asserts that the exit status
/// is `code`.
#[track_caller]
pub(crate) fn run_report(line: &str, code: i32) -> Value {
    tenure(&format!("run --format json {line}")).expect(code).json()
}
