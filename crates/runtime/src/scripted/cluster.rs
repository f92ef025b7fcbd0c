//! Performs the actions of a schedule one by one on a cluster of real nodes. All nodes run on one
//! machine.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::{ProcessId, Protocol, VectorClock};
use tenure_trace::{
    ActionError, AppendError, ClockUnit, CreateError, Header, MessageRecord, MessageSelector,
    Record, RecordKind, RecordSubject, RecordableProtocol, Schedule, ScheduleReplayError,
    ScriptAction, ScriptRunner, ServiceCommand, TraceProducer, WriteError, Writer, unix_time_nanos,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::node::{MessageId, NodeAction, NodeCondition, ScriptedNode};
use crate::application::PassthroughApplication;
use crate::executor::SentMessage;
use crate::failure::NodeStartError;
use crate::node_components::NodeComponents;
use crate::store::{OpenError, StableStorage, StateOwner};
use crate::trace_sink::TraceSink;
use crate::transport::{Listen, MeshSettings, MeshStartError};

const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Reason why real nodes could not perform a schedule. No node is left running, and the traces
/// remain on disk.
#[derive(Debug, thiserror::Error)]
pub enum ScriptedClusterError {
    /// A node has ended, or did not connect or receive a message in time.
    #[error("a sent message did not arrive in time, or a node ended")]
    Timeout,
    /// No port was available.
    #[error("cannot bind a port on the loopback interface: {0}")]
    Port(#[source] std::io::Error),
    /// The asynchronous runtime could not be created.
    #[error("cannot create the asynchronous runtime: {0}")]
    Runtime(#[source] std::io::Error),
    /// A store could not be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// A node did not start.
    #[error(transparent)]
    Start(#[from] NodeStartError),
    /// A trace could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A trace could not be continued.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A trace could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Performs a schedule on real nodes that communicate over TCP on the loopback interface. Returns
/// the paths of the traces.
///
/// Each message travels to its receiver and waits there until the schedule delivers it. Each node
/// saves its state and its trace, with the given header, in `directory`. The nodes run on the
/// calling thread, which must not belong to an asynchronous runtime.
///
/// In a model of a network, a message can arrive after its receiver has restarted. Real nodes drop
/// such a message. If the schedule delivers such a message, its sender sends it again. The trace of
/// the run then contains a note about the repetition.
///
/// # Errors
///
/// [`ScheduleReplayError`] if a node did not start, if a trace could not be written, or at the
/// first impossible step. Some steps of models are impossible over TCP. For instance, a message is
/// lost if its sender and its receiver have both restarted. No node is left running.
pub fn run_schedule_on_nodes<P: RecordableProtocol>(
    schedule: &Schedule,
    config: impl Fn(ProcessId) -> P::Config,
    directory: &Path,
    header: &Header,
) -> Result<Vec<PathBuf>, ScheduleReplayError<ScriptedClusterError>> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let mut nodes = ScriptedCluster {
        runtime: runtime.map_err(ScriptedClusterError::Runtime)?,
        cluster: Cluster::<P> {
            configs: (0..schedule.size).map(|index| config(ProcessId(index))).collect(),
            directory: directory.to_owned(),
            header: Header {
                source: TraceProducer::Node,
                clock: ClockUnit::Nanosecond,
                n: schedule.size,
                ..header.clone()
            },
            addresses: addresses(schedule.size)?,
            members: (0..schedule.size).map(|_| None).collect(),
            sessions: vec![0; schedule.size as usize],
            in_flight: Vec::new(),
            application_messages: Vec::new(),
            notes: Vec::new(),
        },
    };
    let booted = nodes.runtime.block_on(nodes.cluster.boot_all(&schedule.down_at_start));
    let outcome = booted.map_err(ScheduleReplayError::from).and_then(|()| nodes.replay(schedule));
    let ScriptedCluster { runtime, mut cluster } = nodes;
    for index in 0..schedule.size {
        runtime.block_on(cluster.stop(ProcessId(index)));
    }
    outcome?;
    cluster.write_run_trace()?;
    let processes = (0..schedule.size).map(|index| cluster.trace_path(ProcessId(index)));
    let traces = processes.chain([cluster.run_trace_path()]);
    Ok(traces.filter(|path| path.exists()).collect())
}

async fn with_timeout(
    waiting: impl Future<Output = Option<()>>,
) -> Result<(), ScriptedClusterError> {
    timeout(ARRIVAL_TIMEOUT, waiting).await.ok().flatten().ok_or(ScriptedClusterError::Timeout)
}

/// Creates a record of the parent, which is the program that starts and controls the nodes. The
/// record belongs to no single process.
fn run_record(kind: RecordKind) -> Record {
    Record::new(unix_time_nanos(), RecordSubject::Parent, kind)
}

fn addresses(size: u32) -> Result<Vec<SocketAddr>, ScriptedClusterError> {
    let bound: Result<Vec<_>, _> = (0..size).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let addresses = bound.map_err(ScriptedClusterError::Port)?;
    let addresses: Result<Vec<_>, _> = addresses.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(ScriptedClusterError::Port)
}

#[derive(Clone, Debug)]
struct InFlight {
    id: MessageId,
    message: SentMessage,
    /// Session of the receiver when the message was sent.
    receiver_session: u64,
}

impl InFlight {
    const fn route(&self) -> (ProcessId, ProcessId, &'static str) {
        (self.id.from, self.message.to, self.message.kind)
    }
}

struct ScriptedCluster<P: Protocol> {
    runtime: Runtime,
    cluster: Cluster<P>,
}

impl<P: RecordableProtocol> ScriptRunner for ScriptedCluster<P> {
    fn perform(&mut self, action: &ScriptAction) -> Result<(), ActionError> {
        match self.runtime.block_on(self.cluster.perform(action)) {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(ActionError::for_impossible_action::<P::Command>(action)),
            Err(error) => Err(ActionError::EngineFailed(error.to_string())),
        }
    }
}

struct Cluster<P: Protocol> {
    configs: Vec<P::Config>,
    directory: PathBuf,
    header: Header,
    addresses: Vec<SocketAddr>,
    /// For each process, by index: its running node; `None` while the process is down.
    members: Vec<Option<ScriptedNode<P>>>,
    sessions: Vec<u64>,
    /// Undelivered messages of the protocol, oldest first.
    in_flight: Vec<InFlight>,
    application_messages: Vec<InFlight>,
    /// Records that concern the whole run instead of one process.
    notes: Vec<Record>,
}

impl<P: RecordableProtocol> Cluster<P> {
    /// Boots all processes. First, each process in `down` boots alone and crashes, so that it has a
    /// saved state when it recovers. Then all other processes boot.
    async fn boot_all(&mut self, down: &[ProcessId]) -> Result<(), ScriptedClusterError> {
        for at in down {
            self.start(*at).await?;
            if let Some(member) = self.member(*at) {
                member.perform(NodeAction::Boot).await.ok_or(ScriptedClusterError::Timeout)?;
            }
            self.crash(*at).await?;
        }
        let processes: Vec<ProcessId> = (0..self.header.n).map(ProcessId).collect();
        for at in processes.iter().filter(|at| !down.contains(at)) {
            self.start(*at).await?;
        }
        for at in processes {
            self.boot(at).await?;
        }
        Ok(())
    }

    /// Performs one action. Returns `None` if the action is impossible.
    async fn perform(&mut self, action: &ScriptAction) -> Result<Option<()>, ScriptedClusterError> {
        match action {
            ScriptAction::Crash(at) if self.member(*at).is_some() => {
                self.crash(*at).await.map(Some)
            }
            ScriptAction::Recover(at) if self.is_down(*at) => {
                self.start(*at).await?;
                self.boot(*at).await.map(Some)
            }
            ScriptAction::Command(asking) => match P::Command::from_script_command(asking) {
                Some(command) => self.perform_at(asking.at, NodeAction::Command(command)).await,
                None => Ok(None),
            },
            // The choices of a boot cannot be forced in advance.
            ScriptAction::Choose { at, .. } if self.is_down(*at) => Ok(Some(())),
            ScriptAction::Choose { at, value } => {
                self.perform_at(*at, NodeAction::Choose(*value)).await
            }
            ScriptAction::Fire { at, timer } => {
                self.perform_at(*at, NodeAction::Fire(timer.clone())).await
            }
            ScriptAction::Suspicion { at, peer, verdict } => {
                self.perform_at(*at, NodeAction::Suspicion(*peer, *verdict)).await
            }
            ScriptAction::Deliver(pick) => self.deliver(pick).await,
            ScriptAction::Lose(pick) => Ok(self.lose(pick).await),
            ScriptAction::Duplicate(pick) => Ok(self.duplicate(pick).await),
            ScriptAction::Tell { from, to } => Ok(self.send_application_message(*from, *to).await),
            ScriptAction::Hear(pick) => self.receive_application_message(pick).await,
            action => {
                Ok(action.partition_change_record().map(|kind| self.notes.push(run_record(kind))))
            }
        }
    }

    /// Performs an action at a node. Then waits until the messages that the node sent have arrived.
    /// Returns `None` if the node is down or the action is impossible.
    async fn perform_at(
        &mut self,
        at: ProcessId,
        action: NodeAction<P>,
    ) -> Result<Option<()>, ScriptedClusterError> {
        let Some(member) = self.member(at) else { return Ok(None) };
        match member.perform(action).await {
            Some(messages) => self.await_arrival(at, messages).await.map(Some),
            None => Ok(None),
        }
    }

    fn is_down(&self, at: ProcessId) -> bool {
        self.members.get(at.index()).is_some_and(Option::is_none)
    }

    fn member(&self, at: ProcessId) -> Option<&ScriptedNode<P>> {
        self.members.get(at.index())?.as_ref()
    }

    fn trace_path(&self, at: ProcessId) -> PathBuf {
        self.directory.join(format!("{}.ndjson", at.display_number()))
    }

    fn run_trace_path(&self) -> PathBuf {
        self.directory.join("run.ndjson")
    }

    fn write_run_trace(&mut self) -> Result<(), ScriptedClusterError> {
        let header = Header { source: TraceProducer::Parent, ..self.header.clone() };
        let mut writer = Writer::create(self.run_trace_path(), &header)?;
        for note in self.notes.drain(..) {
            writer.write(note)?;
        }
        writer.write(run_record(RecordKind::End))?;
        Ok(writer.flush()?)
    }

    async fn start(&mut self, at: ProcessId) -> Result<(), ScriptedClusterError> {
        let started = Instant::now();
        loop {
            match self.try_start(at) {
                // The port of a killed node becomes free a moment later.
                Err(ScriptedClusterError::Start(NodeStartError::Transport(
                    MeshStartError::AddressTaken { .. },
                ))) if started.elapsed() < ARRIVAL_TIMEOUT => {
                    sleep(Duration::from_millis(20)).await;
                }
                outcome => return outcome,
            }
        }
    }

    fn try_start(&mut self, at: ProcessId) -> Result<(), ScriptedClusterError> {
        let group_size = self.header.n;
        let owner = StateOwner { cluster: "followed".into(), process: at, group_size };
        let directory = self.directory.join(at.display_number().to_string());
        let store = StableStorage::open(directory, &owner, "followed")?;
        let writer = Writer::open_to_append(self.trace_path(at), &self.header)?;
        let session = store.session();
        let (local, _) = PassthroughApplication::<P>::new();
        let (_, requests) = mpsc::unbounded_channel();
        let member = ScriptedNode::start(NodeComponents {
            trace_sink: TraceSink::writing_to(writer, true),
            ..NodeComponents::new(
                self.configs[at.index()].clone(),
                MeshSettings::on_loopback(
                    "followed",
                    at,
                    session,
                    self.addresses.iter().map(SocketAddr::to_string).collect(),
                    Listen::Address(self.addresses[at.index()]),
                ),
                store,
                local,
                requests,
            )
        })?;
        self.sessions[at.index()] = session;
        self.members[at.index()] = Some(member);
        Ok(())
    }

    async fn boot(&mut self, at: ProcessId) -> Result<(), ScriptedClusterError> {
        let Some(member) = self.member(at) else { return Ok(()) };
        self.await_connections(at, member).await?;
        let messages =
            member.perform(NodeAction::Boot).await.ok_or(ScriptedClusterError::Timeout)?;
        self.await_arrival(at, messages).await
    }

    /// Waits until the process and all running peers know each other's sessions, so that later
    /// messages are sent to these sessions.
    async fn await_connections(
        &self,
        at: ProcessId,
        mine: &ScriptedNode<P>,
    ) -> Result<(), ScriptedClusterError> {
        for (index, other) in self.members.iter().enumerate() {
            let peer = ProcessId::from_index(index);
            let Some(other) = other.as_ref().filter(|_| peer != at) else { continue };
            with_timeout(
                mine.wait_for_condition(NodeCondition::PeerConnected(peer, self.sessions[index])),
            )
            .await?;
            with_timeout(
                other.wait_for_condition(NodeCondition::PeerConnected(
                    at,
                    self.sessions[at.index()],
                )),
            )
            .await?;
        }
        Ok(())
    }

    /// Adds the messages to the undelivered messages. Waits until they have arrived at those
    /// receivers that are running.
    async fn await_arrival(
        &mut self,
        from: ProcessId,
        messages: Vec<SentMessage>,
    ) -> Result<(), ScriptedClusterError> {
        for message in messages {
            let sent = self.in_flight(from, message);
            let id = sent.id;
            let to = sent.message.to;
            self.in_flight.push(sent);
            let Some(member) = self.member(to) else { continue };
            with_timeout(member.wait_for_condition(NodeCondition::MessageArrived(id))).await?;
        }
        Ok(())
    }

    async fn deliver(
        &mut self,
        pick: &MessageSelector,
    ) -> Result<Option<()>, ScriptedClusterError> {
        let Some(sent) = self.take(pick) else { return Ok(None) };
        let to = sent.message.to;
        if self.is_down(to) {
            self.record_outcome(sent, RecordKind::Drop).await;
            return Ok(Some(()));
        }
        if !self.has_arrived(&sent) && self.resend(&sent).await?.is_none() {
            return Ok(None);
        }
        self.perform_at(to, NodeAction::Deliver(sent.id)).await
    }

    fn has_arrived(&self, sent: &InFlight) -> bool {
        let to = sent.message.to;
        !self.is_down(to) && sent.receiver_session == self.sessions[to.index()]
    }

    /// Makes the sender send a message again, because the receiver has crashed since the message
    /// was first sent. Waits until the message has arrived. Returns `None` if the sender or the
    /// receiver is down, or if the sender has started another session.
    async fn resend(&mut self, sent: &InFlight) -> Result<Option<()>, ScriptedClusterError> {
        let (from, to) = (sent.id.from, sent.message.to);
        let is_same_session = self.sessions[from.index()] == sent.id.session;
        let (Some(sender), Some(receiver)) = (self.member(from), self.member(to)) else {
            return Ok(None);
        };
        if !is_same_session
            || sender.perform(NodeAction::Resend(sent.message.clone())).await.is_none()
        {
            return Ok(None);
        }
        with_timeout(receiver.wait_for_condition(NodeCondition::MessageArrived(sent.id))).await?;
        let note = format!(
            "{} {from}→{to} was sent again, because a message ends with the session of its \
             receiver",
            sent.message.kind
        );
        self.notes.push(run_record(RecordKind::Note(note)));
        Ok(Some(()))
    }

    async fn lose(&mut self, pick: &MessageSelector) -> Option<()> {
        let sent = self.take(pick)?;
        if self.has_arrived(&sent) {
            self.member(sent.message.to)?.perform(NodeAction::Lose(sent.id)).await?;
        }
        self.record_outcome(sent, RecordKind::Drop).await;
        Some(())
    }

    async fn duplicate(&mut self, pick: &MessageSelector) -> Option<()> {
        let index = self.pick(pick)?;
        let sent = self.in_flight[index].clone();
        if self.has_arrived(&sent) {
            self.member(sent.message.to)?.perform(NodeAction::Duplicate(sent.id)).await?;
        }
        self.in_flight.insert(index + 1, sent.clone());
        self.record_outcome(sent, RecordKind::Duplicate).await;
        Some(())
    }

    /// Tells the sender to record the outcome of a message, such as its loss. Does nothing if the
    /// sender's session has ended.
    async fn record_outcome(&self, sent: InFlight, kind: fn(MessageRecord) -> RecordKind) {
        let MessageId { from, session, .. } = sent.id;
        if let Some(sender) = self.member(from).filter(|_| self.sessions[from.index()] == session) {
            // A node that cannot write its trace stops, and the next action fails.
            let _ = sender.perform(NodeAction::RecordOutcome(sent.message, kind)).await;
        }
    }

    async fn send_application_message(&mut self, from: ProcessId, to: ProcessId) -> Option<()> {
        let messages = self.member(from)?.perform(NodeAction::SendApplication(to)).await?;
        let sent = messages.into_iter().map(|message| self.in_flight(from, message));
        let sent: Vec<InFlight> = sent.collect();
        self.application_messages.extend(sent);
        Some(())
    }

    async fn receive_application_message(
        &mut self,
        pick: &MessageSelector,
    ) -> Result<Option<()>, ScriptedClusterError> {
        let Some(index) = pick.index_in(self.application_messages.iter().map(InFlight::route))
        else {
            return Ok(None);
        };
        let InFlight { id, message, .. } = self.application_messages.remove(index);
        let clock = postcard::from_bytes::<Option<VectorClock>>(&message.payload);
        let clock = clock.expect("an encoded clock can be decoded");
        if self.is_down(message.to) {
            return Ok(Some(()));
        }
        self.perform_at(message.to, NodeAction::ReceiveApplication(id, clock)).await
    }

    fn pick(&self, pick: &MessageSelector) -> Option<usize> {
        pick.index_in(self.in_flight.iter().map(InFlight::route))
    }

    fn take(&mut self, pick: &MessageSelector) -> Option<InFlight> {
        self.pick(pick).map(|index| self.in_flight.remove(index))
    }

    fn in_flight(&self, from: ProcessId, message: SentMessage) -> InFlight {
        let session = self.sessions[from.index()];
        let id = MessageId { from, session, number: message.number };
        let receiver_session = self.sessions.get(message.to.index()).copied().unwrap_or_default();
        InFlight { id, message, receiver_session }
    }

    async fn crash(&mut self, at: ProcessId) -> Result<(), ScriptedClusterError> {
        self.stop(at).await;
        let mut writer = Writer::open_to_append(self.trace_path(at), &self.header)?;
        let session = self.sessions[at.index()];
        writer.write(Record::new(unix_time_nanos(), at, RecordKind::Crash).in_session(session))?;
        Ok(writer.flush()?)
    }

    /// Kills a node. Its trace is complete, because a node flushes its trace after each action.
    async fn stop(&mut self, at: ProcessId) {
        let Some(member) = self.members[at.index()].take() else { return };
        member.task.abort();
        // The task was cancelled, so its result is of no interest.
        let _ = member.task.await;
    }
}
