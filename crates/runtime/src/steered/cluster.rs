//! A cluster on this machine that follows a course.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_core::{ProcessId, Protocol};
use tenure_trace::{
    Action, AppendError, Asked, ClockUnit, Course, CreateError, Header, Kind, Pick, Record, Source,
    Spoken, Told, Who, WriteError, Writer,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::member::{Member, Move, Posted, Until, Which};
use crate::driver::{Parts, StartError};
use crate::injection::Injection;
use crate::local::Raw;
use crate::recorder::{Recorder, now};
use crate::store::{OpenError, Store};
use crate::transport::{Limits, Listen, MeshError, Settings};

/// Messages on loopback are there at once; after so long something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// A course could not be followed over TCP. No node runs any more; their traces are where they
/// were written.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The course is not possible, or not over TCP: messages to a process that crashed die with
    /// its session, and applications talk elsewhere.
    #[error("step {step}, `{action}`, is not possible over TCP")]
    Impossible {
        /// Which, from 1.
        step: usize,
        /// What should be done.
        action: Action,
    },
    /// Something that was sent did not arrive in time, or a node ended.
    #[error("step {step}, `{action}`: the nodes did not come to rest")]
    Restless {
        /// Which, from 1; 0 for the start.
        step: usize,
        /// What was done.
        action: String,
    },
    /// A port could not be had.
    #[error("no port on loopback can be had: {0}")]
    Port(#[source] std::io::Error),
    /// A store could not be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// A node did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A trace could not be begun.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A trace could not be continued.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A trace could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Runs a course on real nodes that talk TCP over loopback: each message travels, and then waits
/// at its receiver until its delivery is said. Each node saves and traces in `directory`, with
/// `header` at the head. Returns the traces.
///
/// # Errors
///
/// [`FollowError`] at the first step that is not possible; no node is left running.
pub async fn follow<P>(
    course: &Course,
    config: impl Fn(ProcessId) -> P::Config,
    directory: &Path,
    header: &Header,
) -> Result<Vec<PathBuf>, FollowError>
where
    P: Protocol,
    P::Message: Serialize + DeserializeOwned,
    P::Stable: Serialize + DeserializeOwned,
    P::Command: Into<Asked> + Spoken,
    P::Event: Into<Told>,
{
    let mut cluster = Cluster::<P> {
        configs: (0..course.size).map(|place| config(ProcessId(place))).collect(),
        directory: directory.to_owned(),
        header: Header {
            source: Source::Node,
            clock: ClockUnit::Nanosecond,
            n: course.size,
            ..header.clone()
        },
        addresses: addresses(course.size)?,
        members: (0..course.size).map(|_| None).collect(),
        sessions: vec![0; course.size as usize],
        under_way: Vec::new(),
    };
    let outcome = cluster.follow(course).await;
    for place in 0..course.size {
        cluster.stop(ProcessId(place)).await;
    }
    outcome?;
    cluster.write_end()?;
    let everybody = (0..course.size).map(|place| cluster.trace_of(ProcessId(place)));
    let traces = everybody.chain([cluster.trace_of_the_whole()]);
    Ok(traces.filter(|path| path.exists()).collect())
}

fn addresses(size: u32) -> Result<Vec<SocketAddr>, FollowError> {
    let bound: Result<Vec<_>, _> = (0..size).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let addresses = bound.map_err(FollowError::Port)?;
    let addresses: Result<Vec<_>, _> = addresses.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(FollowError::Port)
}

/// A message that was sent, and what it is called.
#[derive(Clone, Copy, Debug)]
struct Sent {
    which: Which,
    to: ProcessId,
    kind: &'static str,
}

struct Cluster<P: Protocol> {
    configs: Vec<P::Config>,
    directory: PathBuf,
    header: Header,
    addresses: Vec<SocketAddr>,
    /// By process: the node, while it is up.
    members: Vec<Option<Member<P>>>,
    sessions: Vec<u64>,
    /// What waits at receivers, the oldest first.
    under_way: Vec<Sent>,
}

impl<P> Cluster<P>
where
    P: Protocol,
    P::Message: Serialize + DeserializeOwned,
    P::Stable: Serialize + DeserializeOwned,
    P::Command: Into<Asked> + Spoken,
    P::Event: Into<Told>,
{
    async fn follow(&mut self, course: &Course) -> Result<(), FollowError> {
        let restless = |step: usize, action: &dyn std::fmt::Display| FollowError::Restless {
            step,
            action: action.to_string(),
        };
        let up = (0..course.size).map(ProcessId).filter(|at| !course.down.contains(at));
        for at in up {
            self.start(at).await?;
        }
        let everybody: Vec<ProcessId> = (0..course.size).map(ProcessId).collect();
        for at in everybody {
            self.meet(at).await.ok_or_else(|| restless(0, &"start"))?;
            self.boot(at).await.ok_or_else(|| restless(0, &"start"))?;
        }
        for (place, action) in course.actions.iter().enumerate() {
            let step = place + 1;
            let impossible = || FollowError::Impossible { step, action: action.clone() };
            let done = match action {
                Action::Crash(at) => self.crash(*at).await,
                Action::Recover(at) if self.members[at.index()].is_none() => {
                    self.start(*at).await?;
                    self.meet(*at).await.ok_or_else(|| restless(step, action))?;
                    self.boot(*at).await
                }
                action => match self.perform(action).await {
                    Some((at, posted)) => self.await_arrival(at, posted).await,
                    None => None,
                },
            };
            done.ok_or_else(impossible)?;
        }
        Ok(())
    }

    fn trace_of(&self, at: ProcessId) -> PathBuf {
        self.directory.join(format!("{}.ndjson", at.number()))
    }

    fn trace_of_the_whole(&self) -> PathBuf {
        self.directory.join("run.ndjson")
    }

    /// What holds now is what holds in the end.
    fn write_end(&self) -> Result<(), FollowError> {
        let header = Header { source: Source::Parent, ..self.header.clone() };
        let mut writer = Writer::create(self.trace_of_the_whole(), &header)?;
        writer.write(Record::new(now(), Who::Parent, Kind::End))?;
        Ok(writer.flush()?)
    }

    async fn start(&mut self, at: ProcessId) -> Result<(), FollowError> {
        let begun = Instant::now();
        loop {
            match self.try_start(at) {
                // The port of a node that was killed is free a moment later.
                Err(FollowError::Start(StartError::Transport(MeshError::AddressTaken {
                    ..
                }))) if begun.elapsed() < PATIENCE => {
                    sleep(Duration::from_millis(20)).await;
                }
                outcome => return outcome,
            }
        }
    }

    fn try_start(&mut self, at: ProcessId) -> Result<(), FollowError> {
        let store = Store::open(self.directory.join(at.number().to_string()), "followed")?;
        let writer = Writer::append(self.trace_of(at), &self.header)?;
        let session = store.session();
        let (local, _) = Raw::<P>::new();
        let (_, asks) = mpsc::unbounded_channel();
        let member = Member::start(Parts {
            config: self.configs[at.index()].clone(),
            transport: Settings {
                cluster: "followed".into(),
                me: at,
                session,
                listen: Listen::Address(self.addresses[at.index()]),
                addresses: self.addresses.iter().map(SocketAddr::to_string).collect(),
                secret: None,
                limits: Limits::default(),
            },
            store,
            local,
            asks,
            recorder: Recorder::to(writer, true),
            injection: Injection::none(),
            suspected: None,
        })?;
        self.sessions[at.index()] = session;
        self.members[at.index()] = Some(member);
        Ok(())
    }

    /// Everybody who is up knows this session of the process, and it knows theirs: what is sent
    /// from now on is meant for it.
    async fn meet(&self, at: ProcessId) -> Option<()> {
        let Some(mine) = &self.members[at.index()] else { return Some(()) };
        for (place, other) in self.members.iter().enumerate() {
            let peer = ProcessId::at(place);
            let Some(other) = other.as_ref().filter(|_| peer != at) else { continue };
            let here = Until::Met(peer, self.sessions[place]);
            let there = Until::Met(at, self.sessions[at.index()]);
            timeout(PATIENCE, mine.wait(here)).await.ok().flatten()?;
            timeout(PATIENCE, other.wait(there)).await.ok().flatten()?;
        }
        Some(())
    }

    async fn boot(&mut self, at: ProcessId) -> Option<()> {
        let Some(member) = &self.members[at.index()] else { return Some(()) };
        let posted = member.perform(Move::Boot).await?;
        self.await_arrival(at, posted).await
    }

    /// What was sent is waiting at those who are up before anything else happens.
    async fn await_arrival(&mut self, from: ProcessId, posted: Posted) -> Option<()> {
        let session = self.sessions[from.index()];
        for (to, kind, number) in posted {
            let which = Which { from, session, number };
            self.under_way.push(Sent { which, to, kind });
            let Some(member) = &self.members[to.index()] else { continue };
            timeout(PATIENCE, member.wait(Until::Waiting(which))).await.ok().flatten()?;
        }
        Some(())
    }

    async fn perform(&mut self, action: &Action) -> Option<(ProcessId, Posted)> {
        let (at, order) = match action {
            Action::Ask(asking) => (asking.at, Move::Ask(P::Command::understand(asking)?)),
            Action::Fire { at, timer } => (*at, Move::Fire(timer.clone())),
            Action::Suspicion { at, peer, verdict } => (*at, Move::Suspicion(*peer, *verdict)),
            Action::Deliver(pick) | Action::Lose(pick)
                if self.members.get(pick.to.index())?.is_none() =>
            {
                self.pick(pick).map(|place| self.under_way.remove(place))?;
                return Some((pick.to, Posted::new()));
            }
            Action::Deliver(pick) => {
                let sent = self.pick(pick).map(|place| self.under_way.remove(place))?;
                (pick.to, Move::Deliver(sent.which))
            }
            Action::Lose(pick) => {
                let sent = self.pick(pick).map(|place| self.under_way.remove(place))?;
                (pick.to, Move::Lose(sent.which))
            }
            Action::Duplicate(pick) => {
                let place = self.pick(pick)?;
                let sent = self.under_way[place];
                self.under_way.insert(place + 1, sent);
                (pick.to, Move::Duplicate(sent.which))
            }
            _ => return None,
        };
        let member = self.members.get(at.index())?.as_ref()?;
        Some((at, member.perform(order).await?))
    }

    fn pick(&self, pick: &Pick) -> Option<usize> {
        let wanted = |kind: &str| pick.kind.as_ref().is_none_or(|wanted| wanted == kind);
        let is =
            |sent: &Sent| (sent.which.from, sent.to) == (pick.from, pick.to) && wanted(sent.kind);
        let mut alike = self.under_way.iter().enumerate().filter(|(_, sent)| is(sent));
        alike.nth(pick.ordinal.checked_sub(1)?).map(|(place, _)| place)
    }

    async fn crash(&mut self, at: ProcessId) -> Option<()> {
        self.members[at.index()].as_ref()?;
        self.stop(at).await;
        let mut writer = Writer::append(self.trace_of(at), &self.header).ok()?;
        let session = self.sessions[at.index()];
        writer.write(Record::new(now(), at, Kind::Crash).in_session(session)).ok()?;
        writer.flush().ok()
    }

    /// Kills a node. What it had not written is lost, which is nothing.
    async fn stop(&mut self, at: ProcessId) {
        let Some(member) = self.members[at.index()].take() else { return };
        member.task.abort();
        // It ends because it was told to.
        let _ = member.task.await;
    }
}
