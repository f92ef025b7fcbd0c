//! Task that owns the connection with one peer and the reliable session with that peer.
//!
//! A single task reads, writes, numbers and acknowledges the messages. So no message waits for a
//! switch between tasks of the same link. A stalled link does not delay other links.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, Permit, error::TrySendError};
use tokio::time::Instant;

use super::backoff::Backoff;
use super::cipher::CipherError;
use super::connection_state::{ConnectionPhase, ConnectionState};
use super::context::MeshContext;
use super::frame::{BootId, Frame, FrameError};
use super::framed_stream::{FramedStream, rejection_for_reason};
use super::inbox::MeshEvent;
use super::outbox::OutgoingMessage;
use super::peer::Peer;
use super::rejection_reason::RejectionReason;
use super::reliable_session::{QueueSize, Reception, ReliableSession, SequenceError};
use crate::log_throttle::{LogThrottle, SuppressedLineCount};
use crate::names::ProcessName;

#[derive(Debug)]
pub(crate) struct PeerConnection {
    pub(crate) stream: FramedStream<TcpStream>,
    pub(crate) boot: BootId,
}

#[derive(Debug)]
pub(crate) struct PeerLink {
    pub(crate) context: Arc<MeshContext>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) incoming: mpsc::Sender<MeshEvent>,
    /// Connections that the listener accepted from this peer. Closed when the mesh closes.
    pub(crate) accepted: mpsc::Receiver<PeerConnection>,
    reliable: ReliableSession,
    /// Current session of the peer; 0 before the first session.
    session: u64,
    /// Number of the first session of the peer that was reported to the user of the mesh; 0 before
    /// the first report.
    first_session: u64,
    /// Last session of the peer that ended with a goodbye; 0 if there was none.
    left_session: u64,
    /// Messages that were taken from the outbox and not yet written. The link swaps this queue with
    /// the queue of the outbox, to reuse the memory of both.
    outgoing: VecDeque<OutgoingMessage>,
    connect_log: LogThrottle,
    loss_log: LogThrottle,
    violation_log: LogThrottle,
}

enum ConnectionEnd {
    Lost(LinkError),
    Replaced(PeerConnection),
    Closed,
}

