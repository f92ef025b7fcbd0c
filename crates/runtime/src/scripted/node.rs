//! A node that performs single actions on request, under the control of a schedule.

use tenure_core::{PeerVerdict, ProcessId, Protocol, VectorClock};
use tenure_trace::{MessageRecord, RecordKind, RecordableProtocol, find_timer};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::application::Application;
use crate::driver::{Driver, prepare_driver};
use crate::envelope::Envelope;
use crate::executor::SentMessage;
use crate::failure::{NodeFailure, NodeStartError};
use crate::node_components::NodeComponents;
use crate::transport::{Inbox, MeshEvent};

/// Identity of a message: sender, session and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId {
    pub(super) from: ProcessId,
    pub(super) session: u64,
    pub(super) number: u64,
}

pub(super) enum NodeAction<P: Protocol> {
    /// Performs no step. Returns the messages that the process has already sent during its boot.
    Boot,
    Command(P::Command),
    Deliver(MessageId),
    Lose(MessageId),
    Duplicate(MessageId),
    /// Sends a message again, because the receiver has crashed since the message was first sent.
    Resend(SentMessage),
    /// Records in the trace what happened to a sent message, such as its loss.
    RecordOutcome(SentMessage, fn(MessageRecord) -> RecordKind),
    /// Sends a message of the application to a process.
    SendApplication(ProcessId),
    /// Receives a message that the application of a peer has sent, with the vector clock of the
    /// sender.
    ReceiveApplication(MessageId, Option<VectorClock>),
    /// Forces the next random choice of the next step. Several such actions before this step force
    /// its choices in order.
    Choose(u32),
    Fire(String),
    Suspicion(ProcessId, PeerVerdict),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum NodeCondition {
    /// The message has arrived and waits at this node.
    MessageArrived(MessageId),
    /// The node is connected with this session of the peer, or with a later session of the peer.
    PeerConnected(ProcessId, u64),
}

enum NodeRequest<P: Protocol> {
    Perform(NodeAction<P>, oneshot::Sender<Option<Vec<SentMessage>>>),
    Wait(NodeCondition, oneshot::Sender<()>),
}

/// Handle of a node that performs actions on request.
pub(super) struct ScriptedNode<P: Protocol> {
    requests: mpsc::UnboundedSender<NodeRequest<P>>,
    pub(super) task: JoinHandle<Result<(), NodeFailure>>,
}

impl<P: Protocol> ScriptedNode<P> {
    /// Boots a process that then performs steps only on request.
    pub(super) fn start<App>(components: NodeComponents<P, App>) -> Result<Self, NodeStartError>
    where
        P: RecordableProtocol,
        App: Application<P>,
    {
        let (mut driver, inbox, _, recovered) = prepare_driver(components)?;
        driver.executor.sent_messages = Some(Vec::new());
        let (requests, receiver) = mpsc::unbounded_channel();
        let scripted = ScriptedDriver { driver, waiting: Vec::new(), waiters: Vec::new() };
        let task = tokio::spawn(scripted.run(inbox, receiver, recovered));
        Ok(ScriptedNode { requests, task })
    }

    /// Performs an action and returns the messages that the node sent because of it. Returns `None`
    /// if the action is impossible or the node has ended.
    pub(super) async fn perform(&self, action: NodeAction<P>) -> Option<Vec<SentMessage>> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(NodeRequest::Perform(action, answer)).ok()?;
        answered.await.ok().flatten()
    }

    /// Waits for a condition. Returns `None` if the node ends first.
    pub(super) async fn wait_for_condition(&self, condition: NodeCondition) -> Option<()> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(NodeRequest::Wait(condition, answer)).ok()?;
        answered.await.ok()
    }
}

struct ScriptedDriver<P: Protocol, App> {
    driver: Driver<P, App>,
    /// Messages that have arrived and were not delivered yet, oldest first.
    waiting: Vec<(MessageId, Vec<u8>)>,
    waiters: Vec<(NodeCondition, oneshot::Sender<()>)>,
}

