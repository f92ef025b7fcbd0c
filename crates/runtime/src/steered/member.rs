//! One node that does what it is told.

use tenure_core::{ProcessId, Protocol, VectorClock, Verdict};
use tenure_trace::{Kind, Passage, Recorded, timer_named};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::driver::{Driver, Parts, prepare};
use crate::envelope::Envelope;
use crate::failure::{Failure, StartError};
use crate::local::Local;
use crate::outlet::Posted;
use crate::transport::{Inbox, Incoming};

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
    /// What was sent to a peer that crashed since is sent once more.
    Resend(Posted),
    /// What was sent met with this, for the trace.
    Note(Posted, fn(Passage) -> Kind),
    /// The application sends a message.
    Tell(ProcessId),
    /// A message of a peer's application arrives, and what its sender knew.
    Hear(Which, Option<VectorClock>),
    /// The next number that it draws is that, if it draws one in its next step.
    Choose(u32),
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
enum Instruction<P: Protocol> {
    Move(Move<P>, oneshot::Sender<Option<Vec<Posted>>>),
    Wait(Until, oneshot::Sender<()>),
}

/// A node that does what it is told, and the way to tell it.
pub(super) struct Member<P: Protocol> {
    orders: mpsc::UnboundedSender<Instruction<P>>,
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
    pub(super) async fn perform(&self, action: Move<P>) -> Option<Vec<Posted>> {
        let (answer, answered) = oneshot::channel();
        self.orders.send(Instruction::Move(action, answer)).ok()?;
        answered.await.ok().flatten()
    }

    /// Waits; nothing when the node ended meanwhile.
    pub(super) async fn wait(&self, until: Until) -> Option<()> {
        let (answer, answered) = oneshot::channel();
        self.orders.send(Instruction::Wait(until, answer)).ok()?;
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
        mut orders: mpsc::UnboundedReceiver<Instruction<P>>,
        recovered: bool,
    ) -> Result<(), Failure> {
        self.driver.boot(recovered)?;
        self.driver.settle().await?;
        loop {
            self.driver.outlet.diary.flush()?;
            tokio::select! {
                incoming = inbox.receive() => match incoming {
                    Some(incoming) => self.take(incoming),
                    None => return Ok(()),
                },
                order = orders.recv() => match order {
                    Some(Instruction::Move(action, answer)) => {
                        let posted = self.perform(action).await?;
                        self.driver.outlet.diary.flush()?;
                        // Whoever does not wait for the answer does not want it.
                        let _ = answer.send(posted);
                    }
                    Some(Instruction::Wait(until, answer)) => self.patient.push((until, answer)),
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
            Incoming::PeerDown { .. } | Incoming::PeerLeft { .. } | Incoming::Expelled(_) => {}
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

    async fn perform(&mut self, action: Move<P>) -> Result<Option<Vec<Posted>>, Failure> {
        let done = self.do_one(action)?;
        self.driver.settle().await?;
        let posted = self.driver.outlet.posted.as_mut().map(std::mem::take).unwrap_or_default();
        Ok(done.map(|()| posted))
    }

    fn do_one(&mut self, action: Move<P>) -> Result<Option<()>, Failure> {
        let place = |which| self.waiting.iter().position(|(waits, _)| *waits == which);
        Ok(match action {
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
            Move::Resend(sent) => self.driver.outlet.mesh.send(sent.to, sent.payload).ok(),
            Move::Note(sent, kind) => Some(self.note(&sent, kind)?),
            Move::Tell(to) => Some(self.tell(to)?),
            Move::Hear(which, clock) => {
                let diary = &mut self.driver.outlet.diary;
                diary.learn(clock.as_ref());
                let passage = Passage::of_applications(which.from, which.session, which.number);
                Some(diary.note(Kind::Receive(passage))?)
            }
            Move::Choose(value) => {
                self.driver.node.environment().will_draw(value);
                Some(())
            }
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
        })
    }

    /// Writes down what became of a message that it sent.
    fn note(&mut self, sent: &Posted, kind: fn(Passage) -> Kind) -> Result<(), Failure> {
        let Some(Envelope { message, .. }) = Envelope::<P::Message>::decode(&sent.payload) else {
            return Ok(());
        };
        let diary = &mut self.driver.outlet.diary;
        Ok(diary.note_passage(&message, sent.to, 0, sent.number, kind)?)
    }

    /// Applications do not talk through the mesh: what they say is handed over, with the clock.
    fn tell(&mut self, to: ProcessId) -> Result<(), Failure> {
        let outlet = &mut self.driver.outlet;
        let number = outlet.next_number();
        outlet.diary.note(Kind::Send(Passage::of_applications(to, 0, number)))?;
        let payload = postcard::to_stdvec(&outlet.diary.clock()).expect("a clock can be encoded");
        let posted = Posted { to, kind: "", number, payload };
        outlet.posted.get_or_insert_default().push(posted);
        Ok(())
    }
}
