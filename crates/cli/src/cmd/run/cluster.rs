//! All nodes of a run, and what is done to them.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_daemon::resource::Holder;
use tenure_daemon::{
    Channel, Config, Detector, Log, Report, Store, Trace, VERSION, Work, make_keys,
    private_key_file, public_keys_file,
};
use tenure_ports::Ports;
use tenure_trace::Kind;
use tokio::sync::mpsc::UnboundedSender;

use super::member::{Files, Heard, Known, Life, Member, What};
use super::plan::Plan;
use super::record::Diary;
use super::schedule::Target;
use super::wires::Wires;
use super::workspace::Workspace;
use crate::cmd::failure::Failure;

/// How long a node may take to end in good order.
const ENDING: Duration = Duration::from_secs(10);

/// All nodes, the parent's record of what was done to them, and their ports.
#[derive(Debug)]
pub(super) struct Cluster<'a> {
    pub(super) members: Vec<Member>,
    plan: &'a Plan,
    workspace: &'a Workspace,
    program: PathBuf,
    ports: Ports,
    /// Where the network is to be cut.
    wires: Option<Wires>,
    /// Where the counter is that a lock protects.
    resource: Option<SocketAddr>,
    /// The process that is known to be inside, and does not go on before this is taken away.
    pub(super) holder: Option<Holder>,
    diary: Diary,
    heard: UnboundedSender<Heard>,
}