impl<P, App> ScriptedDriver<P, App>
where
    P: RecordableProtocol,
    App: Application<P>,
{
    async fn run(
        mut self,
        mut inbox: Inbox,
        mut requests: mpsc::UnboundedReceiver<NodeRequest<P>>,
        recovered: bool,
    ) -> Result<(), NodeFailure> {
        self.driver.boot(recovered)?;
        self.driver.flush_saves().await?;
        loop {
            self.driver.executor.trace.flush()?;
            tokio::select! {
                incoming = inbox.receive() => match incoming {
                    Some(incoming) => self.take(incoming),
                    None => return Ok(()),
                },
                request = requests.recv() => match request {
                    Some(NodeRequest::Perform(action, answer)) => {
                        let sent = self.perform(action).await?;
                        self.driver.executor.trace.flush()?;
                        // The caller may have stopped waiting.
                        let _ = answer.send(sent);
                    }
                    Some(NodeRequest::Wait(condition, answer)) => {
                        self.waiters.push((condition, answer));
                    }
                    None => return self.driver.executor.close(std::time::Duration::ZERO).await,
                },
            }
            self.notify_waiters();
        }
    }

    fn take(&mut self, incoming: MeshEvent) {
        match incoming {
            MeshEvent::Message { from, session, payload } => {
                let envelope = Envelope::<P::Message>::decode(&payload);
                let number = envelope.map_or(0, |envelope| envelope.number);
                self.waiting.push((MessageId { from, session, number }, payload));
            }
            MeshEvent::PeerConnected { peer, session } => {
                self.driver.sessions[peer.index()] = session
            }
            MeshEvent::PeerDisconnected { .. }
            | MeshEvent::PeerSessionEnded { .. }
            | MeshEvent::Evicted(_) => {}
        }
    }

    fn notify_waiters(&mut self) {
        for (condition, answer) in std::mem::take(&mut self.waiters) {
            let holds = match condition {
                NodeCondition::MessageArrived(id) => {
                    self.waiting.iter().any(|(waits, _)| *waits == id)
                }
                NodeCondition::PeerConnected(peer, session) => {
                    self.driver.sessions[peer.index()] >= session
                }
            };
            if holds {
                let _ = answer.send(());
            } else {
                self.waiters.push((condition, answer));
            }
        }
    }

    async fn perform(
        &mut self,
        action: NodeAction<P>,
    ) -> Result<Option<Vec<SentMessage>>, NodeFailure> {
        let outcome = self.apply(action)?;
        self.driver.flush_saves().await?;
        let sent =
            self.driver.executor.sent_messages.as_mut().map(std::mem::take).unwrap_or_default();
        Ok(outcome.map(|()| sent))
    }

    fn apply(&mut self, action: NodeAction<P>) -> Result<Option<()>, NodeFailure> {
        let index = |id| self.waiting.iter().position(|(waits, _)| *waits == id);
        Ok(match action {
            NodeAction::Boot => Some(()),
            NodeAction::Command(command) => Some(self.driver.on_command(command)?),
            NodeAction::Suspicion(peer, verdict) => Some(self.driver.on_suspicion(peer, verdict)?),
            NodeAction::Deliver(id) => match index(id) {
                Some(index) => {
                    let (_, payload) = self.waiting.remove(index);
                    Some(self.driver.on_message(id.from, id.session, &payload)?)
                }
                None => None,
            },
            NodeAction::Lose(id) => index(id).map(|index| drop(self.waiting.remove(index))),
            NodeAction::Duplicate(id) => {
                index(id).map(|index| self.waiting.insert(index + 1, self.waiting[index].clone()))
            }
            NodeAction::Resend(sent) => self.driver.executor.mesh.send(sent.to, sent.payload).ok(),
            NodeAction::RecordOutcome(sent, kind) => Some(self.record_outcome(&sent, kind)?),
            NodeAction::SendApplication(to) => Some(self.send_application_message(to)?),
            NodeAction::ReceiveApplication(id, clock) => {
                let trace = &mut self.driver.executor.trace;
                trace.merge_clock(clock.as_ref());
                let message_record = MessageRecord::between_users(id.from, id.session, id.number);
                Some(trace.record(RecordKind::Receive(message_record))?)
            }
            NodeAction::Choose(value) => {
                self.driver.node.environment().force_next_choice(value);
                Some(())
            }
            NodeAction::Fire(name) => {
                let timers = &mut self.driver.executor.timers;
                match find_timer(timers.armed(), &name).cloned() {
                    Some(timer) => {
                        timers.cancel(&timer);
                        Some(self.driver.on_timer(timer)?)
                    }
                    None => None,
                }
            }
        })
    }

    fn record_outcome(
        &mut self,
        sent: &SentMessage,
        kind: fn(MessageRecord) -> RecordKind,
    ) -> Result<(), NodeFailure> {
        let Some(Envelope { message, .. }) = Envelope::<P::Message>::decode(&sent.payload) else {
            return Ok(());
        };
        let trace = &mut self.driver.executor.trace;
        Ok(trace.record_message(&message, sent.to, 0, sent.number, kind)?)
    }

    /// Sends a message of the application, with the current vector clock. The message is not sent
    /// over the mesh. The caller takes it from `sent_messages` and delivers it.
    fn send_application_message(&mut self, to: ProcessId) -> Result<(), NodeFailure> {
        let executor = &mut self.driver.executor;
        let number = executor.next_message_number();
        executor.trace.record(RecordKind::Send(MessageRecord::between_users(to, 0, number)))?;
        let clock = executor.trace.clock();
        let payload = postcard::to_stdvec(&clock).expect("a clock is serializable");
        let sent = SentMessage { to, kind: "", number, payload };
        executor.sent_messages.get_or_insert_default().push(sent);
        Ok(())
    }
}
