//! The link: one task per peer that owns whatever connection there is and all that is owed.
//!
//! It reads, writes, numbers and acknowledges in one task, so that nothing on the way of a
//! message waits for a lock, a timer or a second task. A link that stands still holds up nobody.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, Permit, error::TrySendError};
use tokio::time::Instant;

use super::conduit::{Conduit, told};
use super::context::Context;
use super::conversation::{Amount, Breach, Conversation, Novelty};
use super::frame::{Boot, Frame, FrameError};
use super::inbox::Incoming;
use super::outbox::Letter;
use super::peer::Peer;
use super::refusal::Refusal;
use super::seal::Unsealed;
use super::wire::Wire;
use crate::seldom::Seldom;

/// A connection whose other end has proved which session of the peer it is.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) conduit: Conduit<TcpStream>,
    pub(crate) boot: Boot,
}

/// The task that serves one peer.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) context: Arc<Context>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) incoming: mpsc::Sender<Incoming>,
    /// Connections that the listener accepted from this peer. It ends when the mesh closes.
    pub(crate) accepted: mpsc::Receiver<Connection>,
    conversation: Conversation,
    /// The peer's session that the conversation is with; 0 before the first.
    session: u64,
    /// The first session of the peer that this process met.
    first_session: u64,
    /// The last session of the peer that said goodbye.
    left: u64,
    /// Emptied outboxes land here, so that the two queues trade places for ever.
    letters: VecDeque<Letter>,
    /// What is logged of connections that come and go.
    comings: Seldom,
    goings: Seldom,
    /// What is logged of those that are refused or broke the rules.
    breaches: Seldom,
}

/// How a connection ended.
enum Ending {
    Lost(LinkError),
    Replaced(Connection),
    Closed,
}