impl<'a> Cluster<'a> {
    pub(super) async fn new(
        plan: &'a Plan,
        workspace: &'a Workspace,
        resource: Option<SocketAddr>,
        heard: UnboundedSender<Heard>,
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::environment(format!("cannot find this program's own file: {error}"))
        })?;
        // Where nodes listen; behind those, where clients of a log ask.
        let ports = if plan.log.is_some() { 2 * plan.size } else { plan.size };
        let ports = Ports::reserve(ports)
            .map_err(|error| Failure::environment(format!("cannot reserve ports: {error}")))?;
        let wires = match plan.cuts[..] {
            [] => None,
            _ => Some(Wires::lay(&ports.addresses()[..plan.size as usize]).await.map_err(
                |error| {
                    Failure::environment(format!("cannot lay wires between the nodes: {error}"))
                },
            )?),
        };
        make_keys(&workspace.keys(), plan.size).map_err(Failure::environment)?;
        let diary = Diary::create(&workspace.parent_trace(), plan).map_err(Failure::environment)?;
        let member = |process: ProcessId| {
            let files = Files { config: workspace.config(process), log: workspace.log(process) };
            Member::new(process, files)
        };
        let members = (0..plan.size).map(ProcessId).map(member).collect();
        Ok(Cluster {
            members,
            plan,
            workspace,
            program,
            ports,
            wires,
            resource,
            holder: None,
            diary,
            heard,
        })
    }

    /// Starts everybody.
    pub(super) fn start(&mut self) -> Result<(), Failure> {
        for process in (0..self.plan.size).map(ProcessId) {
            self.start_one(process, self.plan.entries, self.plan.duration)?;
        }
        Ok(())
    }

    /// Starts a process again, with the entries and the time that are left to it.
    pub(super) fn restart(&mut self, process: ProcessId, passed: Duration) -> Result<(), Failure> {
        let Member { entries, entries_before, .. } = self.members[process.index()];
        let entered = entries_before + entries;
        let entries = self.plan.entries.map(|entries| entries.saturating_sub(entered));
        let duration = self.plan.duration.map(|duration| duration.saturating_sub(passed));
        self.start_one(process, entries, duration)
    }

    /// Kills a process. The time of its crash is that of the attempt: elections count from there.
    pub(super) async fn kill(&mut self, process: ProcessId) -> Result<(), Failure> {
        let member = &mut self.members[process.index()];
        member.fell_unseen = member.life == Life::Booting;
        if !member.fell_unseen {
            self.note(process, Kind::Crash)?;
        }
        let killed = self.members[process.index()].kill().await;
        killed.map_err(|error| Failure::environment(format!("cannot kill {process}: {error}")))
    }

    /// Kills several at once: none of them sees another one go.
    pub(super) async fn kill_all(&mut self, processes: &[ProcessId]) -> Result<(), Failure> {
        for process in processes {
            let struck = self.members[process.index()].strike();
            struck
                .map_err(|error| Failure::environment(format!("cannot kill {process}: {error}")))?;
        }
        for process in processes {
            self.kill(*process).await?;
        }
        Ok(())
    }

    /// Where clients of a log ask, by process.
    pub(super) fn desks(&self) -> &[SocketAddr] {
        &self.ports.addresses()[self.plan.size as usize..]
    }

    /// Asks a process to leave.
    pub(super) fn leave(&mut self, process: ProcessId) -> Result<(), Failure> {
        let left = self.members[process.index()].leave();
        left.map_err(|error| Failure::environment(format!("cannot signal {process}: {error}")))
    }

    /// Suspends a process.
    pub(super) fn stop(&mut self, process: ProcessId) -> Result<(), Failure> {
        let stopped = self.members[process.index()].stop();
        stopped.map_err(|error| Failure::environment(format!("cannot stop {process}: {error}")))?;
        self.note(process, Kind::Stop)
    }

    /// Resumes a process, if it is suspended.
    pub(super) fn resume(&mut self, process: ProcessId) -> Result<(), Failure> {
        if self.members[process.index()].life != Life::Stopped {
            return Ok(());
        }
        self.note(process, Kind::Continue)?;
        let resumed = self.members[process.index()].resume();
        resumed.map_err(|error| Failure::environment(format!("cannot resume {process}: {error}")))
    }

    /// Makes these the cuts in force, each by who is on one of its sides.
    pub(super) fn cut(&mut self, cuts: Vec<Vec<ProcessId>>) -> Result<(), Failure> {
        let happened = match &cuts[..] {
            [] => Kind::Heal,
            cuts => Kind::Partition(parts(self.plan.size, cuts)),
        };
        if let Some(wires) = &self.wires {
            wires.cut(cuts);
        }
        self.diary.network(happened).map_err(Failure::environment)
    }

    /// Takes note of what a node said. Words of an earlier boot mean nothing any more.
    pub(super) async fn hear(&mut self, heard: Heard) -> Result<(), Failure> {
        let Heard { process, boot, what } = heard;
        let member = &mut self.members[process.index()];
        if boot != member.boot || !member.is_up() {
            return Ok(());
        }
        match what {
            What::Said(Report::Ready { session, .. }) => {
                member.session = session;
                if member.life == Life::Booting {
                    member.life = Life::Running;
                }
                if boot > 1 {
                    self.note(process, Kind::Recover)?;
                }
            }
            What::Said(
                Report::Page { .. }
                | Report::Came { .. }
                | Report::Left { .. }
                | Report::Granted { .. },
            ) => {}
            What::Said(Report::Elected { leader, term }) => member.belief = Some((term, leader)),
            What::Said(Report::Deposed { .. }) => member.belief = None,
            What::Said(Report::Progress { entries, .. }) => member.entries = entries,
            What::Said(Report::Log { stored, committed, last_terms }) => {
                member.known = Known { stored, committed, last_terms };
            }
            What::Said(Report::Done { entries, .. }) => {
                member.entries = entries;
                member.done = true;
            }
            What::Said(Report::Failed { says }) => {
                return Err(Failure::environment(format!("{process} failed: {says}")));
            }
            What::Mumbled(line) => {
                let says = format!("{process} printed `{line}`, which is no report of a node");
                return Err(Failure::environment(says));
            }
            What::Ended => {
                let leaves = member.life == Life::Leaving;
                let status = member.ended(ENDING).await.ok().flatten();
                if !leaves || status.is_none_or(|status| !status.success()) {
                    return Err(self.gone(process, status));
                }
            }
        }
        Ok(())
    }

    /// Whom the live believe to lead, if whoever that is lives: the latest term counts.
    pub(super) fn leader(&self) -> Option<ProcessId> {
        let running = || self.members.iter().filter(|member| member.life == Life::Running);
        let (_, leader) = running().filter_map(|member| member.belief).max()?;
        running().map(|member| member.process).find(|process| process.number() == leader)
    }

    /// Whom an action is about, as far as that can be said now.
    pub(super) fn find(&self, target: Target) -> Option<Vec<ProcessId>> {
        match target {
            Target::Process(process) => Some(vec![process]),
            Target::Leader => self.leader().map(|leader| vec![leader]),
            Target::Inside => self.holder.as_ref().map(|holder| vec![holder.process]),
            Target::All => Some((0..self.plan.size).map(ProcessId).collect()),
        }
    }

    /// Whether all that are up have all of one log, and know it to be committed.
    pub(super) fn is_level(&self) -> bool {
        let mut known = self.members.iter().filter(|it| it.is_up()).map(|it| &it.known);
        let Some(first) = known.next() else { return true };
        let level = |it: &Known| it.stored == it.committed && it.stored == first.stored;
        level(first) && known.all(level)
    }

    /// The process that was killed as the leader, or as the holder, and has not come back.
    pub(super) fn fallen(&self, target: Target) -> Option<ProcessId> {
        let mut members = self.members.iter();
        members.find(|it| !it.is_up() && it.killed_as == Some(target)).map(|it| it.process)
    }

    /// How often anybody entered, as far as it was reported.
    pub(super) fn entries(&self) -> u64 {
        self.members.iter().map(|member| member.entries_before + member.entries).sum()
    }

    /// Ends every node: what is suspended is resumed, everybody is asked, and whoever does not
    /// listen is killed. The leader is asked last, when nobody is there who could take over: what
    /// a successor did then would be part of the run, and others would have gone before it.
    pub(super) async fn end(&mut self) -> Result<(), Failure> {
        for place in 0..self.members.len() {
            if self.members[place].fell_unseen {
                self.note(ProcessId::at(place), Kind::Crash)?;
            }
        }
        self.diary.end().map_err(Failure::environment)?;
        let leader = self.leader();
        let (last, first): (Vec<usize>, Vec<usize>) =
            (0..self.members.len()).partition(|place| leader == Some(ProcessId::at(*place)));
        let ended = self.end_these(&first).await;
        ended.and(self.end_these(&last).await)
    }

    /// Ends these.
    async fn end_these(&mut self, places: &[usize]) -> Result<(), Failure> {
        places.iter().for_each(|place| self.members[*place].dismiss());
        let mut outcome = Ok(());
        for place in places {
            let process = self.members[*place].process;
            let ended = match self.members[*place].ended(ENDING).await {
                Ok(Some(status)) if !status.success() => Err(self.gone(process, Some(status))),
                Ok(_) => Ok(()),
                Err(error) => {
                    Err(Failure::environment(format!("cannot wait for {process}: {error}")))
                }
            };
            outcome = outcome.and(ended);
        }
        outcome
    }

    /// Kills every node at once.
    pub(super) async fn abandon(&mut self) {
        for member in &mut self.members {
            let _ = member.kill().await;
        }
    }

    /// A node that ended, and not because we said so.
    fn gone(&self, process: ProcessId, status: Option<ExitStatus>) -> Failure {
        let words = match status.and_then(|status| status.signal()) {
            Some(signal) => format!("somebody else sent it signal {signal}"),
            None => {
                let words = self.members[process.index()].last_words();
                words.unwrap_or_else(|| "it left no word".into())
            }
        };
        Failure::environment(format!("{process} ended unexpectedly: {words}"))
    }

    fn note(&mut self, process: ProcessId, kind: Kind) -> Result<(), Failure> {
        let session = self.members[process.index()].session;
        self.diary.happened(process, session, kind).map_err(Failure::environment)
    }

    fn start_one(
        &mut self,
        process: ProcessId,
        entries: Option<u64>,
        duration: Option<Duration>,
    ) -> Result<(), Failure> {
        let config = self.config(process, entries, duration);
        let path = self.workspace.config(process);
        fs::write(&path, config.text()).map_err(|error| {
            Failure::environment(format!("cannot write {}: {error}", path.display()))
        })?;
        let started = self.members[process.index()].start(&self.program, &self.heard);
        started.map_err(|error| Failure::environment(format!("cannot start {process}: {error}")))
    }

    fn config(
        &self,
        process: ProcessId,
        entries: Option<u64>,
        duration: Option<Duration>,
    ) -> Config {
        let Plan { service, fifo, lose, duplicate, seed, .. } = self.plan;
        let addresses = match &self.wires {
            Some(wires) => wires.of(process),
            None => &self.ports.addresses()[..self.plan.size as usize],
        };
        let addresses = addresses.iter().map(ToString::to_string).collect();
        Config {
            version: VERSION,
            cluster: tenure_daemon::Cluster {
                name: "tenure run".into(),
                me: process.number(),
                addresses,
                listen: None,
                private_key: Some(private_key_file(&self.workspace.keys(), process)),
                public_keys: Some(public_keys_file(&self.workspace.keys())),
                insecure: false,
            },
            service: service.clone(),
            detector: Detector::default(),
            channel: Channel {
                fifo: *fifo,
                lose: *lose,
                duplicate: *duplicate,
                ..Channel::default()
            },
            store: Store { directory: self.workspace.store(process) },
            trace: Some(Trace {
                file: self.workspace.trace(process),
                clocks: false,
                states: self.plan.states,
                segment_kib: self.plan.segment_kib,
            }),
            page: None,
            work: self.resource.map(|resource| Work {
                resource,
                lock: self.plan.lock,
                entries,
                duration_ms: duration.map(millis),
                hold_us: micros(self.plan.hold),
                think_us: micros(self.plan.think),
                seed: *seed,
            }),
            log: self.plan.log.as_ref().map(|log| Log {
                algorithm: log.name.clone(),
                variants: log.variants.clone(),
                clients: self.desks()[process.index()],
                election_ms: Some((millis(log.timeouts.least), millis(log.timeouts.most))),
                snapshot_after: Some(log.snapshot_after),
            }),
        }
    }
}

/// Who can reach each other, when none of the cuts may be between them.
fn parts(size: u32, cuts: &[Vec<ProcessId>]) -> Vec<Vec<ProcessId>> {
    let mut parts: Vec<(Vec<bool>, Vec<ProcessId>)> = Vec::new();
    for process in (0..size).map(ProcessId) {
        let sides: Vec<bool> = cuts.iter().map(|side| side.contains(&process)).collect();
        match parts.iter_mut().find(|(known, _)| *known == sides) {
            Some((_, part)) => part.push(process),
            None => parts.push((sides, vec![process])),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_leave_together_whom_none_of_them_parts() {
        let of = |sides: &[&[u32]]| -> Vec<Vec<ProcessId>> {
            sides.iter().map(|side| side.iter().copied().map(ProcessId).collect()).collect()
        };
        assert_eq!(parts(3, &of(&[&[0]])), of(&[&[0], &[1, 2]]));
        assert_eq!(parts(4, &of(&[&[0, 1], &[1, 2]])), of(&[&[0], &[1], &[2], &[3]]));
        assert_eq!(parts(4, &of(&[&[3], &[0, 3]])), of(&[&[0], &[1, 2], &[3]]));
    }
}
