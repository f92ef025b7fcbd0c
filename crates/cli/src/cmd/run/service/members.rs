//! The members of the lock service, which run as child processes.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process};
use tenure_core::ProcessId;
use tenure_runtime::ports::ReservedPorts;
use tenure_trace::unix_time_nanos;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::plan::{FaultAction, ServiceRunPlan};
use super::slow_disk::SlowDisk;
use crate::cmd::failure::Failure;
use crate::cmd::run::link_proxies::LinkProxies;
use crate::cmd::run::schedule::FaultTarget;

/// Time within which a member must end after a signal. Then the member is killed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// A line that a member printed to standard output. `member` is the index of the member, and `boot`
/// is the number of its start, from 1.
#[derive(Debug)]
pub(super) struct MemberOutputLine {
    pub(super) member: usize,
    pub(super) boot: u32,
    /// Time at which the line was read, in nanoseconds since 1970.
    pub(super) at: u64,
    pub(super) line: String,
}

#[derive(Debug, Default)]
struct Member {
    child: Option<Child>,
    /// Task that writes the log of the member to a file. The member cannot write this file itself
    /// while a fault makes its writes fail.
    log: Option<JoinHandle<()>>,
    boot: u32,
    is_suspended: bool,
    /// True if the fault of a full disk makes the writes of the member fail. A restart ends this
    /// fault.
    cannot_write: bool,
    /// Delay that a fault adds to each flush of this member; `None` without such a fault. The delay
    /// continues after a restart of the member.
    flush: Option<Duration>,
    /// The process that delays the flushes; `None` if the member is down or its flushes are not
    /// delayed.
    slow: Option<SlowDisk>,
}

#[derive(Debug)]
pub(super) struct Members {
    members: Vec<Member>,
    ports: ReservedPorts,
    /// Proxies between the members; `None` if the plan contains no partitions.
    proxies: Option<LinkProxies>,
    folder: PathBuf,
    output: UnboundedSender<MemberOutputLine>,
    /// Latest term for which a member has reported a leader, and the index of this leader. `None`
    /// before the first report.
    leader: Option<(u64, usize)>,
    /// Indices of the members that led when a fault began on them, in the order of the faults.
    former_leaders: Vec<usize>,
    /// Delay that the fault of a slow disk adds to each flush (`--slow-flush`).
    slow_flush: Duration,
    /// Arguments of `tenure serve` that all members receive in addition to their own.
    arguments: Vec<String>,
}

impl Members {
    pub(super) async fn start(
        plan: &ServiceRunPlan,
        folder: &Path,
        output: UnboundedSender<MemberOutputLine>,
    ) -> Result<Members, Failure> {
        let count = plan.members;
        let ports = ReservedPorts::reserve(2 * count).map_err(Failure::cannot("reserve ports"))?;
        let proxies = match plan.partitions.is_empty() {
            false => {
                let started = LinkProxies::start(&ports.addresses()[..count as usize]).await;
                Some(started.map_err(Failure::cannot("start proxies between members"))?)
            }
            true => None,
        };
        let snapshot = plan.snapshot_after.iter().map(|it| it.get());
        let arguments = snapshot
            .flat_map(|it| [("--snapshot-count", it), ("--snapshot-catchup-entries", it / 10)]);
        let arguments =
            arguments.flat_map(|(option, count)| [option.to_owned(), count.to_string()]);
        let mut members = Members {
            members: (0..count).map(|_| Member::default()).collect(),
            ports,
            proxies,
            folder: folder.to_path_buf(),
            output,
            leader: None,
            former_leaders: Vec::new(),
            slow_flush: plan.slow_flush,
            arguments: arguments.collect(),
        };
        (0..members.members.len()).try_for_each(|index| members.start_one(index))?;
        Ok(members)
    }

    pub(super) fn endpoints(&self) -> Vec<String> {
        self.client_addresses().iter().map(|it| format!("http://{it}")).collect()
    }