/// Reason for the loss of a connection. The reliable session survives the loss and resumes on the
/// next connection.
#[derive(Debug, Error)]
enum LinkError {
    #[error("the peer closed the connection")]
    Closed,
    #[error("the peer ended its session")]
    PeerSessionEnded,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Sequence(#[from] SequenceError),
    #[error("{0}")]
    Cipher(#[from] CipherError),
    #[error("the peer sent an unexpected frame")]
    UnexpectedFrame,
    #[error("the peer sent an invalid message")]
    InvalidMessage,
    #[error("refused by the peer: {0}")]
    Refused(String),
}

impl LinkError {
    fn is_malformed(&self) -> bool {
        use LinkError::{Cipher, Frame, Sequence, UnexpectedFrame};
        matches!(self, Cipher(_) | Frame(_) | Sequence(_) | UnexpectedFrame)
    }
}

enum Event<'a> {
    Wrote(io::Result<usize>),
    Read(io::Result<usize>),
    Pushed,
    Room(Option<Permit<'a, MeshEvent>>),
    AcknowledgementDue,
    InvalidMessage,
    Accepted(Option<PeerConnection>),
}

impl PeerLink {
    pub(crate) fn new(
        context: Arc<MeshContext>,
        peer: Arc<Peer>,
        incoming: mpsc::Sender<MeshEvent>,
        accepted: mpsc::Receiver<PeerConnection>,
    ) -> Self {
        PeerLink {
            context,
            peer,
            incoming,
            accepted,
            reliable: ReliableSession::default(),
            session: 0,
            first_session: 0,
            left_session: 0,
            outgoing: VecDeque::new(),
            connect_log: LogThrottle::default(),
            loss_log: LogThrottle::default(),
            violation_log: LogThrottle::default(),
        }
    }

    pub(crate) async fn run(mut self) {
        let limits = &self.context.limits;
        let mut backoff = Backoff::new(limits.min_redial_pause, limits.max_redial_pause);
        let mut replacement = None;
        loop {
            let connection = match replacement.take() {
                Some(connection) => connection,
                None => match self.next_connection(&mut backoff).await {
                    Some(connection) => connection,
                    None => return,
                },
            };
            let Some(PeerConnection { stream, boot }) = self.check_boot(connection) else {
                continue;
            };
            if !self.record_boot(boot).await {
                continue;
            }
            self.adopt(boot);
            let started = Instant::now();
            match self.run_connection(stream).await {
                ConnectionEnd::Closed => return,
                ConnectionEnd::Replaced(connection) => replacement = Some(connection),
                ConnectionEnd::Lost(error) => self.record_loss(&error),
            }
            self.on_disconnected().await;
            // A connection that fails immediately must not cause a busy loop of dials.
            if started.elapsed() >= self.context.limits.max_redial_pause {
                backoff.reset();
            }
        }
    }

    /// Checks the boot of a new connection a second time, because another boot of the peer may have
    /// connected since the handshake. Returns the connection if the boot is acceptable. Otherwise
    /// rejects the connection and returns `None`.
    fn check_boot(&mut self, connection: PeerConnection) -> Option<PeerConnection> {
        let Err(reason) = self.peer.check_boot(connection.boot) else { return Some(connection) };
        self.context.counters.count_rejection(reason);
        if let Some(SuppressedLineCount(suppressed)) = self.violation_log.admit() {
            let (me, peer, reason) = (self.context.own_name(), self.peer_name(), reason.name());
            let session = connection.boot.session;
            tracing::warn!(%me, %peer, session, reason, suppressed, "connection refused");
        }
        connection.stream.try_reject(reason);
        None
    }

    /// Saves a new boot of the peer in the membership record, before any message of that boot is
    /// accepted. Returns true without a save if there is no membership record, or if it contains
    /// the boot. Returns false if the save failed.
    async fn record_boot(&self, boot: BootId) -> bool {
        if !self.peer.is_boot_unrecorded(boot) {
            return true;
        }
        let peer = self.peer.clone();
        let noted = tokio::task::spawn_blocking(move || peer.record_boot(boot)).await;
        let error = match noted {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => error.to_string(),
            Err(failed) => failed.to_string(),
        };
        let (me, peer, session) = (self.context.own_name(), self.peer_name(), boot.session);
        tracing::warn!(%me, %peer, session, error, "connection closed: cannot save its session");
        self.peer.set_last_error(&error);
        false
    }

    /// Makes `boot` the current boot of the peer. If the session is new, drops the unacknowledged
    /// messages to the earlier session.
    fn adopt(&mut self, boot: BootId) {
        self.peer.set_newest_boot(boot);
        if boot.session != self.session {
            self.discard(self.reliable.unacknowledged_size());
            self.reliable = ReliableSession::default();
            self.session = boot.session;
        }
        self.reliable.rewind_for_reconnection();
    }

    async fn run_connection(&mut self, stream: FramedStream<TcpStream>) -> ConnectionEnd {
        let context = self.context.clone();
        let incoming = self.incoming.clone();
        // Discards a notification about an invalid message of an earlier connection.
        std::pin::pin!(self.peer.invalid_message.notified()).enable();
        let FramedStream { mut stream, cipher } = stream;
        let (mut reader, mut writer) = stream.split();
        let mut state = ConnectionState::new(context.limits.max_body_bytes, cipher);
        state.output.push_frame(&self.reliable.take_acknowledgement());
        let mut timer = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
        loop {
            if let Err(error) = self.prepare(&mut state) {
                return ConnectionEnd::Lost(error.into());
            }
            if state.is_closing
                && state.phase == ConnectionPhase::GoodbyeSent
                && self.is_finished(&state)
            {
                let _ = writer.shutdown().await;
                return ConnectionEnd::Closed;
            }
            if !state.is_timer_armed && self.reliable.has_pending_acknowledgement() {
                timer.as_mut().reset(Instant::now() + context.limits.acknowledge_delay);
                state.is_timer_armed = true;
            }
            let unsent = !state.output.is_fully_written();
            let event = tokio::select! {
                wrote = writer.write(state.output.unwritten()), if unsent => Event::Wrote(wrote),
                read = reader.read_buf(state.input.read_buffer()), if !state.is_blocked => {
                    Event::Read(read)
                }
                () = self.peer.outbox.wait_for_message(), if state.has_resumed() => Event::Pushed,
                permit = incoming.reserve(), if state.is_blocked => Event::Room(permit.ok()),
                () = &mut timer, if state.is_timer_armed => Event::AcknowledgementDue,
                () = self.peer.invalid_message.notified() => Event::InvalidMessage,
                accepted = self.accepted.recv(), if !state.is_closing => Event::Accepted(accepted),
            };
            let outcome = match event {
                Event::Accepted(Some(connection)) => match self.check_boot(connection) {
                    Some(next) => {
                        let _ = writer.try_write(self.output_if_superseded(&mut state, &next));
                        return ConnectionEnd::Replaced(next);
                    }
                    None => Ok(()),
                },
                Event::Wrote(wrote) => self.on_written(&mut state, wrote),
                Event::Read(read) => self.on_read(&mut state, &incoming, read),
                Event::Room(permit) => self.take_frames(&mut state, &incoming, permit),
                Event::AcknowledgementDue => {
                    self.acknowledge(&mut state);
                    Ok(())
                }
                Event::Accepted(None) => {
                    state.is_closing = true;
                    self.take_frames(&mut state, &incoming, None)
                }
                Event::InvalidMessage => Err(LinkError::InvalidMessage),
                Event::Pushed => Ok(()),
            };
            if let Err(error) = outcome {
                return ConnectionEnd::Lost(error);
            }
        }
    }

    /// Returns the last bytes to write to this connection if `next` belongs to a newer session of
    /// the peer. The bytes are the pending output and a rejection of the older session. Otherwise
    /// returns an empty slice.
    fn output_if_superseded<'a>(
        &self,
        state: &'a mut ConnectionState,
        next: &PeerConnection,
    ) -> &'a [u8] {
        let is_superseded = next.boot.session > self.session;
        if is_superseded {
            state.push_rejection(rejection_for_reason(RejectionReason::OldSession))
        } else {
            &[]
        }
    }

