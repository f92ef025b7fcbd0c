//! What two sessions owe each other: numbers, acknowledgements, resumption. Pure: no I/O, no time.

use std::collections::VecDeque;

use super::frame::Frame;

/// This many received messages are acknowledged at once even if nothing is sent back.
const FRAMES_PER_ACKNOWLEDGEMENT: usize = 64;

/// So many received bytes are acknowledged at once even if nothing is sent back.
const BYTES_PER_ACKNOWLEDGEMENT: usize = 256 << 10;

/// The state between one session of this process and one session of a peer. It outlives
/// connections and ends with either session.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Messages that the peer has not acknowledged, oldest first.
    unacknowledged: VecDeque<Vec<u8>>,
    /// The highest number that the peer has acknowledged: the one before the oldest above.
    acknowledged: u64,
    /// The highest number written to the present connection.
    written: u64,
    /// The highest number ever written to any connection.
    ever_written: u64,
    /// The highest number received from the peer.
    received: u64,
    /// What was received since the last acknowledgement left.
    owed: Amount,
}

/// A number of messages and the bytes of their payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) frames: usize,
    pub(crate) bytes: usize,
}

impl Amount {
    pub(crate) fn add(&mut self, payload: &[u8]) {
        self.frames += 1;
        self.bytes += payload.len();
    }
}

/// The peer broke the rules of numbering, which only a defect or malice can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Breach {
    #[error("message {number} came where {expected} was expected")]
    Gap { number: u64, expected: u64 },
    #[error("{received} was acknowledged but only {written} were ever sent")]
    Unsent { received: u64, written: u64 },
}

/// What a number says about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    Fresh,
    Duplicate,
}

impl Conversation {
    /// Takes a message that must reach the peer as long as both sessions live.
    pub(crate) fn push(&mut self, payload: Vec<u8>) {
        self.unacknowledged.push_back(payload);
    }

    /// A new connection begins: nothing has been written to it.
    pub(crate) fn rewind(&mut self) {
        self.written = self.acknowledged;
    }

    /// The next message to write, carrying an acknowledgement along.
    pub(crate) fn next_frame(&mut self) -> Option<Frame<'_>> {
        let place = usize::try_from(self.written - self.acknowledged).ok()?;
        let payload = self.unacknowledged.get(place)?;
        self.written += 1;
        self.ever_written = self.ever_written.max(self.written);
        self.owed = Amount::default();
        Some(Frame::Data { number: self.written, received: self.received, payload })
    }

    /// An acknowledgement of its own.
    pub(crate) fn acknowledgement(&mut self) -> Frame<'static> {
        self.owed = Amount::default();
        Frame::Acknowledge { received: self.received }
    }

    /// The peer has everything up to `received`; gives what need not be kept any longer.
    pub(crate) fn forget(&mut self, received: u64) -> Result<Amount, Breach> {
        if received > self.ever_written {
            return Err(Breach::Unsent { received, written: self.ever_written });
        }
        let mut freed = Amount::default();
        while self.acknowledged < received {
            let payload = self.unacknowledged.pop_front().expect("what was written was kept");
            freed.add(&payload);
            self.acknowledged += 1;
        }
        self.written = self.written.max(self.acknowledged);
        Ok(freed)
    }

    /// Whether message `number` is new; if so it counts as received.
    pub(crate) fn admit(&mut self, number: u64, payload: &[u8]) -> Result<Novelty, Breach> {
        let expected = self.received + 1;
        if number > expected {
            return Err(Breach::Gap { number, expected });
        }
        // A duplicate is acknowledged again: its sender does not know yet.
        self.owed.add(payload);
        if number < expected {
            return Ok(Novelty::Duplicate);
        }
        self.received = number;
        Ok(Novelty::Fresh)
    }

    /// Whether the peer waits for an acknowledgement, however long it may wait.
    pub(crate) fn owes(&self) -> bool {
        self.owed.frames > 0
    }

    /// Whether so much is owed that the acknowledgement should not wait for a message.
    pub(crate) fn owes_much(&self) -> bool {
        self.owed.frames >= FRAMES_PER_ACKNOWLEDGEMENT
            || self.owed.bytes >= BYTES_PER_ACKNOWLEDGEMENT
    }

    /// The last frame of this session, once all there is was written.
    pub(crate) fn goodbye(&mut self) -> Option<Frame<'static>> {
        let behind = usize::try_from(self.written - self.acknowledged).ok()?;
        if behind < self.unacknowledged.len() {
            return None;
        }
        self.owed = Amount::default();
        Some(Frame::Goodbye { received: self.received })
    }

    /// Whether the peer has acknowledged all there is.
    pub(crate) fn is_settled(&self) -> bool {
        self.unacknowledged.is_empty()
    }

    /// What the peer has not acknowledged.
    pub(crate) fn outstanding(&self) -> Amount {
        let mut amount = Amount::default();
        self.unacknowledged.iter().for_each(|payload| amount.add(payload));
        amount
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(conversation: &mut Conversation) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Some(Frame::Data { number, .. }) = conversation.next_frame() {
            numbers.push(number);
        }
        numbers
    }

    #[test]
    fn a_new_connection_resumes_behind_what_the_peer_has() {
        let mut conversation = Conversation::default();
        (0..5).for_each(|byte| conversation.push(vec![byte]));
        assert_eq!(numbers(&mut conversation), [1, 2, 3, 4, 5]);
        conversation.rewind();
        assert_eq!(conversation.forget(3), Ok(Amount { frames: 3, bytes: 3 }));
        assert_eq!(numbers(&mut conversation), [4, 5]);
    }

    #[test]
    fn an_acknowledgement_of_what_was_written_earlier_holds_on_a_new_connection() {
        let mut conversation = Conversation::default();
        conversation.push(vec![1]);
        assert_eq!(numbers(&mut conversation), [1]);
        conversation.rewind();
        assert_eq!(conversation.forget(1), Ok(Amount { frames: 1, bytes: 1 }));
        assert!(conversation.is_settled());
        conversation.push(vec![2]);
        assert_eq!(numbers(&mut conversation), [2]);
    }

    #[test]
    fn a_duplicate_is_dropped_and_a_gap_is_a_breach() {
        let mut conversation = Conversation::default();
        assert_eq!(conversation.admit(1, &[]), Ok(Novelty::Fresh));
        assert_eq!(conversation.admit(1, &[]), Ok(Novelty::Duplicate));
        assert_eq!(conversation.admit(3, &[]), Err(Breach::Gap { number: 3, expected: 2 }));
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_is_a_breach() {
        let mut conversation = Conversation::default();
        conversation.push(vec![1]);
        assert_eq!(conversation.forget(1), Err(Breach::Unsent { received: 1, written: 0 }));
    }

    #[test]
    fn goodbye_is_said_behind_everything_else() {
        let mut conversation = Conversation::default();
        conversation.push(vec![1]);
        assert_eq!(conversation.goodbye(), None);
        assert_eq!(numbers(&mut conversation), [1]);
        assert_eq!(conversation.goodbye(), Some(Frame::Goodbye { received: 0 }));
    }

    #[test]
    fn a_message_carries_the_acknowledgement_along() {
        let mut conversation = Conversation::default();
        conversation.admit(1, &[]).expect("the first message");
        assert!(conversation.owes());
        conversation.push(vec![9]);
        let carried = Frame::Data { number: 1, received: 1, payload: &[9] };
        assert_eq!(conversation.next_frame(), Some(carried));
        assert!(!conversation.owes());
    }
}