    fn client_addresses(&self) -> &[SocketAddr] {
        &self.ports.addresses()[self.members.len()..]
    }

    /// Returns the number of members that are up and not suspended.
    pub(super) fn running_count(&self) -> usize {
        self.members.iter().filter(|it| it.child.is_some() && !it.is_suspended).count()
    }

    fn start_one(&mut self, index: usize) -> Result<(), Failure> {
        if self.members[index].child.is_some() {
            return Ok(());
        }
        let name = format!("m{}", index + 1);
        let peers = &self.ports.addresses()[..self.members.len()];
        let cluster = member_list(peers, "http://");
        let dialed = self.proxies.as_ref().map(|proxies| {
            member_list(proxies.addresses_seen_by(ProcessId::from_index(index)), "")
        });
        let failed = Failure::cannot(format!("start {name}"));
        let log = self.folder.join(format!("{name}.log"));
        let mut log = OpenOptions::new().create(true).append(true).open(log).map_err(&failed)?;
        let program = std::env::current_exe().map_err(&failed)?;
        let mut child = Command::new(&program)
            .args(["exec-under", "--parent", &std::process::id().to_string(), "--"])
            .arg(&program)
            .args(["serve", "--name", &name, "--initial-cluster", &cluster])
            .args(dialed.iter().flat_map(|dialed| ["--dial-peers", dialed]))
            .args(["--listen-client-urls", &format!("http://{}", self.client_addresses()[index])])
            .args(&self.arguments)
            .arg("--data-dir")
            .arg(self.folder.join(format!("{name}.tenure")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let member = &mut self.members[index];
        (member.is_suspended, member.cannot_write) = (false, false);
        member.boot += 1;
        let (boot, output) = (member.boot, self.output.clone());
        if let Some(out) = child.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(out).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let _ = output.send(MemberOutputLine {
                        member: index,
                        boot,
                        at: unix_time_nanos(),
                        line,
                    });
                }
            });
        }
        if let Some(stderr) = child.stderr.take() {
            member.log = Some(tokio::spawn(async move {
                let mut lines = BufReader::new(stderr).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    // Errors are ignored: the log is not verified.
                    let _ = writeln!(log, "{line}");
                }
            }));
        }
        member.child = Some(child);
        Ok(())
    }

    /// If the line reports a leader, such as `m2 leads in term 5`, records this leader. Ignores
    /// lines from before the last restart of the member, and leaders of earlier terms.
    pub(super) fn record_reported_leader(&mut self, output: &MemberOutputLine) {
        if self.members[output.member].boot != output.boot {
            return;
        }
        let Some((leader, term)) = output.line.split_once(" leads in term ") else { return };
        let leader = leader.strip_prefix('m').and_then(|it| it.parse::<usize>().ok());
        let term: Option<u64> = term.parse().ok();
        if let Some((leader, term)) = leader.zip(term)
            && self.leader.is_none_or(|(known, _)| known <= term)
        {
            self.leader = Some((term, leader - 1));
        }
    }

    pub(super) fn term(&self) -> Option<u64> {
        self.leader.map(|(term, _)| term)
    }

    /// Returns the index of the leader of the latest term that a member has reported. Returns
    /// `None` if no leader was reported, or if this leader is down or suspended.
    pub(super) fn leader(&self) -> Option<usize> {
        let (_, leader) = self.leader?;
        let member = self.members.get(leader)?;
        (member.child.is_some() && !member.is_suspended).then_some(leader)
    }

    /// Returns the indices of the members that `target` denotes at present. The result is empty if
    /// the target is `leader` and no such member is known.
    pub(super) fn resolve_target(&self, target: FaultTarget, kind: FaultAction) -> Vec<usize> {
        match target {
            FaultTarget::All => (0..self.members.len()).collect(),
            FaultTarget::Process(process) => vec![ProcessId::index(process)],
            // The plan rejects this target.
            FaultTarget::Inside => Vec::new(),
            FaultTarget::Leader if kind.is_member_fault_end() => {
                self.faulty_leader(kind).into_iter().collect()
            }
            FaultTarget::Leader => self.leader().into_iter().collect(),
        }
    }

    /// Returns the index of the member that the target `leader` denotes in an action that ends a
    /// fault, such as a restart. It is the member that led when the fault began. Returns `None` if
    /// no leader had a fault.
    ///
    /// If several leaders had a fault, returns the last one whose fault has not ended. If all these
    /// faults have ended, returns the last of these leaders.
    fn faulty_leader(&self, kind: FaultAction) -> Option<usize> {
        let is_faulty = |index: &&usize| self.has_fault(**index, kind);
        self.former_leaders.iter().rfind(is_faulty).or(self.former_leaders.last()).copied()
    }

    /// Returns true if the member with this index has the fault that an action of this kind ends.
    pub(super) fn has_fault(&self, index: usize, kind: FaultAction) -> bool {
        let member = &self.members[index];
        match kind {
            FaultAction::Restart => member.child.is_none(),
            FaultAction::Resume => member.is_suspended,
            FaultAction::FreeDisk => member.cannot_write,
            _ => member.flush.is_some(),
        }
    }

    /// Replaces the current partitions. Data then passes only between members that are on the same
    /// side of each partition.
    pub(super) fn set_partitions(&self, sides: Vec<Vec<ProcessId>>) {
        if let Some(proxies) = &self.proxies {
            proxies.set_partitions(sides);
        }
    }

    /// Starts or ends a fault on all members in `indices` at the same time. Does nothing for
    /// partitions, which [`Members::set_partitions`] changes. Returns notes for the user.
    pub(super) async fn perform_fault_action(
        &mut self,
        indices: &[usize],
        kind: FaultAction,
    ) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        for index in indices {
            if self.leader() == Some(*index) && kind.is_member_fault_start() {
                self.former_leaders.push(*index);
            }
            let slow_flush = self.slow_flush;
            let member = &mut self.members[*index];
            match kind {
                FaultAction::Kill => member.signal(Signal::KILL),
                FaultAction::Leave | FaultAction::FreeDisk => member.signal(Signal::TERM),
                FaultAction::FillDisk => {
                    member.fail_writes().map_err(Failure::environment)?;
                    member.cannot_write = true;
                }
                FaultAction::Suspend => member.signal(Signal::STOP),
                FaultAction::Resume => member.signal(Signal::CONT),
                FaultAction::Restart => self.start_one(*index)?,
                FaultAction::SlowDisk => member.flush = Some(slow_flush),
                FaultAction::RestoreDiskSpeed => member.flush = None,
                FaultAction::StartPartition(_) | FaultAction::EndPartition(_) => {}
            }
        }
        for index in indices {
            let member = &mut self.members[*index];
            match kind {
                FaultAction::Kill | FaultAction::Leave => {
                    member.wait_or_kill().await;
                }
                FaultAction::FreeDisk => {
                    if let Some(status) =
                        member.wait_or_kill().await.filter(|status| !status.success())
                    {
                        let number = index + 1;
                        notes.push(format!("m{number} could not write, and ended with {status}"));
                    }
                    self.start_one(*index)?;
                }
                FaultAction::Suspend => member.is_suspended = true,
                FaultAction::Resume => member.is_suspended = false,
                FaultAction::RestoreDiskSpeed => member.restore_speed().await,
                FaultAction::Restart | FaultAction::FillDisk | FaultAction::SlowDisk => {}
                FaultAction::StartPartition(_) | FaultAction::EndPartition(_) => {}
            }
        }
        if matches!(kind, FaultAction::SlowDisk | FaultAction::Restart | FaultAction::FreeDisk) {
            for index in indices {
                let slowed = self.members[*index].slow_down().await;
                slowed.map_err(Failure::cannot("slow a disk with strace"))?;
            }
        }
        Ok(notes)
    }

    /// Kills all members at the same time, ends the faults of slow disks, and restarts all members.
    pub(super) async fn kill_and_restart_all(&mut self) -> Result<(), Failure> {
        let all: Vec<usize> = (0..self.members.len()).collect();
        for kind in [FaultAction::Kill, FaultAction::RestoreDiskSpeed, FaultAction::Restart] {
            self.perform_fault_action(&all, kind).await?;
        }
        Ok(())
    }

    /// Resumes all members, asks them to shut down, and waits until they have ended. Kills the
    /// members that do not end within [`SHUTDOWN_TIMEOUT`].
    pub(super) async fn shut_down(&mut self) {
        for member in &mut self.members {
            member.signal(Signal::CONT);
            member.signal(Signal::TERM);
        }
        for member in &mut self.members {
            member.wait_or_kill().await;
        }
    }
}

