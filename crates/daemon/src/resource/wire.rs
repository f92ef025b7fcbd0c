//! What client and server say: frames of a fixed size, so that there is no length to lie about.

use tenure_core::{Fence, ProcessId};
use tenure_trace::Operation;

/// The bytes of a question: operation, process, whether there is a fence, fence, value.
pub(super) const QUESTION_BYTES: usize = 1 + 4 + 1 + 16 + 8;

/// The bytes of an answer: whether it was accepted, value, highest fence.
pub(super) const ANSWER_BYTES: usize = 1 + 8 + 16;

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) by: ProcessId,
    pub(super) operation: Operation,
    pub(super) fence: Option<Fence>,
    pub(super) value: u64,
}

/// What the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) accepted: bool,
    pub(super) value: u64,
    pub(super) highest: Fence,
}

impl Question {
    pub(super) fn encode(&self) -> [u8; QUESTION_BYTES] {
        let mut frame = [0; QUESTION_BYTES];
        let Fence(first, second) = self.fence.unwrap_or_default();
        frame[0] = u8::from(self.operation == Operation::Put);
        frame[1..5].copy_from_slice(&self.by.0.to_be_bytes());
        frame[5] = u8::from(self.fence.is_some());
        frame[6..14].copy_from_slice(&first.to_be_bytes());
        frame[14..22].copy_from_slice(&second.to_be_bytes());
        frame[22..].copy_from_slice(&self.value.to_be_bytes());
        frame
    }

    /// Nothing, when the bytes are no question.
    pub(super) fn decode(frame: &[u8; QUESTION_BYTES]) -> Option<Question> {
        let operation = match frame[0] {
            0 => Operation::Get,
            1 => Operation::Put,
            _ => return None,
        };
        let fence = match frame[5] {
            0 => None,
            1 => Some(Fence(number(frame, 6), number(frame, 14))),
            _ => return None,
        };
        let by = ProcessId(u32::from_be_bytes([frame[1], frame[2], frame[3], frame[4]]));
        Some(Question { by, operation, fence, value: number(frame, 22) })
    }
}

impl Answer {
    pub(super) fn encode(&self) -> [u8; ANSWER_BYTES] {
        let mut frame = [0; ANSWER_BYTES];
        frame[0] = u8::from(self.accepted);
        frame[1..9].copy_from_slice(&self.value.to_be_bytes());
        frame[9..17].copy_from_slice(&self.highest.0.to_be_bytes());
        frame[17..].copy_from_slice(&self.highest.1.to_be_bytes());
        frame
    }

    pub(super) fn decode(frame: &[u8; ANSWER_BYTES]) -> Answer {
        let highest = Fence(number(frame, 9), number(frame, 17));
        Answer { accepted: frame[0] == 1, value: number(frame, 1), highest }
    }
}

/// The eight bytes from `start` as a number.
fn number(frame: &[u8], start: usize) -> u64 {
    frame[start..start + 8].iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_survive_the_wire() {
        for fence in [None, Some(Fence(1, u64::MAX))] {
            for operation in [Operation::Get, Operation::Put] {
                let question = Question { by: ProcessId(70_000), operation, fence, value: 1 << 40 };
                assert_eq!(Question::decode(&question.encode()), Some(question));
            }
        }
        for accepted in [false, true] {
            let answer = Answer { accepted, value: 3, highest: Fence(u64::MAX, 2) };
            assert_eq!(Answer::decode(&answer.encode()), answer);
        }
    }

    #[test]
    fn other_bytes_are_no_question() {
        let by = ProcessId(0);
        let good = Question { by, operation: Operation::Get, fence: None, value: 0 }.encode();
        for place in [0, 5] {
            let mut frame = good;
            frame[place] = 2;
            assert_eq!(Question::decode(&frame), None);
        }
    }
}