/// Why a connection was given up; the conversation goes on with the next one.
#[derive(Debug, Error)]
enum LinkError {
    #[error("the peer closed the connection")]
    Ended,
    #[error("the peer has said goodbye")]
    Left,
    #[error("{0}")]
    Broken(#[from] io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Breach(#[from] Breach),
    #[error("{0}")]
    Unsealed(#[from] Unsealed),
    #[error("the peer sent a frame that has no place here")]
    OutOfPlace,
    #[error("what the peer said is not believed")]
    Disbelieved,
    #[error("refused by the peer: {0}")]
    Refused(String),
}

impl LinkError {
    fn is_malformed(&self) -> bool {
        use LinkError::{Breach, Frame, OutOfPlace, Unsealed};
        matches!(self, Frame(_) | Breach(_) | OutOfPlace | Unsealed(_))
    }
}

/// What a link waits for.
enum Event<'a> {
    Wrote(io::Result<usize>),
    Read(io::Result<usize>),
    Woken,
    Room(Option<Permit<'a, Incoming>>),
    Due,
    Disbelieved,
    Accepted(Option<Connection>),
}

impl Link {
    pub(crate) fn new(
        context: Arc<Context>,
        peer: Arc<Peer>,
        incoming: mpsc::Sender<Incoming>,
        accepted: mpsc::Receiver<Connection>,
    ) -> Self {
        Link {
            context,
            peer,
            incoming,
            accepted,
            conversation: Conversation::default(),
            session: 0,
            first_session: 0,
            left: 0,
            letters: VecDeque::new(),
            comings: Seldom::default(),
            goings: Seldom::default(),
            breaches: Seldom::default(),
        }
    }

    /// Serves the peer until the mesh closes.
    pub(crate) async fn run(mut self) {
        let mut backoff = self.context.backoff();
        let mut replacement = None;
        loop {
            let connection = match replacement.take() {
                Some(connection) => connection,
                None => match self.connect(&mut backoff).await {
                    Some(connection) => connection,
                    None => return,
                },
            };
            let Some(Connection { conduit, boot }) = self.judged(connection) else { continue };
            if !self.note(boot).await {
                continue;
            }
            self.adopt(boot);
            let begun = Instant::now();
            match self.converse(conduit).await {
                Ending::Closed => return,
                Ending::Replaced(connection) => replacement = Some(connection),
                Ending::Lost(error) => self.note_loss(&error),
            }
            self.part().await;
            // A connection that broke at once must not be dialed again at once, for ever.
            if begun.elapsed() >= self.context.limits.redial_max {
                backoff.reset();
            }
        }
    }

    /// The connection, unless it is of a boot that is out by now: the listener judged when it shook
    /// hands, and since then another may have come first.
    fn judged(&mut self, connection: Connection) -> Option<Connection> {
        let Err(refusal) = self.peer.judge(connection.boot) else { return Some(connection) };
        self.context.counters.refuse(refusal);
        if let Some(more) = self.breaches.say() {
            let (me, peer, reason) = (self.context.identity.me, self.peer.process, refusal.name());
            let session = connection.boot.session;
            tracing::warn!(%me, %peer, session, reason, "connection refused{more}");
        }
        connection.conduit.dismiss(refusal);
        None
    }

    /// Makes a new boot durable, where boots are, before anything of it is taken. Returns false if
    /// that failed.
    async fn note(&self, boot: Boot) -> bool {
        if !self.peer.is_unnoted(boot) {
            return true;
        }
        let peer = self.peer.clone();
        let noted = tokio::task::spawn_blocking(move || peer.note(boot)).await;
        let error = match noted {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => error.to_string(),
            Err(failed) => failed.to_string(),
        };
        let (me, peer, session) = (self.context.identity.me, self.peer.process, boot.session);
        tracing::warn!(%me, %peer, session, error, "connection closed: cannot note its session");
        self.peer.remember_error(&error);
        false
    }

    /// Makes `boot` the one that the conversation is with; a new one starts with nothing.
    fn adopt(&mut self, boot: Boot) {
        self.peer.adopt(boot);
        if boot.session != self.session {
            self.discard(self.conversation.outstanding());
            self.conversation = Conversation::default();
            self.session = boot.session;
        }
        if self.first_session == 0 {
            self.first_session = boot.session;
        }
        self.conversation.rewind();
    }

    /// Carries messages both ways until the connection ends.
    async fn converse(&mut self, conduit: Conduit<TcpStream>) -> Ending {
        let context = self.context.clone();
        let incoming = self.incoming.clone();
        // What an earlier connection said is no fault of this one.
        std::pin::pin!(self.peer.disbelieved.notified()).enable();
        let Conduit { mut stream, seal } = conduit;
        let (mut reader, mut writer) = stream.split();
        let mut wire = Wire::new(context.limits.longest_body, seal);
        wire.output.push(&self.conversation.acknowledgement());
        let mut timer = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
        loop {
            if let Err(error) = self.prepare(&mut wire) {
                return Ending::Lost(error.into());
            }
            if wire.closing && wire.parted && self.is_finished(&wire) {
                let _ = writer.shutdown().await;
                return Ending::Closed;
            }
            if !wire.armed && self.conversation.owes() {
                timer.as_mut().reset(Instant::now() + context.limits.acknowledge_after);
                wire.armed = true;
            }
            let event = tokio::select! {
                wrote = writer.write(wire.output.unwritten()), if !wire.output.is_empty() => {
                    Event::Wrote(wrote)
                }
                read = reader.read_buf(wire.input.space()), if !wire.blocked => Event::Read(read),
                () = self.peer.outbox.woken(), if wire.open => Event::Woken,
                permit = incoming.reserve(), if wire.blocked => Event::Room(permit.ok()),
                () = &mut timer, if wire.armed => Event::Due,
                () = self.peer.disbelieved.notified() => Event::Disbelieved,
                accepted = self.accepted.recv(), if !wire.closing => Event::Accepted(accepted),
            };
            let outcome = match event {
                Event::Accepted(Some(connection)) => match self.judged(connection) {
                    Some(next) => {
                        let _ = writer.try_write(self.last_words(&mut wire, &next));
                        return Ending::Replaced(next);
                    }
                    None => Ok(()),
                },
                Event::Wrote(wrote) => self.wrote(&mut wire, wrote),
                Event::Read(read) => self.read(&mut wire, &incoming, read),
                Event::Room(permit) => self.take_frames(&mut wire, &incoming, permit),
                Event::Due => {
                    self.acknowledge(&mut wire);
                    Ok(())
                }
                Event::Accepted(None) => {
                    wire.closing = true;
                    self.take_frames(&mut wire, &incoming, None)
                }
                Event::Disbelieved => Err(LinkError::Disbelieved),
                Event::Woken => Ok(()),
            };
            if let Err(error) = outcome {
                return Ending::Lost(error);
            }
        }
    }

    /// What whoever is followed by a newer session is told on the connection that it had.
    fn last_words<'a>(&self, wire: &'a mut Wire, next: &Connection) -> &'a [u8] {
        let is_superseded = next.boot.session > self.session;
        if is_superseded { wire.last_words(told(Refusal::OldSession)) } else { &[] }
    }

