//! A cluster on this machine that follows a course.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::{ProcessId, Protocol, VectorClock};
use tenure_trace::{
    Action, AppendError, ClockUnit, Course, CreateError, FollowError, Header, Impossible, Kind,
    Passage, Pick, Record, Recorded, Source, Spoken, Theatre, Who, WriteError, Writer, now,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::member::{Member, Move, Until, Which};
use crate::driver::Parts;
use crate::failure::StartError;
use crate::injection::Injection;
use crate::local::Raw;
use crate::outlet::Posted;
use crate::recorder::Recorder;
use crate::store::{OpenError, Owner, Store};
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
/// Nodes that nobody steers never deliver what was meant for a process that crashed since: it
/// dies with the session of its receiver. A course may want it delivered all the same, as models
/// of networks do; its sender then sends it once more, and the trace of the whole notes that.
///
/// # Errors
///
/// [`FollowError`] at the first step that is not possible, or not over TCP: a message cannot
/// outlive both its sender and its receiver. No node is left running.
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
            said: Vec::new(),
            notes: Vec::new(),
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

/// Something is to be said of the whole.
fn of_all(kind: Kind) -> Record {
    Record::new(now(), Who::Parent, kind)
}

fn addresses(size: u32) -> Result<Vec<SocketAddr>, ClusterError> {
    let bound: Result<Vec<_>, _> = (0..size).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let addresses = bound.map_err(ClusterError::Port)?;
    let addresses: Result<Vec<_>, _> = addresses.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(ClusterError::Port)
}

/// A message that was sent.
#[derive(Clone, Debug)]
struct Sent {
    which: Which,
    posted: Posted,
    /// The session of its receiver in which it arrived, or would have.
    meant: u64,
}

impl Sent {
    const fn named(&self) -> (ProcessId, ProcessId, &'static str) {
        (self.which.from, self.posted.to, self.posted.kind)
    }
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
    /// What applications sent each other, and nobody has heard.
    said: Vec<Sent>,
    /// What is to be said of the whole.
    notes: Vec<Record>,
}

impl<P: Recorded> Cluster<P> {
    /// Boots everybody. Who is down from the start has booted before, alone, and crashed: what it
    /// saved is there when it recovers.
    async fn boot_all(&mut self, down: &[ProcessId]) -> Result<(), ClusterError> {
        for at in down {
            self.start(*at).await?;
            if let Some(member) = self.member(*at) {
                member.perform(Move::Boot).await.ok_or(ClusterError::Restless)?;
            }
            self.crash(*at).await?;
        }
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
            Action::Crash(at) if self.member(*at).is_some() => self.crash(*at).await.map(Some),
            Action::Recover(at) if self.is_down(*at) => {
                self.start(*at).await?;
                self.boot(*at).await.map(Some)
            }
            Action::Ask(asking) => match P::Command::understand(asking) {
                Some(command) => self.order(asking.at, Move::Ask(command)).await,
                None => Ok(None),
            },
            // Of the boot of a process that is down nothing can be said beforehand.
            Action::Choose { at, .. } if self.is_down(*at) => Ok(Some(())),
            Action::Choose { at, value } => self.order(*at, Move::Choose(*value)).await,
            Action::Fire { at, timer } => self.order(*at, Move::Fire(timer.clone())).await,
            Action::Suspicion { at, peer, verdict } => {
                self.order(*at, Move::Suspicion(*peer, *verdict)).await
            }
            Action::Deliver(pick) => self.deliver(pick).await,
            Action::Lose(pick) => Ok(self.lose(pick).await),
            Action::Duplicate(pick) => Ok(self.duplicate(pick).await),
            Action::Tell { from, to } => Ok(self.tell(*from, *to).await),
            Action::Hear(pick) => self.hear(pick).await,
            action => Ok(action.of_all().map(|kind| self.notes.push(of_all(kind)))),
        }
    }

    /// Tells a node something, and waits until what it sent has arrived.
    async fn order(&mut self, at: ProcessId, order: Move<P>) -> Result<Option<()>, ClusterError> {
        let Some(member) = self.member(at) else { return Ok(None) };
        match member.perform(order).await {
            Some(posted) => self.await_arrival(at, posted).await.map(Some),
            None => Ok(None),
        }
    }

    fn is_down(&self, at: ProcessId) -> bool {
        self.members.get(at.index()).is_some_and(Option::is_none)
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
    fn write_end(&mut self) -> Result<(), ClusterError> {
        let header = Header { source: Source::Parent, ..self.header.clone() };
        let mut writer = Writer::create(self.trace_of_the_whole(), &header)?;
        for note in self.notes.drain(..) {
            writer.write(note)?;
        }
        writer.write(of_all(Kind::End))?;
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
        let group_size = self.header.n;
        let owner = Owner { cluster: "followed".into(), process: at, group_size };
        let directory = self.directory.join(at.number().to_string());
        let store = Store::open(directory, &owner, "followed")?;
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
    async fn await_arrival(
        &mut self,
        from: ProcessId,
        posted: Vec<Posted>,
    ) -> Result<(), ClusterError> {
        for posted in posted {
            let sent = self.sent(from, posted);
            let which = sent.which;
            let to = sent.posted.to;
            self.under_way.push(sent);
            let Some(member) = self.member(to) else { continue };
            patiently(member.wait(Until::Waiting(which))).await?;
        }
        Ok(())
    }

    async fn deliver(&mut self, pick: &Pick) -> Result<Option<()>, ClusterError> {
        let Some(sent) = self.take(pick) else { return Ok(None) };
        let to = sent.posted.to;
        if self.is_down(to) {
            self.note(sent, Kind::Drop).await;
            return Ok(Some(()));
        }
        if !self.is_there(&sent) && self.resend(&sent).await?.is_none() {
            return Ok(None);
        }
        self.order(to, Move::Deliver(sent.which)).await
    }

    /// Whether it waits at its receiver.
    fn is_there(&self, sent: &Sent) -> bool {
        let to = sent.posted.to;
        !self.is_down(to) && sent.meant == self.sessions[to.index()]
    }

    /// Sends once more what was meant for a process that crashed since.
    async fn resend(&mut self, sent: &Sent) -> Result<Option<()>, ClusterError> {
        let (from, to) = (sent.which.from, sent.posted.to);
        let is_the_same = self.sessions[from.index()] == sent.which.session;
        let (Some(sender), Some(receiver)) = (self.member(from), self.member(to)) else {
            return Ok(None);
        };
        if !is_the_same || sender.perform(Move::Resend(sent.posted.clone())).await.is_none() {
            return Ok(None);
        }
        patiently(receiver.wait(Until::Waiting(sent.which))).await?;
        let says = format!(
            "{} {from}→{to} was sent once more: without this it dies with the session that it \
             was meant for",
            sent.posted.kind
        );
        self.notes.push(of_all(Kind::Note(says)));
        Ok(Some(()))
    }

    async fn lose(&mut self, pick: &Pick) -> Option<()> {
        let sent = self.take(pick)?;
        if self.is_there(&sent) {
            self.member(sent.posted.to)?.perform(Move::Lose(sent.which)).await?;
        }
        self.note(sent, Kind::Drop).await;
        Some(())
    }

    async fn duplicate(&mut self, pick: &Pick) -> Option<()> {
        let place = self.pick(pick)?;
        let sent = self.under_way[place].clone();
        if self.is_there(&sent) {
            self.member(sent.posted.to)?.perform(Move::Duplicate(sent.which)).await?;
        }
        self.under_way.insert(place + 1, sent.clone());
        self.note(sent, Kind::Duplicate).await;
        Some(())
    }

    /// Its sender writes down what became of a message, if it still knows of it.
    async fn note(&self, sent: Sent, kind: fn(Passage) -> Kind) {
        let Which { from, session, .. } = sent.which;
        if let Some(sender) = self.member(from).filter(|_| self.sessions[from.index()] == session) {
            // Whoever cannot write stops, and the next action finds that out.
            let _ = sender.perform(Move::Note(sent.posted, kind)).await;
        }
    }

    async fn tell(&mut self, from: ProcessId, to: ProcessId) -> Option<()> {
        let posted = self.member(from)?.perform(Move::Tell(to)).await?;
        let sent = posted.into_iter().map(|posted| self.sent(from, posted));
        let sent: Vec<Sent> = sent.collect();
        self.said.extend(sent);
        Some(())
    }

    async fn hear(&mut self, pick: &Pick) -> Result<Option<()>, ClusterError> {
        let Some(place) = pick.among(self.said.iter().map(Sent::named)) else { return Ok(None) };
        let Sent { which, posted, .. } = self.said.remove(place);
        let clock = postcard::from_bytes::<Option<VectorClock>>(&posted.payload);
        let clock = clock.expect("a clock that was encoded can be decoded");
        if self.is_down(posted.to) {
            return Ok(Some(()));
        }
        self.order(posted.to, Move::Hear(which, clock)).await
    }

    fn pick(&self, pick: &Pick) -> Option<usize> {
        pick.among(self.under_way.iter().map(Sent::named))
    }

    fn take(&mut self, pick: &Pick) -> Option<Sent> {
        self.pick(pick).map(|place| self.under_way.remove(place))
    }

    fn sent(&self, from: ProcessId, posted: Posted) -> Sent {
        let session = self.sessions[from.index()];
        let which = Which { from, session, number: posted.number };
        let meant = self.sessions.get(posted.to.index()).copied().unwrap_or_default();
        Sent { which, posted, meant }
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