    /// Adds everything to the output that may be written now: messages, and a goodbye if the mesh
    /// is closing. Encrypts the output if there is a cipher.
    fn prepare(&mut self, state: &mut ConnectionState) -> Result<(), CipherError> {
        self.fill_output(state);
        if state.is_closing {
            self.push_goodbye(state);
        }
        state.encrypt_output()
    }

    /// Pushes a goodbye if the link has written all messages.
    fn push_goodbye(&mut self, state: &mut ConnectionState) {
        if state.phase != ConnectionPhase::Open
            || !self.outgoing.is_empty()
            || !self.peer.outbox.is_empty()
        {
            return;
        }
        if let Some(goodbye) = self.reliable.take_goodbye() {
            state.output.push_frame(&goodbye);
            state.phase = ConnectionPhase::GoodbyeSent;
        }
    }

    fn fill_output(&mut self, state: &mut ConnectionState) {
        if !state.has_resumed() {
            return;
        }
        let mut discarded = QueueSize::default();
        while state.output.has_room() {
            if let Some(frame) = self.reliable.next_frame() {
                state.output.push_frame(&frame);
                self.context.counters.messages_sent.add(1);
                continue;
            }
            // A heartbeat that cannot be written yet stays in the outbox, where a newer heartbeat
            // can replace it.
            if self.outgoing.is_empty() {
                self.peer.outbox.take_all(&mut self.outgoing);
            }
            let message = self.peer.outbox.take_urgent().or_else(|| self.outgoing.pop_front());
            let Some(message) = message else { break };
            if self.is_for_this_session(message.session) {
                self.reliable.push(message.payload);
            } else {
                discarded.add_payload(&message.payload);
            }
        }
        self.discard(discarded);
        if self.reliable.is_acknowledgement_due() {
            self.acknowledge(state);
        }
    }

