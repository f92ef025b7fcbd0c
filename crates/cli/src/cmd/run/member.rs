//! One node as a child process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tenure_core::ProcessId;
use tenure_daemon::{Line, Report};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::schedule::Target;

/// What a node is told on its command line and where it leaves what it has to say.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) config: PathBuf,
    pub(super) log: PathBuf,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Started, but not ready yet.
    Booting,
    /// It takes part.
    Running,
    /// Suspended.
    Stopped,
    /// Asked to end.
    Leaving,
    /// Killed, or not started yet.
    Down,
}

/// A node: a process that is started, hurt, started again and ended.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) process: ProcessId,
    pub(super) life: Life,
    /// Which boot this is, from 1.
    pub(super) boot: u32,
    /// The session that the node counted for this boot.
    pub(super) session: u64,
    /// Whether its work is done.
    pub(super) done: bool,
    /// The term and the leader it was told of last.
    pub(super) belief: Option<(u64, u32)>,
    /// Entries of this boot, as far as it reported them.
    pub(super) entries: u64,
    /// Entries of the boots before.
    pub(super) entries_before: u64,
    /// How far its log has come, as far as it reported that.
    pub(super) known: Known,
    /// What it was when it was killed, where that decided whom the kill was for.
    pub(super) killed_as: Option<Target>,
    /// Whether it was killed before it was heard of in this boot. Then it may have begun a session
    /// of its own or not: if it has, the next one says that it crashed, and otherwise it was down
    /// all the while, and the next one has the same number.
    pub(super) fell_unseen: bool,
    files: Files,
    child: Option<Child>,
    /// The node lives as long as this is open.
    lifeline: Option<ChildStdin>,
}

/// What is known of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// How many entries it has.
    pub(super) stored: u64,
    /// How many of them its node knows to be committed.
    pub(super) committed: u64,
    /// The terms of the last ones.
    pub(super) last_terms: Vec<u64>,
}

/// Something from a node.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) process: ProcessId,
    pub(super) boot: u32,
    pub(super) what: What,
}

/// What was heard.
#[derive(Debug)]
pub(super) enum What {
    /// It reported.
    Said(Report),
    /// It printed something else.
    Mumbled(String),
    /// It says no more: it has ended, or is about to.
    Ended,
}

impl Member {
    pub(super) fn new(process: ProcessId, files: Files) -> Self {
        Member {
            process,
            life: Life::Down,
            boot: 0,
            session: 0,
            done: false,
            belief: None,
            entries: 0,
            entries_before: 0,
            known: Known::default(),
            killed_as: None,
            fell_unseen: false,
            files,
            child: None,
            lifeline: None,
        }
    }

    /// Starts the process; what it says goes to `heard`.
    pub(super) fn start(
        &mut self,
        program: &Path,
        heard: &UnboundedSender<Heard>,
    ) -> io::Result<()> {
        let log = File::options().create(true).append(true).open(&self.files.log)?;
        let mut child = Command::new(program)
            .arg("node")
            .arg("--config")
            .arg(&self.files.config)
            .arg("--parent")
            .arg(std::process::id().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // A Ctrl-C at the terminal is for the parent alone.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        self.boot += 1;
        // What the store will count; the node tells when it is ready.
        self.session += 1;
        self.life = Life::Booting;
        (self.done, self.belief, self.killed_as) = (false, None, None);
        self.fell_unseen = false;
        self.entries_before += std::mem::take(&mut self.entries);
        self.known = Known::default();
        self.lifeline = child.stdin.take();
        if let Some(out) = child.stdout.take() {
            tokio::spawn(listen(out, self.process, self.boot, heard.clone()));
        }
        self.child = Some(child);
        Ok(())
    }

    /// Whether there is a process, suspended or not.
    pub(super) fn is_up(&self) -> bool {
        self.life != Life::Down
    }

    /// Kills the process, and does not wait until it is gone: for whoever kills several at once.
    pub(super) fn strike(&mut self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Kills the process and waits until it is gone.
    pub(super) async fn kill(&mut self) -> io::Result<()> {
        self.life = Life::Down;
        let killed = match &mut self.child {
            Some(child) => child.kill().await,
            None => Ok(()),
        };
        // Not before: it would end in order, if it noticed in time.
        self.lifeline = None;
        killed
    }

    /// Asks the process to leave, as a service manager would.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        self.signal(Signal::TERM)?;
        self.life = Life::Leaving;
        Ok(())
    }

    /// Suspends the process.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        self.life = Life::Stopped;
        Ok(())
    }

    /// Resumes the process.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.signal(Signal::CONT)?;
        self.life = Life::Running;
        Ok(())
    }

    /// Asks the process to end, which a suspended one could not hear.
    pub(super) fn dismiss(&mut self) {
        if self.life == Life::Stopped {
            let _ = self.resume();
        }
        self.lifeline = None;
    }

    /// Waits until the process has ended; kills it when that takes too long. Nothing if there is
    /// none, or if it was killed before.
    pub(super) async fn ended(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let Some(child) = self.child.as_mut().filter(|_| self.life != Life::Down) else {
            return Ok(None);
        };
        let status = match timeout(patience, child.wait()).await {
            Ok(status) => Some(status?),
            Err(_) => {
                child.kill().await?;
                None
            }
        };
        self.life = Life::Down;
        Ok(status)
    }

    /// The last of its log, for whoever asks why it ended: a panic's message, or the last line.
    pub(super) fn last_words(&self) -> Option<String> {
        let log = fs::read_to_string(&self.files.log).ok()?;
        let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
        match lines.clone().position(|line| line.contains("panicked at")) {
            Some(place) => lines.nth(place + 1).map(|says| format!("it panicked: {says}")),
            None => lines.next_back().map(str::to_string),
        }
    }

    /// Signals our own child and nobody else: its number is ours until we have waited for it.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = self.child.as_ref().and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        match id.and_then(Pid::from_raw) {
            Some(pid) => Ok(kill_process(pid, signal)?),
            None => Ok(()),
        }
    }
}

/// Passes on what a node prints.
async fn listen(out: ChildStdout, process: ProcessId, boot: u32, heard: UnboundedSender<Heard>) {
    let mut lines = BufReader::new(out).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let what = match serde_json::from_str(&line) {
            Ok(Line { report, .. }) => What::Said(report),
            Err(_) => What::Mumbled(line),
        };
        if heard.send(Heard { process, boot, what }).is_err() {
            return;
        }
    }
    let _ = heard.send(Heard { process, boot, what: What::Ended });
}
