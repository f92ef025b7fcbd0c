//! A cluster on this machine that follows a course.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::{ProcessId, Protocol};
use tenure_trace::{
    Action, AppendError, ClockUnit, Course, CreateError, FollowError, Header, Impossible, Kind,
    Pick, Record, Recorded, Source, Spoken, Theatre, Who, WriteError, Writer, now,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::member::{Member, Move, Posted, Until, Which};
use crate::driver::{Parts, StartError};
use crate::injection::Injection;
use crate::local::Raw;
use crate::recorder::Recorder;
use crate::store::{OpenError, Store};
use crate::transport::{Limits, Listen, MeshError, Settings, Trust};

/// Messages on loopback are there at once; after so long something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// Nodes that follow a course over TCP could not be had. None runs any more; their traces are
/// where they were written.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// What was sent did not arrive in time, or a node ended.
    #[error("the nodes did not come to rest")]
    Restless,
    /// A port could not be had.
    #[error("no port on loopback can be had: {0}")]
    Port(#[source] std::io::Error),
    /// There is nothing that the nodes could run on.
    #[error("no runtime can be had: {0}")]
    Runtime(#[source] std::io::Error),
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
/// `header` at the head. Returns the traces. The nodes run on this thread, which must not belong
/// to an asynchronous runtime.
///
/// # Errors
///
/// [`FollowError`] at the first step that is not possible, or not over TCP: messages to a process
/// that crashed die with its session, and applications talk elsewhere. No node is left running.
pub fn follow<P: Recorded>(
    course: &Course,
    config: impl Fn(ProcessId) -> P::Config,
    directory: &Path,
    header: &Header,
) -> Result<Vec<PathBuf>, FollowError<ClusterError>> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let mut nodes = Nodes {
        runtime: runtime.map_err(ClusterError::Runtime)?,
        cluster: Cluster::<P> {
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
        },
    };
    let booted = nodes.runtime.block_on(nodes.cluster.boot_all(&course.down));
    let outcome = booted.map_err(FollowError::from).and_then(|()| nodes.follow(course));
    let Nodes { runtime, mut cluster } = nodes;
    for place in 0..course.size {
        runtime.block_on(cluster.stop(ProcessId(place)));
    }
    outcome?;
    cluster.write_end()?;
    let everybody = (0..course.size).map(|place| cluster.trace_of(ProcessId(place)));
    let traces = everybody.chain([cluster.trace_of_the_whole()]);
    Ok(traces.filter(|path| path.exists()).collect())
}

/// Waits for what is there at once, or something is wrong.
async fn patiently(waiting: impl Future<Output = Option<()>>) -> Result<(), ClusterError> {
    timeout(PATIENCE, waiting).await.ok().flatten().ok_or(ClusterError::Restless)
}

fn addresses(size: u32) -> Result<Vec<SocketAddr>, ClusterError> {
    let bound: Result<Vec<_>, _> = (0..size).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let addresses = bound.map_err(ClusterError::Port)?;
    let addresses: Result<Vec<_>, _> = addresses.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(ClusterError::Port)
}

/// A message that was sent, and what it is called.
#[derive(Clone, Copy, Debug)]
struct Sent {
    which: Which,
    to: ProcessId,
    kind: &'static str,
}

/// A cluster, and what its nodes run on.
struct Nodes<P: Protocol> {
    runtime: Runtime,
    cluster: Cluster<P>,
}

impl<P: Recorded> Theatre for Nodes<P> {
    fn perform(&mut self, action: &Action) -> Result<(), Impossible> {
        match self.runtime.block_on(self.cluster.perform(action)) {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(Impossible::Now(action.clone())),
            Err(error) => Err(Impossible::Broken(error.to_string())),
        }
    }
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

impl<P: Recorded> Cluster<P> {
    /// Boots everybody who is not down from the start.
    async fn boot_all(&mut self, down: &[ProcessId]) -> Result<(), ClusterError> {
        let everybody: Vec<ProcessId> = (0..self.header.n).map(ProcessId).collect();
        for at in everybody.iter().filter(|at| !down.contains(at)) {
            self.start(*at).await?;
        }
        for at in everybody {
            self.boot(at).await?;
        }
        Ok(())
    }

    /// Performs one action; nothing where it is not possible.
    async fn perform(&mut self, action: &Action) -> Result<Option<()>, ClusterError> {
        match action {
            Action::Crash(at) if self.member(*at).is_some() => self.crash(*at).await?,
            Action::Recover(at) if self.member(*at).is_none() => {
                self.start(*at).await?;
                self.boot(*at).await?;
            }
            action => {
                let Some((at, posted)) = self.do_one(action).await else { return Ok(None) };
                self.await_arrival(at, posted).await?;
            }
        }
        Ok(Some(()))
    }

    fn member(&self, at: ProcessId) -> Option<&Member<P>> {
        self.members.get(at.index())?.as_ref()
    }

    fn trace_of(&self, at: ProcessId) -> PathBuf {
        self.directory.join(format!("{}.ndjson", at.number()))
    }

    fn trace_of_the_whole(&self) -> PathBuf {
        self.directory.join("run.ndjson")
    }

    /// What holds now is what holds in the end.
    fn write_end(&self) -> Result<(), ClusterError> {
        let header = Header { source: Source::Parent, ..self.header.clone() };
        let mut writer = Writer::create(self.trace_of_the_whole(), &header)?;
        writer.write(Record::new(now(), Who::Parent, Kind::End))?;
        Ok(writer.flush()?)
    }

    async fn start(&mut self, at: ProcessId) -> Result<(), ClusterError> {
        let begun = Instant::now();
        loop {
            match self.try_start(at) {
                // The port of a node that was killed is free a moment later.
                Err(ClusterError::Start(StartError::Transport(MeshError::AddressTaken {
                    ..
                }))) if begun.elapsed() < PATIENCE => {
                    sleep(Duration::from_millis(20)).await;
                }
                outcome => return outcome,
            }
        }
    }

    fn try_start(&mut self, at: ProcessId) -> Result<(), ClusterError> {
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
                trust: Trust::Machine,
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

    async fn boot(&mut self, at: ProcessId) -> Result<(), ClusterError> {
        let Some(member) = self.member(at) else { return Ok(()) };
        self.meet(at, member).await?;
        let posted = member.perform(Move::Boot).await.ok_or(ClusterError::Restless)?;
        self.await_arrival(at, posted).await
    }

    /// Everybody who is up knows this session of the process, and it knows theirs: what is sent
    /// from now on is meant for it.
    async fn meet(&self, at: ProcessId, mine: &Member<P>) -> Result<(), ClusterError> {
        for (place, other) in self.members.iter().enumerate() {
            let peer = ProcessId::at(place);
            let Some(other) = other.as_ref().filter(|_| peer != at) else { continue };
            patiently(mine.wait(Until::Met(peer, self.sessions[place]))).await?;
            patiently(other.wait(Until::Met(at, self.sessions[at.index()]))).await?;
        }
        Ok(())
    }

    /// What was sent is waiting at those who are up before anything else happens.
    async fn await_arrival(&mut self, from: ProcessId, posted: Posted) -> Result<(), ClusterError> {
        let session = self.sessions[from.index()];
        for (to, kind, number) in posted {
            let which = Which { from, session, number };
            self.under_way.push(Sent { which, to, kind });
            let Some(member) = self.member(to) else { continue };
            patiently(member.wait(Until::Waiting(which))).await?;
        }
        Ok(())
    }

    async fn do_one(&mut self, action: &Action) -> Option<(ProcessId, Posted)> {
        let (at, order) = match action {
            Action::Ask(asking) => (asking.at, Move::Ask(P::Command::understand(asking)?)),
            Action::Fire { at, timer } => (*at, Move::Fire(timer.clone())),
            Action::Suspicion { at, peer, verdict } => (*at, Move::Suspicion(*peer, *verdict)),
            Action::Deliver(pick) | Action::Lose(pick)
                if self.members.get(pick.to.index())?.is_none() =>
            {
                self.take(pick)?;
                return Some((pick.to, Posted::new()));
            }
            Action::Deliver(pick) => (pick.to, Move::Deliver(self.take(pick)?.which)),
            Action::Lose(pick) => (pick.to, Move::Lose(self.take(pick)?.which)),
            Action::Duplicate(pick) => {
                let place = self.pick(pick)?;
                let sent = self.under_way[place];
                self.under_way.insert(place + 1, sent);
                (pick.to, Move::Duplicate(sent.which))
            }
            _ => return None,
        };
        Some((at, self.member(at)?.perform(order).await?))
    }

    fn pick(&self, pick: &Pick) -> Option<usize> {
        pick.among(self.under_way.iter().map(|sent| (sent.which.from, sent.to, sent.kind)))
    }

    fn take(&mut self, pick: &Pick) -> Option<Sent> {
        self.pick(pick).map(|place| self.under_way.remove(place))
    }

    async fn crash(&mut self, at: ProcessId) -> Result<(), ClusterError> {
        self.stop(at).await;
        let mut writer = Writer::append(self.trace_of(at), &self.header)?;
        let session = self.sessions[at.index()];
        writer.write(Record::new(now(), at, Kind::Crash).in_session(session))?;
        Ok(writer.flush()?)
    }

    /// Kills a node. What it had not written is lost, which is nothing.
    async fn stop(&mut self, at: ProcessId) {
        let Some(member) = self.members[at.index()].take() else { return };
        member.task.abort();
        // It ends because it was told to.
        let _ = member.task.await;
    }
}