    /// Makes everything that may be written now ready for it.
    fn prepare(&mut self, wire: &mut Wire) -> Result<(), Unsealed> {
        self.fill(wire);
        if wire.closing {
            self.take_leave(wire);
        }
        wire.seal_output()
    }

    /// Says goodbye, behind everything that the consumer has sent.
    fn take_leave(&mut self, wire: &mut Wire) {
        if !wire.open || wire.parted || !self.letters.is_empty() || !self.peer.outbox.is_taken() {
            return;
        }
        if let Some(goodbye) = self.conversation.goodbye() {
            wire.output.push(&goodbye);
            wire.parted = true;
        }
    }

    /// Moves everything that may be written now into the output.
    fn fill(&mut self, wire: &mut Wire) {
        if !wire.open {
            return;
        }
        let mut discarded = Amount::default();
        while wire.output.has_room() {
            if let Some(frame) = self.conversation.next_frame() {
                wire.output.push(&frame);
                self.context.counters.messages_sent.add(1);
                continue;
            }
            // What cannot be written yet stays where a later heartbeat can take its place.
            if self.letters.is_empty() {
                self.peer.outbox.take(&mut self.letters);
            }
            let letter = self.peer.outbox.take_urgent().or_else(|| self.letters.pop_front());
            let Some(letter) = letter else { break };
            if self.is_for_this_session(letter.session) {
                self.conversation.push(letter.payload);
            } else {
                discarded.add(&letter.payload);
            }
        }
        self.discard(discarded);
        if self.conversation.owes_much() {
            self.acknowledge(wire);
        }
    }

    /// A message is for the session its sender saw last; before it saw any, for the first.
    fn is_for_this_session(&self, session: u64) -> bool {
        session == self.session || (session == 0 && self.session == self.first_session)
    }

    fn acknowledge(&mut self, wire: &mut Wire) {
        wire.armed = false;
        if self.conversation.owes() {
            wire.output.push(&self.conversation.acknowledgement());
        }
    }

    fn is_finished(&self, wire: &Wire) -> bool {
        wire.open
            && wire.output.is_empty()
            && self.conversation.is_settled()
            && self.peer.outbox.held() == Amount::default()
    }

    fn wrote(&mut self, wire: &mut Wire, wrote: io::Result<usize>) -> Result<(), LinkError> {
        let bytes = wrote?;
        if bytes == 0 {
            return Err(LinkError::Ended);
        }
        wire.output.advance(bytes);
        self.context.counters.writes.add(1);
        self.context.counters.bytes_sent.add(bytes as u64);
        Ok(())
    }

    fn read(
        &mut self,
        wire: &mut Wire,
        incoming: &mpsc::Sender<Incoming>,
        read: io::Result<usize>,
    ) -> Result<(), LinkError> {
        let bytes = read?;
        if bytes == 0 {
            let left = self.left == self.session;
            return Err(if left { LinkError::Left } else { LinkError::Ended });
        }
        self.context.counters.bytes_received.add(bytes as u64);
        wire.open_input()?;
        self.take_frames(wire, incoming, None)
    }