impl Member {
    fn id(&self) -> Option<Pid> {
        let id = self.child.as_ref().and_then(Child::id);
        id.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
    }

    /// Makes the writes of the member fail, as on a full disk, by setting the limit on the size of
    /// its files to 0. Does nothing if the member is down.
    fn fail_writes(&self) -> rustix::io::Result<()> {
        let Some(id) = self.id() else { return Ok(()) };
        let maximum = getrlimit(Resource::Fsize).maximum;
        limit(id, Rlimit { current: Some(0), maximum })
    }

    /// Makes the flushes of the member slow if it has the fault of a slow disk. Does nothing if
    /// they are slow already or the member is down.
    async fn slow_down(&mut self) -> io::Result<()> {
        let Some((flush, id)) = self.flush.zip(self.id()) else { return Ok(()) };
        if self.slow.is_some() {
            return Ok(());
        }
        match SlowDisk::attach(id, flush).await {
            Ok(slow) => self.slow = Some(slow),
            Err(error) => {
                // Ignores the error if the member has ended meanwhile.
                let ended = self.child.as_mut().map(Child::try_wait);
                return if matches!(ended, Some(Ok(Some(_)))) { Ok(()) } else { Err(error) };
            }
        }
        Ok(())
    }

    async fn restore_speed(&mut self) {
        if let Some(slow) = self.slow.take() {
            slow.detach().await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id() {
            // Ignores an error, because the process may have ended.
            let _ = kill_process(id, signal);
        }
    }

    /// Waits until the member has ended, and kills it after [`SHUTDOWN_TIMEOUT`]. Returns its exit
    /// status. Returns `None` if the member was down before the call or was killed by this call.
    async fn wait_or_kill(&mut self) -> Option<ExitStatus> {
        self.is_suspended = false;
        let mut child = self.child.take()?;
        let ended = match timeout(SHUTDOWN_TIMEOUT, child.wait()).await {
            Ok(ended) => ended.ok(),
            Err(_) => {
                let _ = child.kill().await;
                None
            }
        };
        self.restore_speed().await;
        if let Some(log) = self.log.take() {
            let _ = timeout(SHUTDOWN_TIMEOUT, log).await;
        }
        ended
    }
}

/// Formats the addresses of the members as a list, for the options `--initial-cluster` and
/// `--dial-peers`.
fn member_list(addresses: &[SocketAddr], scheme: &str) -> String {
    let member_list =
        addresses.iter().enumerate().map(|(at, it)| format!("m{}={scheme}{it}", at + 1));
    member_list.collect::<Vec<_>>().join(",")
}

#[cfg(target_os = "linux")]
fn limit(id: Pid, files: Rlimit) -> rustix::io::Result<()> {
    rustix::process::prlimit(Some(id), Resource::Fsize, files).map(|_| ())
}

/// Returns an error, because only on Linux can a process change the limits of another process.
#[cfg(not(target_os = "linux"))]
fn limit(_: Pid, _: Rlimit) -> rustix::io::Result<()> {
    Err(rustix::io::Errno::NOSYS)
}
