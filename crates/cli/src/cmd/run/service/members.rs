//! The members of a service, as child processes.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process};
use tenure_core::ProcessId;
use tenure_ports::Ports;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::claim::now;
use super::plan::{Does, Plan};
use super::slow::Slow;
use crate::cmd::failure::Failure;
use crate::cmd::run::schedule::Target;
use crate::cmd::run::wires::Wires;

/// How long a member may take to end in good order.
const ENDING: Duration = Duration::from_secs(10);

/// A line that a member said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) member: usize,
    pub(super) boot: u32,
    /// When that was heard, in nanoseconds since 1970.
    pub(super) at: u64,
    pub(super) line: String,
}

#[derive(Debug, Default)]
struct Member {
    child: Option<Child>,
    /// Who writes down what it says of itself: it may be kept from writing to files.
    log: Option<JoinHandle<()>>,
    boot: u32,
    is_stopped: bool,
    /// Whether it can write to no file.
    is_full: bool,
    /// How much longer a flush takes, where its disk is slow.
    flush: Option<Duration>,
    slow: Option<Slow>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Members {
    members: Vec<Member>,
    ports: Ports,
    /// The network between them, where it is to be cut.
    wires: Option<Wires>,
    folder: PathBuf,
    said: UnboundedSender<Said>,
    /// Who leads in which term, as was said last.
    leader: Option<(u64, usize)>,
    /// Who led when something was done to them, the last of them last.
    led: Vec<usize>,
    /// How much longer a flush takes where a disk is slow.
    slow_flush: Duration,
    /// What members are told beside who there is.
    words: Vec<String>,
}

impl Members {
    pub(super) async fn start(
        plan: &Plan,
        folder: &Path,
        said: UnboundedSender<Said>,
    ) -> Result<Members, Failure> {
        let count = plan.members;
        let ports = Ports::reserve(2 * count)
            .map_err(|error| Failure::environment(format!("cannot reserve ports: {error}")))?;
        let wires = match plan.cuts.is_empty() {
            false => {
                Some(Wires::lay(&ports.addresses()[..count as usize]).await.map_err(|error| {
                    Failure::environment(format!("cannot lay wires between members: {error}"))
                })?)
            }
            true => None,
        };
        let snapshot = plan.snapshot_after.iter().map(|it| it.get());
        let words = snapshot
            .flat_map(|it| [("--snapshot-count", it), ("--snapshot-catchup-entries", it / 10)]);
        let words = words.flat_map(|(option, count)| [option.to_owned(), count.to_string()]);
        let mut members = Members {
            members: (0..count).map(|_| Member::default()).collect(),
            ports,
            wires,
            folder: folder.to_path_buf(),
            said,
            leader: None,
            led: Vec::new(),
            slow_flush: plan.slow_flush,
            words: words.collect(),
        };
        (0..members.members.len()).try_for_each(|index| members.start_one(index))?;
        Ok(members)
    }

    /// Where clients are served.
    pub(super) fn endpoints(&self) -> Vec<String> {
        self.clients().iter().map(|it| format!("http://{it}")).collect()
    }

    fn clients(&self) -> &[SocketAddr] {
        &self.ports.addresses()[self.members.len()..]
    }

    /// How many are up and not stopped.
    pub(super) fn up(&self) -> usize {
        self.members.iter().filter(|it| it.child.is_some() && !it.is_stopped).count()
    }

