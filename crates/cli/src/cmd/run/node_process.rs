//! A child process that runs `tenure node`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tenure_core::ProcessId;
use tenure_daemon::{NodeEvent, NodeEventLine};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::schedule::FaultTarget;

#[derive(Clone, Debug)]
pub(super) struct NodeFiles {
    pub(super) config: PathBuf,
    pub(super) log: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeState {
    /// The process was started, but has not reported that it is ready.
    Booting,
    /// The node has reported that it is ready.
    Running,
    /// Suspended by SIGSTOP.
    Suspended,
    /// The node was asked by SIGTERM to leave the cluster, and may still run.
    Leaving,
    /// The node was killed, has ended, or was never started.
    Down,
}

#[derive(Debug)]
pub(super) struct NodeProcess {
    pub(super) process: ProcessId,
    pub(super) state: NodeState,
    /// Number of starts of this node so far; 0 before the first start.
    pub(super) boot_count: u32,
    /// Session number of the node in its present boot. Until the node reports this number, the
    /// field contains the expected number, which is one higher than that of the boot before.
    pub(super) session: u64,
    /// True if the node has reported in its present boot that its workload is complete.
    pub(super) is_workload_complete: bool,
    /// Term and process number of the leader that this node has reported in its present boot.
    /// `None` if the node knows no leader.
    pub(super) reported_leader: Option<(u64, u32)>,
    /// Number of critical-section entries that the node has reported in its present boot.
    pub(super) entries: u64,
    /// Number of critical-section entries that the node reported in its earlier boots.
    pub(super) entries_of_earlier_boots: u64,
    /// Target, such as `leader`, of the scheduled action that killed this node or asked this node
    /// to leave. `None` if there was no such action since the last start of the node.
    pub(super) ended_by: Option<FaultTarget>,
    /// True if the node was killed while it booted, before it reported its session number. The run
    /// then does not know whether the session had started. The crash is recorded at the end of the
    /// run, and only if the node never boots again.
    pub(super) was_killed_while_booting: bool,
    files: NodeFiles,
    child: Option<Child>,
    /// Standard input of the node. The node shuts down when this pipe is closed.
    lifeline: Option<ChildStdin>,
}

/// One output of a node. `boot` is the value of [`NodeProcess::boot_count`] when the node was
/// started.
#[derive(Debug)]
pub(super) struct NodeOutputMessage {
    pub(super) process: ProcessId,
    pub(super) boot: u32,
    pub(super) output: NodeOutput,
}

#[derive(Debug)]
pub(super) enum NodeOutput {
    Report(NodeEvent),
    /// A line that is not a report.
    Invalid(String),
    /// End of the output: the node has ended or is about to end.
    Ended,
}

impl NodeProcess {
    pub(super) fn new(process: ProcessId, files: NodeFiles) -> Self {
        NodeProcess {
            process,
            state: NodeState::Down,
            boot_count: 0,
            session: 0,
            is_workload_complete: false,
            reported_leader: None,
            entries: 0,
            entries_of_earlier_boots: 0,
            ended_by: None,
            was_killed_while_booting: false,
            files,
            child: None,
            lifeline: None,
        }
    }

    pub(super) fn start(
        &mut self,
        program: &Path,
        messages: &UnboundedSender<NodeOutputMessage>,
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
            // With a process group of its own, the node does not receive Ctrl-C at the terminal.
            // Only the parent handles Ctrl-C.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        self.boot_count += 1;
        // This is the expected session number. The node reports the real number when it is ready.
        self.session += 1;
        self.state = NodeState::Booting;
        (self.is_workload_complete, self.reported_leader, self.ended_by) = (false, None, None);
        self.was_killed_while_booting = false;
        self.entries_of_earlier_boots += std::mem::take(&mut self.entries);
        self.lifeline = child.stdin.take();
        if let Some(out) = child.stdout.take() {
            tokio::spawn(forward_output(out, self.process, self.boot_count, messages.clone()));
        }
        self.child = Some(child);
        Ok(())
    }

    /// Returns true if the process was started and has not been seen to end. The process may be
    /// suspended.
    pub(super) fn is_up(&self) -> bool {
        self.state != NodeState::Down
    }

    /// Sends SIGKILL and does not wait for the end of the process, so that the caller can kill
    /// several processes at once.
    pub(super) fn send_kill(&mut self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Kills the process and waits until it has ended. Does nothing if the process was never
    /// started.
    pub(super) async fn kill(&mut self) -> io::Result<()> {
        self.state = NodeState::Down;
        let killed = match &mut self.child {
            Some(child) => child.kill().await,
            None => Ok(()),
        };
        // Closes the standard input after the kill. If the input were closed before, the node would
        // shut down in an orderly way.
        self.lifeline = None;
        killed
    }

    /// Sends SIGTERM, which asks the node to leave the cluster.
    pub(super) fn request_leave(&mut self) -> io::Result<()> {
        self.signal(Signal::TERM)?;
        self.state = NodeState::Leaving;
        Ok(())
    }

    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        self.state = NodeState::Suspended;
        Ok(())
    }

    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.signal(Signal::CONT)?;
        self.state = NodeState::Running;
        Ok(())
    }

    /// Resumes the process if it is suspended, and closes its standard input, so that it shuts
    /// down.
    pub(super) fn request_shutdown(&mut self) {
        if self.state == NodeState::Suspended {
            let _ = self.resume();
        }
        self.lifeline = None;
    }

    /// Waits until the process has ended, and kills it after the time `limit`. Returns `None` if
    /// the process was down before the call or was killed by this call.
    pub(super) async fn wait_or_kill(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let Some(child) = self.child.as_mut().filter(|_| self.state != NodeState::Down) else {
            return Ok(None);
        };
        let status = match timeout(limit, child.wait()).await {
            Ok(status) => Some(status?),
            Err(_) => {
                child.kill().await?;
                None
            }
        };
        self.state = NodeState::Down;
        Ok(status)
    }

    /// Returns the message of the first panic in the log of the node. Without a panic, returns the
    /// last line of the log. Returns `None` if the log is empty or cannot be read.
    pub(super) fn panic_or_last_line(&self) -> Option<String> {
        let log = fs::read_to_string(&self.files.log).ok()?;
        let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
        match lines.clone().position(|line| line.contains("panicked at")) {
            Some(place) => lines.nth(place + 1).map(|message| format!("it panicked: {message}")),
            None => lines.next_back().map(str::to_string),
        }
    }

    /// Sends a signal to the child. Does nothing if there is no child or the child was reaped,
    /// because its process ID may then belong to another process.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = self.child.as_ref().and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        match id.and_then(Pid::from_raw) {
            Some(pid) => Ok(kill_process(pid, signal)?),
            None => Ok(()),
        }
    }
}

/// Sends each line of the output of a node to `messages`, and then the end of the output.
async fn forward_output(
    out: ChildStdout,
    process: ProcessId,
    boot: u32,
    messages: UnboundedSender<NodeOutputMessage>,
) {
    let mut lines = BufReader::new(out).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let output = match serde_json::from_str(&line) {
            Ok(NodeEventLine { report, .. }) => NodeOutput::Report(report),
            Err(_) => NodeOutput::Invalid(line),
        };
        if messages.send(NodeOutputMessage { process, boot, output }).is_err() {
            return;
        }
    }
    let _ = messages.send(NodeOutputMessage { process, boot, output: NodeOutput::Ended });
}