    /// Takes every whole frame that was read, as long as the consumer has a place for it. What
    /// finds no place stays unread, unacknowledged, and would come again on a new connection.
    fn take_frames<'a>(
        &mut self,
        wire: &mut Wire,
        incoming: &'a mpsc::Sender<Incoming>,
        mut place: Option<Permit<'a, Incoming>>,
    ) -> Result<(), LinkError> {
        wire.blocked = false;
        loop {
            if place.is_none() && !wire.closing {
                place = match incoming.try_reserve() {
                    Ok(permit) => Some(permit),
                    Err(TrySendError::Closed(())) => None,
                    Err(TrySendError::Full(())) => {
                        wire.blocked = true;
                        return Ok(());
                    }
                };
            }
            match wire.input.decoder.take()? {
                None => return Ok(()),
                Some(Frame::Acknowledge { received }) => {
                    self.acknowledged(received)?;
                    if !wire.open {
                        wire.open = true;
                        self.came_up(place.take());
                    }
                }
                Some(Frame::Data { number, received, payload }) if wire.open => {
                    self.acknowledged(received)?;
                    // With no consumer, or none for long, nothing counts as received.
                    if let Some(place) = place.take() {
                        self.deliver(place, number, payload)?;
                    }
                }
                Some(Frame::Goodbye { received }) if wire.open => {
                    self.acknowledged(received)?;
                    self.parted_from(place.take());
                    // It waits for nothing else.
                    wire.output.push(&self.conversation.acknowledgement());
                }
                Some(Frame::Refused(refused)) => {
                    self.context.expulsion.heed(self.peer.process, refused.code);
                    return Err(LinkError::Refused(refused.told()));
                }
                Some(_) => return Err(LinkError::OutOfPlace),
            }
        }
    }

    fn deliver(
        &mut self,
        place: Permit<'_, Incoming>,
        number: u64,
        payload: &[u8],
    ) -> Result<(), LinkError> {
        match self.conversation.admit(number, payload)? {
            Novelty::Duplicate => self.context.counters.duplicates.add(1),
            Novelty::Fresh => {
                self.context.counters.messages_received.add(1);
                place.send(Incoming::Message {
                    from: self.peer.process,
                    session: self.session,
                    payload: payload.to_vec(),
                });
            }
        }
        Ok(())
    }

    fn acknowledged(&mut self, received: u64) -> Result<(), LinkError> {
        self.peer.outbox.release(self.conversation.forget(received)?);
        Ok(())
    }

    fn discard(&self, amount: Amount) {
        self.context.counters.discarded.add(amount.frames as u64);
        self.peer.outbox.release(amount);
    }

    fn came_up(&mut self, place: Option<Permit<'_, Incoming>>) {
        let (peer, session) = (self.peer.process, self.session);
        self.context.counters.connections.add(1);
        if self.peer.status().connected_at.is_some() {
            self.context.counters.reconnections.add(1);
        }
        self.peer.came_up();
        self.context.expulsion.agrees(peer);
        if let Some(more) = self.comings.say() {
            tracing::info!(me = %self.context.identity.me, %peer, session, "connected{more}");
        }
        if let Some(place) = place {
            place.send(Incoming::PeerUp { peer, session });
        }
    }

    /// The peer's session has ended, in its own word.
    fn parted_from(&mut self, place: Option<Permit<'_, Incoming>>) {
        let (peer, session) = (self.peer.process, self.session);
        self.left = session;
        if let Some(place) = place {
            place.send(Incoming::PeerLeft { peer, session });
        }
    }

    /// The connection is gone; whoever waited for room must not wait for this peer.
    async fn part(&mut self) {
        if !self.peer.is_connected() {
            return;
        }
        self.peer.went_down();
        self.context.room.notify_waiters();
        let down = Incoming::PeerDown { peer: self.peer.process, session: self.session };
        // A consumer that is gone does not want to know.
        let _ = self.incoming.send(down).await;
    }

    fn note_loss(&mut self, error: &LinkError) {
        let (me, peer, session) = (self.context.identity.me, self.peer.process, self.session);
        self.peer.remember_error(&error.to_string());
        if error.is_malformed() {
            self.context.counters.malformed.add(1);
            if let Some(more) = self.breaches.say() {
                tracing::warn!(%me, %peer, session, %error, "connection closed{more}");
            }
        } else if let Some(more) = self.goings.say() {
            tracing::info!(%me, %peer, session, %error, "connection lost{more}");
        }
    }
}