    fn start_one(&mut self, index: usize) -> Result<(), Failure> {
        if self.members[index].child.is_some() {
            return Ok(());
        }
        let name = format!("m{}", index + 1);
        let peers = &self.ports.addresses()[..self.members.len()];
        let cluster = named(peers, "http://");
        let dialed = self.wires.as_ref().map(|wires| named(wires.of(ProcessId::at(index)), ""));
        let failed =
            |error: io::Error| Failure::environment(format!("cannot start {name}: {error}"));
        let log = self.folder.join(format!("{name}.log"));
        let mut log = OpenOptions::new().create(true).append(true).open(log).map_err(failed)?;
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(&program)
            .args(["exec-under", "--parent", &std::process::id().to_string(), "--"])
            .arg(&program)
            .args(["serve", "--name", &name, "--initial-cluster", &cluster])
            .args(dialed.iter().flat_map(|dialed| ["--dial-peers", dialed]))
            .args(["--listen-client-urls", &format!("http://{}", self.clients()[index])])
            .args(&self.words)
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
        (member.is_stopped, member.is_full) = (false, false);
        member.boot += 1;
        let (boot, said) = (member.boot, self.said.clone());
        if let Some(out) = child.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(out).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let _ = said.send(Said { member: index, boot, at: now(), line });
                }
            });
        }
        if let Some(says) = child.stderr.take() {
            member.log = Some(tokio::spawn(async move {
                let mut lines = BufReader::new(says).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    // What cannot be written down is of no account for what is judged.
                    let _ = writeln!(log, "{line}");
                }
            }));
        }
        member.child = Some(child);
        Ok(())
    }

    /// Takes note of what a member said: `m2 leads in term 5`.
    pub(super) fn hear(&mut self, said: &Said) {
        if self.members[said.member].boot != said.boot {
            return;
        }
        let Some((leader, term)) = said.line.split_once(" leads in term ") else { return };
        let leader = leader.strip_prefix('m').and_then(|it| it.parse::<usize>().ok());
        let term: Option<u64> = term.parse().ok();
        if let Some((leader, term)) = leader.zip(term)
            && self.leader.is_none_or(|(known, _)| known <= term)
        {
            self.leader = Some((term, leader - 1));
        }
    }

    /// The last term in which somebody led, as far as anybody said.
    pub(super) fn term(&self) -> Option<u64> {
        self.leader.map(|(term, _)| term)
    }

    /// Who leads and is up, as far as anybody said.
    pub(super) fn leader(&self) -> Option<usize> {
        let (_, leader) = self.leader?;
        let member = self.members.get(leader)?;
        (member.child.is_some() && !member.is_stopped).then_some(leader)
    }

    /// Whom that means now; nobody where nobody leads.
    pub(super) fn targets(&self, target: Target, does: Does) -> Vec<usize> {
        match target {
            Target::All => (0..self.members.len()).collect(),
            Target::Process(process) => vec![ProcessId::index(process)],
            // Refused when the run is planned.
            Target::Inside => Vec::new(),
            Target::Leader if does.heals() => self.hurt_leader(does).into_iter().collect(),
            Target::Leader => self.leader().into_iter().collect(),
        }
    }

    /// Who was the last to lead when that was done to them which this ends, and does not yet go on
    /// without.
    fn hurt_leader(&self, does: Does) -> Option<usize> {
        let is_hurt = |index: &&usize| {
            let member = &self.members[**index];
            match does {
                Does::Restart => member.child.is_none(),
                Does::Resume => member.is_stopped,
                Does::Clear => member.is_full,
                _ => member.flush.is_some(),
            }
        };
        self.led.iter().rfind(is_hurt).or(self.led.last()).copied()
    }

    /// From now on nothing passes but within the sides of each of these cuts.
    pub(super) fn cut(&self, sides: Vec<Vec<ProcessId>>) {
        if let Some(wires) = &self.wires {
            wires.cut(sides);
        }
    }

    /// Does something to some at once; gives what is worth a note.
    pub(super) async fn act(
        &mut self,
        indices: &[usize],
        does: Does,
    ) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        for index in indices {
            if self.leader() == Some(*index) && does.hurts() {
                self.led.push(*index);
            }
            let slow_flush = self.slow_flush;
            let member = &mut self.members[*index];
            match does {
                Does::Kill => member.signal(Signal::KILL),
                Does::Leave | Does::Clear => member.signal(Signal::TERM),
                Does::Fill => {
                    member.fill().map_err(Failure::environment)?;
                    member.is_full = true;
                }
                Does::Stop => member.signal(Signal::STOP),
                Does::Resume => member.signal(Signal::CONT),
                Does::Restart => self.start_one(*index)?,
                Does::Slow => member.flush = Some(slow_flush),
                Does::Hasten => member.flush = None,
                Does::Part(_) | Does::Join(_) => {}
            }
        }
        for index in indices {
            let member = &mut self.members[*index];
            match does {
                Does::Kill | Does::Leave => {
                    member.bury().await;
                }
                Does::Clear => {
                    if let Some(status) = member.bury().await.filter(|status| !status.success()) {
                        let number = index + 1;
                        notes.push(format!("m{number} could not write, and ended with {status}"));
                    }
                    self.start_one(*index)?;
                }
                Does::Stop => member.is_stopped = true,
                Does::Resume => member.is_stopped = false,
                Does::Hasten => member.hasten().await,
                Does::Restart | Does::Fill | Does::Slow => {}
                Does::Part(_) | Does::Join(_) => {}
            }
        }
        if matches!(does, Does::Slow | Does::Restart | Does::Clear) {
            for index in indices {
                self.members[*index].slow_down().await.map_err(|error| {
                    Failure::environment(format!("cannot slow a disk with strace: {error}"))
                })?;
            }
        }
        Ok(notes)
    }

    /// Kills all at once and starts them again, on disks that are quick.
    pub(super) async fn begin_anew(&mut self) -> Result<(), Failure> {
        let all: Vec<usize> = (0..self.members.len()).collect();
        for does in [Does::Kill, Does::Hasten, Does::Restart] {
            self.act(&all, does).await?;
        }
        Ok(())
    }

    /// Ends all of them.
    pub(super) async fn end(&mut self) {
        for member in &mut self.members {
            member.signal(Signal::CONT);
            member.signal(Signal::TERM);
        }
        for member in &mut self.members {
            member.bury().await;
        }
    }
}

