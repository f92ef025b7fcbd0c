//! Sequence numbers, acknowledgements and resumption between two sessions. This module performs no
//! I/O and reads no clock.

use std::collections::VecDeque;

use super::frame::Frame;

/// Number of unacknowledged received messages at which the link sends an acknowledgement at once.
/// With fewer messages, the link waits for a message that can carry the acknowledgement, but no
/// longer than `acknowledge_delay`.
const MAX_UNACKNOWLEDGED_FRAMES: usize = 64;

/// Number of unacknowledged received bytes at which the link sends an acknowledgement at once. With
/// fewer bytes, the link waits for a message that can carry the acknowledgement, but no longer than
/// `acknowledge_delay`.
const MAX_UNACKNOWLEDGED_BYTES: usize = 256 << 10;

/// Reliable channel between one session of this process and one session of a peer. The channel
/// outlives connections, and ends when one of the two sessions ends.
#[derive(Debug, Default)]
pub(crate) struct ReliableSession {
    /// Messages that the peer has not acknowledged yet, oldest first.
    unacknowledged: VecDeque<Vec<u8>>,
    /// Highest message number that the peer has acknowledged.
    acknowledged: u64,
    /// Highest message number that was written to the current connection, or that the peer has
    /// acknowledged.
    written: u64,
    /// Highest message number that was written to any connection.
    ever_written: u64,
    /// Highest number up to which all messages of the peer were received.
    received: u64,
    /// Messages received since the last acknowledgement was sent, including duplicates.
    unacknowledged_received: QueueSize,
}

/// Number of messages and the total size of their payloads in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueSize {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

impl QueueSize {
    pub(crate) fn add_payload(&mut self, payload: &[u8]) {
        self.messages += 1;
        self.bytes += payload.len();
    }
}