    /// Returns true if a message for `session` is for the current session of the peer. If `session`
    /// is 0, this process knew no session of the peer when it sent the message. Such a message is
    /// for the first session of the peer.
    fn is_for_this_session(&self, session: u64) -> bool {
        session == self.session || (session == 0 && self.session == self.first_session)
    }

    fn acknowledge(&mut self, state: &mut ConnectionState) {
        state.is_timer_armed = false;
        if self.reliable.has_pending_acknowledgement() {
            state.output.push_frame(&self.reliable.take_acknowledgement());
        }
    }

    fn is_finished(&self, state: &ConnectionState) -> bool {
        state.has_resumed()
            && state.output.is_fully_written()
            && self.reliable.is_fully_acknowledged()
            && self.peer.outbox.held_size() == QueueSize::default()
    }

    fn on_written(
        &mut self,
        state: &mut ConnectionState,
        wrote: io::Result<usize>,
    ) -> Result<(), LinkError> {
        let bytes = wrote?;
        if bytes == 0 {
            return Err(LinkError::Closed);
        }
        state.output.mark_written(bytes);
        self.context.counters.writes.add(1);
        self.context.counters.bytes_sent.add(bytes as u64);
        Ok(())
    }

    fn on_read(
        &mut self,
        state: &mut ConnectionState,
        incoming: &mpsc::Sender<MeshEvent>,
        read: io::Result<usize>,
    ) -> Result<(), LinkError> {
        let bytes = read?;
        if bytes == 0 {
            let has_left = self.left_session == self.session;
            return Err(if has_left { LinkError::PeerSessionEnded } else { LinkError::Closed });
        }
        self.context.counters.bytes_received.add(bytes as u64);
        state.decrypt_input()?;
        self.take_frames(state, incoming, None)
    }

