//! The step loop of a node. One task owns the driver, and no other task steps the node.
//!
//! Every message, command, suspicion and timer becomes one input of the node. Messages that depend
//! on the stable state are sent only after the state is on disk. During a save, the loop continues
//! with further inputs. The next save covers all these inputs, and then their effects are released
//! together.
//!
//! The loop sleeps until one of these wakes it: a message, a request, the end of a disk operation,
//! room in the queues to the peers, or the next timer. Scripted runs use another loop (`scripted`)
//! with the same driver.

mod saves;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tenure_core::{
    Group, Input, Node, PeerVerdict, PendingSave, ProcessId, ProcessSet, Protocol, TimerRole,
};
use tenure_trace::{RecordKind, RecordableProtocol};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout_at;
use tracing::warn;

use crate::application::Application;
use crate::envelope::Envelope;
use crate::environment::SystemEnvironment;
use crate::executor::EffectExecutor;
use crate::failure::{NodeFailure, NodeStartError};
use crate::node_components::NodeComponents;
use crate::peer_liveness::LivePeerSessions;
use crate::saved_state::saved_state;
use crate::step_record::StepTraceRecords;
use crate::store::SaveMetrics;
use crate::store_worker::StoreCompletion;
use crate::trace_sink::TraceWriter;
use crate::transport::{Eviction, Inbox, Mesh, MeshEvent, MeshStatus};
use crate::validator::{ValidationError, Validator};
use crate::wake_timer::WakeTimer;

/// Maximum number of pending messages that the loop handles before it fires the due timers. A
/// pending message may show that a silent peer is alive. The same maximum applies to pending
/// requests. Timers that end a lease or pace heartbeats fire before the messages.
const MESSAGES_BEFORE_TIMERS: usize = 256;

/// Threshold for the number of steps that wait for a save. At this number, the loop starts a save
/// even if more inputs have arrived. Below this number, the loop handles these inputs first. More
/// steps may wait while a save is in progress.
const STEPS_BEFORE_SAVING: usize = 256;

/// Maximum number of times that the task yields to other tasks before it saves. The task saves at
/// once if no new input has arrived during a yield.
const YIELDS_BEFORE_SAVING: u32 = 4;

/// Threshold for the number of steps that wait for a save. At this number, the loop accepts no
/// further messages and requests, and fires only timers that end a lease or pace heartbeats.
const MAX_PENDING_STEPS: usize = 4096;

/// Time limit for the delivery of sent messages in a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Time limit for the handover of leadership in a shutdown. Unit tests use a longer limit.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 1 });

/// Upper bound on the round-trip time that a leader assumes during a handover.
const MAX_ROUND_TRIP: Duration = Duration::from_millis(250);

/// Node that was started by [`start_node`].
#[derive(Debug)]
pub struct RunningNode {
    /// Address at which the node listens. If the caller requested port 0, the address contains the
    /// port that the system chose.
    pub address: SocketAddr,
    /// Status of the connections with the peers. The handle outlives the node.
    pub mesh_handle: MeshStatus,
    /// Metrics about the saves of the node.
    pub save_metrics: SaveMetrics,
    /// Sessions of the live peers, as this process sees them.
    pub live_peers: watch::Receiver<LivePeerSessions>,
    /// Task of the node, which ends when the node stops. Its result is the failure that stopped the
    /// node, or `Ok` after a shutdown.
    pub task: JoinHandle<Result<(), NodeFailure>>,
}

/// Boots a process and drives it in a task. The process starts from its saved state if there is
/// one.
///
/// Must be called inside a tokio runtime. A process that saves state uses a thread of its own from
/// the first save on.
///
/// # Errors
///
/// [`NodeStartError`]; nothing is running in that case.
pub fn start_node<P, App>(components: NodeComponents<P, App>) -> Result<RunningNode, NodeStartError>
where
    P: RecordableProtocol,
    App: Application<P>,
{
    let saves = components.store.save_metrics();
    let (driver, inbox, requests, recovered) = prepare_driver(components)?;
    let (address, mesh_handle) = (driver.executor.mesh.address(), driver.executor.mesh.status());
    let live_peers = driver.executor.peer_liveness.watch_live_sessions();
    let task = tokio::spawn(driver.run(inbox, requests, recovered));
    Ok(RunningNode { address, mesh_handle, save_metrics: saves, live_peers, task })
}