/// Violation of the message numbering by the peer. The cause is a defect or an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SequenceError {
    #[error("received message {number} but expected {expected}")]
    Gap { number: u64, expected: u64 },
    #[error("the peer acknowledged message {received} but only {written} were sent")]
    NeverSent { received: u64, written: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reception {
    New,
    Duplicate,
}

impl ReliableSession {
    pub(crate) fn push(&mut self, payload: Vec<u8>) {
        self.unacknowledged.push_back(payload);
    }

    /// Prepares a new connection. Writing continues with the message after the last acknowledged
    /// message.
    pub(crate) fn rewind_for_reconnection(&mut self) {
        self.written = self.acknowledged;
    }

    /// Returns the next message to write, with an acknowledgement. `None` if all messages were
    /// written.
    pub(crate) fn next_frame(&mut self) -> Option<Frame<'_>> {
        let index = usize::try_from(self.written - self.acknowledged).ok()?;
        let payload = self.unacknowledged.get(index)?;
        self.written += 1;
        self.ever_written = self.ever_written.max(self.written);
        self.unacknowledged_received = QueueSize::default();
        Some(Frame::Data { number: self.written, received: self.received, payload })
    }

    pub(crate) fn take_acknowledgement(&mut self) -> Frame<'static> {
        self.unacknowledged_received = QueueSize::default();
        Frame::Acknowledge { received: self.received }
    }

    /// Handles an acknowledgement of all messages up to number `acknowledged_number`. Returns the
    /// number and the size of the newly acknowledged messages. Returns an error if message
    /// `acknowledged_number` was never written.
    pub(crate) fn on_acknowledgement(
        &mut self,
        acknowledged_number: u64,
    ) -> Result<QueueSize, SequenceError> {
        if acknowledged_number > self.ever_written {
            return Err(SequenceError::NeverSent {
                received: acknowledged_number,
                written: self.ever_written,
            });
        }
        let mut freed = QueueSize::default();
        while self.acknowledged < acknowledged_number {
            let payload = self.unacknowledged.pop_front().expect("a written message is kept");
            freed.add_payload(&payload);
            self.acknowledged += 1;
        }
        self.written = self.written.max(self.acknowledged);
        Ok(freed)
    }

    /// Handles the arrival of message `number`. If the message is new, records it as received and
    /// returns [`Reception::New`]. If it was received before, returns [`Reception::Duplicate`].
    /// Returns an error if an earlier message is missing.
    pub(crate) fn receive(
        &mut self,
        number: u64,
        payload: &[u8],
    ) -> Result<Reception, SequenceError> {
        let expected = self.received + 1;
        if number > expected {
            return Err(SequenceError::Gap { number, expected });
        }
        // A duplicate is acknowledged again, because its sender missed the acknowledgement.
        self.unacknowledged_received.add_payload(payload);
        if number < expected {
            return Ok(Reception::Duplicate);
        }
        self.received = number;
        Ok(Reception::New)
    }

    pub(crate) fn has_pending_acknowledgement(&self) -> bool {
        self.unacknowledged_received.messages > 0
    }

    /// Returns true if an acknowledgement is pending and must not wait for an outgoing message.
    pub(crate) fn is_acknowledgement_due(&self) -> bool {
        self.unacknowledged_received.messages >= MAX_UNACKNOWLEDGED_FRAMES
            || self.unacknowledged_received.bytes >= MAX_UNACKNOWLEDGED_BYTES
    }

    /// Returns a goodbye frame, which also acknowledges the received messages. Returns `None` if
    /// some messages have not been written yet.
    pub(crate) fn take_goodbye(&mut self) -> Option<Frame<'static>> {
        let behind = usize::try_from(self.written - self.acknowledged).ok()?;
        if behind < self.unacknowledged.len() {
            return None;
        }
        self.unacknowledged_received = QueueSize::default();
        Some(Frame::Goodbye { received: self.received })
    }

    pub(crate) fn is_fully_acknowledged(&self) -> bool {
        self.unacknowledged.is_empty()
    }

    pub(crate) fn unacknowledged_size(&self) -> QueueSize {
        let mut size = QueueSize::default();
        self.unacknowledged.iter().for_each(|payload| size.add_payload(payload));
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(session: &mut ReliableSession) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Some(Frame::Data { number, .. }) = session.next_frame() {
            numbers.push(number);
        }
        numbers
    }

    #[test]
    fn new_connection_resumes_after_last_acknowledgement() {
        let mut session = ReliableSession::default();
        (0..5).for_each(|byte| session.push(vec![byte]));
        assert_eq!(numbers(&mut session), [1, 2, 3, 4, 5]);
        session.rewind_for_reconnection();
        assert_eq!(session.on_acknowledgement(3), Ok(QueueSize { messages: 3, bytes: 3 }));
        assert_eq!(numbers(&mut session), [4, 5]);
    }

    #[test]
    fn accepts_acknowledgement_of_earlier_connection() {
        let mut session = ReliableSession::default();
        session.push(vec![1]);
        assert_eq!(numbers(&mut session), [1]);
        session.rewind_for_reconnection();
        assert_eq!(session.on_acknowledgement(1), Ok(QueueSize { messages: 1, bytes: 1 }));
        assert!(session.is_fully_acknowledged());
        session.push(vec![2]);
        assert_eq!(numbers(&mut session), [2]);
    }

    #[test]
    fn detects_duplicates_and_gaps() {
        let mut session = ReliableSession::default();
        assert_eq!(session.receive(1, &[]), Ok(Reception::New));
        assert_eq!(session.receive(1, &[]), Ok(Reception::Duplicate));
        assert_eq!(session.receive(3, &[]), Err(SequenceError::Gap { number: 3, expected: 2 }));
    }

    #[test]
    fn rejects_acknowledgement_of_unsent_message() {
        let mut session = ReliableSession::default();
        session.push(vec![1]);
        assert_eq!(
            session.on_acknowledgement(1),
            Err(SequenceError::NeverSent { received: 1, written: 0 })
        );
    }

    #[test]
    fn goodbye_follows_all_messages() {
        let mut session = ReliableSession::default();
        session.push(vec![1]);
        assert_eq!(session.take_goodbye(), None);
        assert_eq!(numbers(&mut session), [1]);
        assert_eq!(session.take_goodbye(), Some(Frame::Goodbye { received: 0 }));
    }

    #[test]
    fn message_carries_acknowledgement() {
        let mut session = ReliableSession::default();
        session.receive(1, &[]).expect("the first message");
        assert!(session.has_pending_acknowledgement());
        session.push(vec![9]);
        let carried = Frame::Data { number: 1, received: 1, payload: &[9] };
        assert_eq!(session.next_frame(), Some(carried));
        assert!(!session.has_pending_acknowledgement());
    }
}