impl Member {
    fn id(&self) -> Option<Pid> {
        let id = self.child.as_ref().and_then(Child::id);
        id.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
    }

    /// Lets it write to no file any more, whatever is free: a disk is as full for it.
    fn fill(&self) -> rustix::io::Result<()> {
        let Some(id) = self.id() else { return Ok(()) };
        let maximum = getrlimit(Resource::Fsize).maximum;
        limit(id, Rlimit { current: Some(0), maximum })
    }

    /// Has each of its flushes take longer, if its disk is slow.
    async fn slow_down(&mut self) -> io::Result<()> {
        let Some((flush, id)) = self.flush.zip(self.id()) else { return Ok(()) };
        if self.slow.is_some() {
            return Ok(());
        }
        match Slow::begin(id, flush).await {
            Ok(slow) => self.slow = Some(slow),
            Err(error) => {
                // Of who has ended nothing is to be slowed.
                let ended = self.child.as_mut().map(Child::try_wait);
                return if matches!(ended, Some(Ok(Some(_)))) { Ok(()) } else { Err(error) };
            }
        }
        Ok(())
    }

    /// Has them take as long as they do.
    async fn hasten(&mut self) {
        if let Some(slow) = self.slow.take() {
            slow.end().await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id() {
            // Who has ended is not there to be told.
            let _ = kill_process(id, signal);
        }
    }

    /// Waits until it has ended, and ends it if that takes long.
    async fn bury(&mut self) -> Option<ExitStatus> {
        self.is_stopped = false;
        let mut child = self.child.take()?;
        let ended = match timeout(ENDING, child.wait()).await {
            Ok(ended) => ended.ok(),
            Err(_) => {
                let _ = child.kill().await;
                None
            }
        };
        self.hasten().await;
        if let Some(log) = self.log.take() {
            let _ = timeout(ENDING, log).await;
        }
        ended
    }
}

/// The members at these addresses, as `tenure serve` is told of them.
fn named(addresses: &[SocketAddr], scheme: &str) -> String {
    let named = addresses.iter().enumerate().map(|(at, it)| format!("m{}={scheme}{it}", at + 1));
    named.collect::<Vec<_>>().join(",")
}

/// Limits how far a process may write into a file.
#[cfg(target_os = "linux")]
fn limit(id: Pid, files: Rlimit) -> rustix::io::Result<()> {
    rustix::process::prlimit(Some(id), Resource::Fsize, files).map(|_| ())
}

/// Other systems let nobody limit another process.
#[cfg(not(target_os = "linux"))]
fn limit(_: Pid, _: Rlimit) -> rustix::io::Result<()> {
    Err(rustix::io::Errno::NOSYS)
}