/// A driver, its inbox, its requests, and a flag that is true if the process boots from a saved
/// state.
pub(crate) type PreparedDriver<P, App> =
    (Driver<P, App>, Inbox, mpsc::UnboundedReceiver<<App as Application<P>>::Request>, bool);

/// Boots a process and returns its driver, which handles no input until the caller runs it.
pub(crate) fn prepare_driver<P, App>(
    components: NodeComponents<P, App>,
) -> Result<PreparedDriver<P, App>, NodeStartError>
where
    P: RecordableProtocol,
    App: Application<P>,
{
    let NodeComponents { config, transport, store, application, requests, .. } = components;
    let (trace_sink, injection, suspected) =
        (components.trace_sink, components.injection, components.suspected_peers_fn);
    let size = ProcessId::from_index(transport.addresses.len()).0;
    let (me, session) = (transport.me, transport.session);
    let mut validator = Validator::new(size);
    let stable = saved_state::<P>(&store, &mut validator)?;
    let (mesh, inbox) = Mesh::start_with_registry(transport, store.peer_registry())?;
    let recovered = stable.is_some();
    let node = Node::boot(Group::new(me, size), &config, stable, SystemEnvironment::new());
    let trace = TraceWriter::new(trace_sink, me, size, session);
    let executor =
        EffectExecutor::new(mesh, store, validator, application, trace, injection, suspected);
    let sessions = vec![0; size as usize];
    let (departed, warned_peers) = (ProcessSet::new(), ProcessSet::new());
    let wake_timer = WakeTimer::new();
    let (saving, yields) = (None, 0);
    let driver =
        Driver { me, node, executor, saving, yields, wake_timer, sessions, departed, warned_peers };
    Ok((driver, inbox, requests, recovered))
}

pub(crate) struct Driver<P: Protocol, App> {
    me: ProcessId,
    pub(crate) node: Node<P, SystemEnvironment>,
    pub(crate) executor: EffectExecutor<P, App>,
    saving: Option<PendingSave<P::Stable>>,
    /// Number of times that [`Driver::next_wake`] has yielded to other tasks since it last called
    /// [`Driver::save`].
    yields: u32,
    wake_timer: WakeTimer,
    /// For each process, by index: the session of its latest connection. 0 before the first
    /// connection, and for this process.
    pub(crate) sessions: Vec<u64>,
    /// Peers that ended their last session with a goodbye.
    departed: ProcessSet,
    /// Peers that have sent an invalid message. The log contains only the first invalid message of
    /// each peer. The mesh counts all of them.
    warned_peers: ProcessSet,
}

enum Wake<R> {
    Incoming(Option<MeshEvent>),
    Request(Option<R>),
    Disk(StoreCompletion),
    Timer,
}

