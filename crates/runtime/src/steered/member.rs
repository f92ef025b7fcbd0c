//! One node that does what it is told.

use tenure_core::{ProcessId, Protocol, Verdict};
use tenure_trace::{Recorded, timer_named};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::driver::{Driver, Failure, Parts, StartError, prepare};
use crate::envelope::Envelope;
use crate::local::Local;
use crate::transport::{Inbox, Incoming};

/// To whom something was sent, what it is called, and its number.
pub(super) type Posted = Vec<(ProcessId, &'static str, u64)>;

/// Which of a peer's messages: its session and its number there. What was sent to a process that
/// was down may or may not arrive when it is back, so places in a queue would not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Which {
    pub(super) from: ProcessId,
    pub(super) session: u64,
    pub(super) number: u64,
}

/// What a node is told.
pub(super) enum Move<P: Protocol> {
    /// Nothing; it only answers what it sent when it booted.
    Boot,
    /// The user asks.
    Ask(P::Command),
    /// A message that waits arrives.
    Deliver(Which),
    /// It never arrives.
    Lose(Which),
    /// It will arrive twice.
    Duplicate(Which),
    /// A timer fires.
    Fire(String),
    /// The detector speaks.
    Suspicion(ProcessId, Verdict),
}

/// What a node waits for before it answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// This message waits here.
    Waiting(Which),
    /// This session of a peer is connected.
    Met(ProcessId, u64),
}

/// What can be said to a node.
enum Order<P: Protocol> {
    Move(Move<P>, oneshot::Sender<Option<Posted>>),
    Wait(Until, oneshot::Sender<()>),
}

/// A node that does what it is told, and the way to tell it.
pub(super) struct Member<P: Protocol> {
    orders: mpsc::UnboundedSender<Order<P>>,
    pub(super) task: JoinHandle<Result<(), Failure>>,
}

impl<P: Protocol> Member<P> {
    /// Boots a process that then does nothing by itself.
    pub(super) fn start<L>(parts: Parts<P, L>) -> Result<Self, StartError>
    where
        P: Recorded,
        L: Local<P>,
    {
        let (mut driver, inbox, _, recovered) = prepare(parts)?;
        driver.outlet.posted = Some(Vec::new());
        let (orders, told) = mpsc::unbounded_channel();
        let steered = Steered { driver, waiting: Vec::new(), patient: Vec::new() };
        let task = tokio::spawn(steered.run(inbox, told, recovered));
        Ok(Member { orders, task })
    }

    /// Tells it to do something. What it sent, or nothing where that is not possible.
    pub(super) async fn perform(&self, action: Move<P>) -> Option<Posted> {
        let (answer, answered) = oneshot::channel();
        self.orders.send(Order::Move(action, answer)).ok()?;
        answered.await.ok().flatten()
    }

    /// Waits; nothing when the node ended meanwhile.
    pub(super) async fn wait(&self, until: Until) -> Option<()> {
        let (answer, answered) = oneshot::channel();
        self.orders.send(Order::Wait(until, answer)).ok()?;
        answered.await.ok()
    }
}

struct Steered<P: Protocol, L> {
    driver: Driver<P, L>,
    /// The messages that wait, the oldest first.
    waiting: Vec<(Which, Vec<u8>)>,
    patient: Vec<(Until, oneshot::Sender<()>)>,
}

impl<P, L> Steered<P, L>
where
    P: Recorded,
    L: Local<P>,
{
    async fn run(
        mut self,
        mut inbox: Inbox,
        mut orders: mpsc::UnboundedReceiver<Order<P>>,
        recovered: bool,
    ) -> Result<(), Failure> {
        self.driver.boot(recovered)?;
        loop {
            self.driver.outlet.diary.flush()?;
            tokio::select! {
                incoming = inbox.receive() => match incoming {
                    Some(incoming) => self.take(incoming),
                    None => return Ok(()),
                },
                order = orders.recv() => match order {
                    Some(Order::Move(action, answer)) => {
                        let posted = self.perform(action)?;
                        self.driver.outlet.diary.flush()?;
                        // Whoever does not wait for the answer does not want it.
                        let _ = answer.send(posted);
                    }
                    Some(Order::Wait(until, answer)) => self.patient.push((until, answer)),
                    None => return self.driver.outlet.close(std::time::Duration::ZERO).await,
                },
            }
            self.answer();
        }
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Message { from, session, payload } => {
                let envelope = Envelope::<P::Message>::decode(&payload);
                let number = envelope.map_or(0, |envelope| envelope.number);
                self.waiting.push((Which { from, session, number }, payload));
            }
            Incoming::PeerUp { peer, session } => self.driver.sessions[peer.index()] = session,
            Incoming::PeerDown { .. } | Incoming::Expelled(_) => {}
        }
    }

    /// Tells those who wait for what has come true.
    fn answer(&mut self) {
        for (until, answer) in std::mem::take(&mut self.patient) {
            let is_true = match until {
                Until::Waiting(which) => self.waiting.iter().any(|(waits, _)| *waits == which),
                Until::Met(peer, session) => self.driver.sessions[peer.index()] >= session,
            };
            if is_true {
                let _ = answer.send(());
            } else {
                self.patient.push((until, answer));
            }
        }
    }

    fn perform(&mut self, action: Move<P>) -> Result<Option<Posted>, Failure> {
        let place = |which| self.waiting.iter().position(|(waits, _)| *waits == which);
        let done = match action {
            Move::Boot => Some(()),
            Move::Ask(command) => Some(self.driver.command(command)?),
            Move::Suspicion(peer, verdict) => Some(self.driver.suspicion(peer, verdict)?),
            Move::Deliver(which) => match place(which) {
                Some(place) => {
                    let (_, payload) = self.waiting.remove(place);
                    Some(self.driver.take_message(which.from, which.session, &payload)?)
                }
                None => None,
            },
            Move::Lose(which) => place(which).map(|place| drop(self.waiting.remove(place))),
            Move::Duplicate(which) => place(which)
                .map(|place| self.waiting.insert(place + 1, self.waiting[place].clone())),
            Move::Fire(name) => {
                let timers = &mut self.driver.outlet.timers;
                match timer_named(timers.armed(), &name).cloned() {
                    Some(timer) => {
                        timers.cancel(&timer);
                        Some(self.driver.fire(timer)?)
                    }
                    None => None,
                }
            }
        };
        let posted = self.driver.outlet.posted.as_mut().map(std::mem::take).unwrap_or_default();
        Ok(done.map(|()| posted))
    }
}