    /// Handles the complete frames that were read, until the inbox is full. The remaining frames
    /// wait until the inbox has room. Until then they are not acknowledged, so the peer sends them
    /// again if the connection breaks.
    fn take_frames<'a>(
        &mut self,
        state: &mut ConnectionState,
        incoming: &'a mpsc::Sender<MeshEvent>,
        mut permit: Option<Permit<'a, MeshEvent>>,
    ) -> Result<(), LinkError> {
        state.is_blocked = false;
        loop {
            if permit.is_none() && !state.is_closing {
                permit = match incoming.try_reserve() {
                    Ok(permit) => Some(permit),
                    Err(TrySendError::Closed(())) => None,
                    Err(TrySendError::Full(())) => {
                        state.is_blocked = true;
                        return Ok(());
                    }
                };
            }
            match state.input.decoder.next_frame()? {
                None => return Ok(()),
                Some(Frame::Acknowledge { received }) => {
                    self.on_acknowledged(received)?;
                    if state.phase == ConnectionPhase::Resuming {
                        state.phase = ConnectionPhase::Open;
                        self.on_connected(permit.take());
                    }
                }
                Some(Frame::Data { number, received, payload })
                    if state.phase != ConnectionPhase::Resuming =>
                {
                    self.on_acknowledged(received)?;
                    // While the mesh closes, there is no consumer, and messages stay
                    // unacknowledged.
                    if let Some(permit) = permit.take() {
                        self.deliver(permit, number, payload)?;
                    }
                }
                Some(Frame::Goodbye { received }) if state.phase != ConnectionPhase::Resuming => {
                    self.on_acknowledged(received)?;
                    self.on_goodbye(permit.take());
                    // The peer has sent its last message, and waits only for this acknowledgement.
                    state.output.push_frame(&self.reliable.take_acknowledgement());
                }
                Some(Frame::Refused(refused)) => {
                    self.context.eviction.on_rejection(self.peer.process, refused.code);
                    return Err(LinkError::Refused(refused.sanitized_description()));
                }
                Some(_) => return Err(LinkError::UnexpectedFrame),
            }
        }
    }

    fn deliver(
        &mut self,
        permit: Permit<'_, MeshEvent>,
        number: u64,
        payload: &[u8],
    ) -> Result<(), LinkError> {
        match self.reliable.receive(number, payload)? {
            Reception::Duplicate => self.context.counters.duplicates.add(1),
            Reception::New => {
                self.context.counters.messages_received.add(1);
                permit.send(MeshEvent::Message {
                    from: self.peer.process,
                    session: self.session,
                    payload: payload.to_vec(),
                });
            }
        }
        Ok(())
    }

    fn on_acknowledged(&mut self, received: u64) -> Result<(), LinkError> {
        self.peer.record_contact();
        self.peer.outbox.release_capacity(self.reliable.on_acknowledgement(received)?);
        Ok(())
    }

    fn discard(&self, size: QueueSize) {
        self.context.counters.discarded.add(size.messages as u64);
        self.peer.outbox.release_capacity(size);
    }

    fn peer_name(&self) -> ProcessName<'_> {
        self.context.names.name(self.peer.process)
    }

    fn on_connected(&mut self, permit: Option<Permit<'_, MeshEvent>>) {
        let (peer, session) = (self.peer.process, self.session);
        if self.first_session == 0 {
            self.first_session = session;
        }
        self.context.counters.connections.add(1);
        if self.peer.status().connected_at.is_some() {
            self.context.counters.reconnections.add(1);
        }
        self.peer.on_connected();
        self.context.eviction.on_group_match(peer);
        if let Some(SuppressedLineCount(suppressed)) = self.connect_log.admit() {
            let (me, peer) = (self.context.own_name(), self.peer_name());
            tracing::info!(%me, %peer, session, suppressed, "connected");
        }
        if let Some(permit) = permit {
            permit.send(MeshEvent::PeerConnected { peer, session });
        }
    }

    fn on_goodbye(&mut self, permit: Option<Permit<'_, MeshEvent>>) {
        let (peer, session) = (self.peer.process, self.session);
        self.left_session = session;
        if let Some(permit) = permit {
            permit.send(MeshEvent::PeerSessionEnded { peer, session });
        }
    }

    /// Handles the end of a connection. Wakes senders that wait for room, because they must not
    /// wait for a disconnected peer. Does nothing if the connection ended before both sides could
    /// send messages.
    async fn on_disconnected(&mut self) {
        if !self.peer.is_connected() {
            return;
        }
        self.peer.on_disconnected();
        self.context.room.notify_waiters();
        let down = MeshEvent::PeerDisconnected { peer: self.peer.process, session: self.session };
        // The consumer may have gone.
        let _ = self.incoming.send(down).await;
    }

    fn record_loss(&mut self, error: &LinkError) {
        let session = self.session;
        self.peer.set_last_error(&error.to_string());
        if error.is_malformed() {
            self.context.counters.malformed.add(1);
            if let Some(SuppressedLineCount(suppressed)) = self.violation_log.admit() {
                let (me, peer) = (self.context.own_name(), self.peer_name());
                tracing::warn!(%me, %peer, session, %error, suppressed, "connection closed");
            }
        } else if let Some(SuppressedLineCount(suppressed)) = self.loss_log.admit() {
            let (me, peer) = (self.context.own_name(), self.peer_name());
            tracing::info!(%me, %peer, session, %error, suppressed, "connection lost");
        }
    }
}