impl<P, App> Driver<P, App>
where
    P: RecordableProtocol,
    App: Application<P>,
{
    pub(crate) async fn run(
        mut self,
        mut inbox: Inbox,
        mut requests: mpsc::UnboundedReceiver<App::Request>,
        recovered: bool,
    ) -> Result<(), NodeFailure> {
        let served = self.serve(&mut inbox, &mut requests, recovered).await;
        if let Err(failure) = served {
            self.executor.application.on_failure(&failure);
            return Err(failure);
        }
        // Later requests fail immediately.
        drop(requests);
        self.executor.close(SHUTDOWN_TIMEOUT).await
    }

    async fn serve(
        &mut self,
        inbox: &mut Inbox,
        requests: &mut mpsc::UnboundedReceiver<App::Request>,
        recovered: bool,
    ) -> Result<(), NodeFailure> {
        self.boot(recovered)?;
        while !self.executor.application.is_shutdown_requested() {
            self.executor.check_application_error()?;
            self.run_commands()?;
            self.fire_timers(inbox, requests)?;
            // Together with due timers, the loop also handles requests. After a request to shut
            // down, there may be no further input.
            if self.executor.application.is_shutdown_requested() {
                break;
            }
            match self.next_wake(inbox, requests).await? {
                Wake::Incoming(Some(incoming)) => self.on_incoming(incoming)?,
                Wake::Request(Some(request)) => self.on_request(request)?,
                Wake::Disk(done) => self.end_claims_and_release(done)?,
                Wake::Timer => {}
                Wake::Incoming(None) | Wake::Request(None) => break,
            }
        }
        self.hand_over_leadership(inbox, requests).await?;
        self.finish_saves().await?;
        self.executor.check_application_error()
    }

    /// Hands over leadership before a shutdown, and waits until another process leads. Meanwhile
    /// this node continues to respond, so that its successor need not wait for a timeout. Returns
    /// without a handover if this process does not lead, or if the protocol has no command for a
    /// handover.
    ///
    /// The wait ends in each of these cases:
    ///
    /// - No live peer is left: each peer has said goodbye, is suspected, or was never connected.
    /// - This process knows no successor, and four round trips have passed since the handover
    ///   message was sent. This limit covers peers that crashed without a goodbye and are not
    ///   suspected yet.
    /// - One round trip has passed since this process learned who its successor is.
    /// - This process knows no successor, and [`HANDOVER_TIMEOUT`] has passed.
    /// - This process gave up leadership and leads again.
    /// - The mesh is closed.
    async fn hand_over_leadership(
        &mut self,
        inbox: &mut Inbox,
        requests: &mut mpsc::UnboundedReceiver<App::Request>,
    ) -> Result<(), NodeFailure> {
        let mut keeps_leading = self.executor.application.keeps_leading_during_handover();
        // A leader that gives up leadership first saves its state. A leader that continues to lead
        // handles inputs while the disk works.
        if !(keeps_leading && self.is_leader()) {
            self.finish_saves().await?;
        }
        let handover =
            if self.is_leader() { self.executor.application.handover_command() } else { None };
        let Some(handover) = handover else { return Ok(()) };
        self.on_command(handover)?;
        if !keeps_leading {
            self.finish_saves().await?;
        }
        let round_trip = self.executor.mesh.max_round_trip().min(MAX_ROUND_TRIP);
        // The handover message is sent only after a save. Until then, only this limit applies.
        let latest = tokio::time::Instant::now() + HANDOVER_TIMEOUT;
        let (mut until, mut is_handover_sent, mut has_successor) = (latest, false, false);
        // If a leader leads until it is replaced, the node handles requests during the whole
        // handover. Otherwise requests stay in their queue.
        let (_open, mut no_requests) = mpsc::unbounded_channel();
        let mut requests = if keeps_leading { requests } else { &mut no_requests };
        while (keeps_leading || !self.is_leader()) && self.executor.peer_liveness.has_live_peers() {
            self.executor.check_application_error()?;
            keeps_leading &= self.is_leader();
            if !is_handover_sent && !self.node.has_pending_effects() {
                is_handover_sent = true;
                until = latest.min(tokio::time::Instant::now() + 4 * round_trip);
            }
            if !has_successor && !keeps_leading && self.executor.application.leader_term().is_some()
            {
                has_successor = true;
                until = tokio::time::Instant::now() + round_trip;
            }
            self.run_commands()?;
            self.fire_timers(inbox, requests)?;
            match timeout_at(until, self.next_wake(inbox, requests)).await {
                Ok(wake) => match wake? {
                    Wake::Incoming(Some(incoming)) => self.on_incoming(incoming)?,
                    Wake::Incoming(None) => break,
                    Wake::Disk(done) => self.end_claims_and_release(done)?,
                    Wake::Request(Some(request)) => self.on_request(request)?,
                    Wake::Request(None) => requests = &mut no_requests,
                    Wake::Timer => {}
                },
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn is_leader(&self) -> bool {
        self.executor.application.leader_term().is_some_and(|term| term.leader == self.me)
    }

    /// Waits for the next input. Returns [`Wake::Timer`] if a command or a timer is due, or if a
    /// queue to a peer has room again. Before it starts a save, returns the inputs that have
    /// already arrived, so that one save covers them. Flushes the trace just before the task
    /// sleeps, because no input then waits for the flush.
    async fn next_wake(
        &mut self,
        inbox: &mut Inbox,
        requests: &mut mpsc::UnboundedReceiver<App::Request>,
    ) -> Result<Wake<App::Request>, NodeFailure> {
        if let Some(done) = self.executor.store_worker.try_next_completion() {
            return Ok(Wake::Disk(done));
        }
        let has_room =
            self.executor.pending_steps.len() < STEPS_BEFORE_SAVING || self.saving.is_some();
        if has_room && let Some(wake) = self.try_next_wake(inbox, requests) {
            return Ok(wake);
        }
        let saves = self.saving.is_none() && !self.executor.pending_steps.is_empty();
        if saves && has_room && self.yields < YIELDS_BEFORE_SAVING {
            self.yields += 1;
            // The task yields before it starts the save. The links can then write messages before
            // the disk thread wakes, and the save covers inputs that arrive meanwhile.
            tokio::task::yield_now().await;
            if let Some(wake) = self.try_next_wake(inbox, requests) {
                return Ok(wake);
            }
        }
        self.save()?;
        self.yields = 0;
        let has_capacity = self.has_capacity();
        // Without capacity, leases still end and heartbeats are still sent.
        let deadline = self
            .executor
            .timers
            .next_deadline_if(|timer| has_capacity || P::timer_role(timer).precedes_messages());
        // The call of `save` may have released effects, and thereby added a command or a timer that
        // is due now. A sleep of the runtime would then take at least 1 ms, so the function returns
        // at once.
        let is_due = deadline.is_some_and(|deadline| deadline <= Instant::now());
        if !self.executor.commands.is_empty() || is_due {
            return Ok(Wake::Timer);
        }
        let EffectExecutor { store_worker, mesh, trace, .. } = &mut self.executor;
        trace.flush()?;
        let timer = self.wake_timer.wait_until(deadline);
        let room = mesh.accepts_user_requests();
        Ok(tokio::select! {
            done = store_worker.next_completion() => Wake::Disk(done),
            incoming = inbox.receive(), if has_capacity => Wake::Incoming(incoming),
            request = requests.recv(), if has_capacity && room => Wake::Request(request),
            () = mesh.wait_until_accepting(), if !room => Wake::Timer,
            () = timer => Wake::Timer,
        })
    }

    /// Returns an input that has already arrived, or [`Wake::Timer`] if a command is queued.
    /// Returns `None` if there is none, or if too many steps wait for the disk. Takes a user
    /// request only if a step waits for a save and the mesh has room.
    fn try_next_wake(
        &mut self,
        inbox: &mut Inbox,
        requests: &mut mpsc::UnboundedReceiver<App::Request>,
    ) -> Option<Wake<App::Request>> {
        if !self.executor.commands.is_empty() {
            return Some(Wake::Timer);
        }
        if !self.has_capacity() {
            return None;
        }
        if let Some(incoming) = inbox.try_receive() {
            return Some(Wake::Incoming(Some(incoming)));
        }
        let saves_soon =
            !self.executor.pending_steps.is_empty() && self.executor.mesh.accepts_user_requests();
        let request = saves_soon.then(|| requests.try_recv().ok()).flatten();
        request.map(|request| Wake::Request(Some(request)))
    }

    /// Returns true if the loop may accept further messages and requests. Returns false while too
    /// many steps wait for the disk.
    fn has_capacity(&self) -> bool {
        self.executor.pending_steps.len() < MAX_PENDING_STEPS
    }

    fn run_commands(&mut self) -> Result<(), NodeFailure> {
        while let Some(command) = self.executor.commands.pop_front() {
            self.fire_preceding_timers()?;
            self.on_command(command)?;
        }
        Ok(())
    }

    /// Fires the due timers. Between timers, handles messages and requests that have already
    /// arrived. Does nothing if no timer is due. While too many steps wait for the disk, fires only
    /// the timers in the first group. The order is:
    ///
    /// 1. timers that end a lease or pace heartbeats
    /// 2. messages and requests
    /// 3. all other timers
    ///
    /// Timers that measure the silence of a peer are first deferred until the links have had time
    /// to read their sockets. The deferral is longer if the operating system scheduled this process
    /// late, because a heartbeat may have arrived meanwhile.
    fn fire_timers(
        &mut self,
        inbox: &mut Inbox,
        requests: &mut mpsc::UnboundedReceiver<App::Request>,
    ) -> Result<(), NodeFailure> {
        if !self.executor.timers.has_due() {
            return Ok(());
        }
        self.fire_preceding_timers()?;
        if !self.has_capacity() {
            return Ok(());
        }
        let measures = |timer: &P::Timer| P::timer_role(timer) == TimerRole::MeasuresSilence;
        self.executor.timers.defer_silence_timers(Instant::now(), measures);
        for _ in 0..MESSAGES_BEFORE_TIMERS {
            let Some(incoming) = inbox.try_receive() else { break };
            self.on_incoming(incoming)?;
        }
        for _ in 0..MESSAGES_BEFORE_TIMERS {
            let has_capacity = self.has_capacity() && self.executor.mesh.accepts_user_requests();
            let Some(request) = has_capacity.then(|| requests.try_recv().ok()).flatten() else {
                break;
            };
            self.on_request(request)?;
        }
        self.run_commands()?;
        while let Some(timer) = self.executor.timers.take_due(Instant::now()) {
            self.on_timer(timer)?;
        }
        Ok(())
    }

    /// Fires the due timers that end a lease or pace heartbeats. The loop calls this function
    /// before each message, request, command and end of a save, because the operating system may
    /// have suspended the process since the last call.
    fn fire_preceding_timers(&mut self) -> Result<(), NodeFailure> {
        let precedes = |timer: &P::Timer| P::timer_role(timer).precedes_messages();
        while let Some(timer) = self.executor.timers.take_due_if(Instant::now(), precedes) {
            self.on_timer(timer)?;
        }
        Ok(())
    }

    fn on_request(&mut self, request: App::Request) -> Result<(), NodeFailure> {
        self.fire_preceding_timers()?;
        self.executor.on_request(request);
        Ok(())
    }

    fn on_incoming(&mut self, incoming: MeshEvent) -> Result<(), NodeFailure> {
        self.fire_preceding_timers()?;
        match incoming {
            MeshEvent::Message { from, session, payload } => {
                self.on_message(from, session, &payload)
            }
            MeshEvent::PeerConnected { peer, session } => self.on_peer_up(peer, session),
            // The peer may reconnect, so the protocol does not suspect it. The link has logged the
            // loss.
            MeshEvent::PeerDisconnected { .. } => Ok(()),
            MeshEvent::PeerSessionEnded { peer, session } => self.on_peer_left(peer, session),
            MeshEvent::Evicted(evicted) => self.on_evicted(evicted),
        }
    }

    /// Records in the trace that the peers have evicted this node. Returns the failure that stops
    /// the node.
    fn on_evicted(&mut self, evicted: Eviction) -> Result<(), NodeFailure> {
        self.executor.trace.record(RecordKind::Note(format!("evicted: {evicted}")))?;
        self.executor.trace.record(RecordKind::End)?;
        self.executor.trace.flush()?;
        Err(evicted.into())
    }

    pub(crate) fn on_message(
        &mut self,
        from: ProcessId,
        session: u64,
        payload: &[u8],
    ) -> Result<(), NodeFailure> {
        let checked =
            Envelope::<P::Message>::decode(payload).ok_or(ValidationError::Unreadable).and_then(
                |envelope| self.executor.validator.check_message(&envelope).map(|()| envelope),
            );
        let Envelope { number, clock, message } = match checked {
            Ok(envelope) => envelope,
            Err(why) => {
                self.reject_message(from, session, &why);
                return Ok(());
            }
        };
        let cause = self.executor.trace.recorded_message_kind(
            &message,
            from,
            session,
            number,
            RecordKind::Receive,
        );
        let step_record =
            StepTraceRecords { sender_clock: clock, cause, ..StepTraceRecords::default() };
        self.step(Input::Message { from, message }, step_record)
    }

    fn reject_message(&mut self, from: ProcessId, session: u64, why: &ValidationError) {
        if self.warned_peers.insert(from) {
            // Later invalid messages of this peer are only counted.
            let peer = self.executor.mesh.name(from);
            warn!(%peer, session, reason = %why, "invalid message, connection closed");
        }
        self.executor.mesh.report_invalid_message(from, session);
    }

    /// Handles a new connection of a peer. A new session proves that the peer's earlier session has
    /// ended. The protocol then suspects the peer, unless the peer said goodbye, and trusts it
    /// again. The first session of a peer, or a reconnection in the same session, changes no
    /// verdict.
    fn on_peer_up(&mut self, peer: ProcessId, session: u64) -> Result<(), NodeFailure> {
        let known = std::mem::replace(&mut self.sessions[peer.index()], session);
        self.executor.peer_liveness.on_peer_up(peer, session);
        if known == 0 || known == session {
            return Ok(());
        }
        if !self.departed.remove(peer) {
            self.on_suspicion(peer, PeerVerdict::Suspect)?;
        }
        self.on_suspicion(peer, PeerVerdict::Trust)
    }

    /// Handles the goodbye of a peer. The goodbye proves that the peer's session has ended, so the
    /// protocol suspects the peer, as after a crash. Ignores a repeated goodbye, and the goodbye of
    /// an earlier session.
    fn on_peer_left(&mut self, peer: ProcessId, session: u64) -> Result<(), NodeFailure> {
        if self.sessions[peer.index()] != session || !self.departed.insert(peer) {
            return Ok(());
        }
        self.on_suspicion(peer, PeerVerdict::Suspect)
    }

    pub(crate) fn boot(&mut self, is_recovery: bool) -> Result<(), NodeFailure> {
        let cause = if is_recovery { RecordKind::Recover } else { RecordKind::Boot };
        self.executor.execute_or_hold(self.node.boot_step(), StepTraceRecords::with_cause(cause))
    }

    pub(crate) fn on_command(&mut self, command: P::Command) -> Result<(), NodeFailure> {
        let cause =
            self.executor.trace.describe_if_enabled(|| RecordKind::Command(command.clone().into()));
        self.step(
            Input::Command(command),
            StepTraceRecords { cause, ..StepTraceRecords::default() },
        )
    }

    pub(crate) fn on_suspicion(
        &mut self,
        peer: ProcessId,
        verdict: PeerVerdict,
    ) -> Result<(), NodeFailure> {
        let cause = RecordKind::Suspicion { peer, verdict };
        self.executor.record_verdict(peer, verdict);
        self.step(Input::Suspicion { peer, verdict }, StepTraceRecords::with_cause(cause))
    }

    /// Passes a fired timer to the node. The caller has already disarmed the timer.
    pub(crate) fn on_timer(&mut self, timer: P::Timer) -> Result<(), NodeFailure> {
        let timer_name = self.executor.trace.describe_if_enabled(|| format!("{timer:?}"));
        self.step(
            Input::Timer(timer),
            StepTraceRecords { timer_name, ..StepTraceRecords::default() },
        )
    }

    /// Passes an input to the node. Executes the effects, or holds them back until a save. Every
    /// input reaches the node through this function.
    fn step(&mut self, input: Input<P>, step_record: StepTraceRecords) -> Result<(), NodeFailure> {
        self.executor.execute_or_hold(self.node.step(input), step_record)
    }
}
