//! Validation of messages and states before an algorithm receives them.
//!
//! An algorithm adopts the highest number that it receives, saves it, and sends it to all peers. A
//! single message with a number near the end of its range, from a defect or an attacker, could
//! therefore block a whole cluster forever. The validator serializes each message before the
//! algorithm receives the message, and inspects the numbers and lists in it. It also inspects each
//! state that is saved or loaded.

mod walker;

use serde::Serialize;
use tenure_core::{ProcessId, Term};
use thiserror::Error;

use walker::ValueWalker;

/// Reason why a value is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValidationError {
    /// The value refers to a process outside of the group.
    #[error("it refers to {process}, but the group has {group_size} processes")]
    UnknownProcess {
        /// Process that the value refers to.
        process: ProcessId,
        /// Number of processes in the group.
        group_size: u32,
    },
    /// A number is higher than the limit of its kind. In a message, such a number is implausible.
    /// In a state, a term is too high if the next term would not fit a fence.
    #[error("it contains the number {number}, but at most {max} is possible")]
    NumberTooLarge {
        /// Rejected number. For a signed number, its absolute value. For a term that is packed into
        /// a fence, the number of the term.
        number: u64,
        /// Highest number that the validator would have accepted.
        max: u64,
    },
    /// A list has a wrong length. Either the list is longer than the group, or it needs one element
    /// per process and has more or fewer.
    #[error("it contains a list whose length does not fit a group of {group_size} processes")]
    ListLength {
        /// Number of processes in the group.
        group_size: u32,
    },
    /// The bytes are not a message of this algorithm, or the value cannot be inspected.
    #[error("it cannot be decoded; all nodes need the same release")]
    Unreadable,
}

/// Kind of a number. Each kind has its own limit.
#[derive(Clone, Copy, Debug)]
enum NumberKind {
    /// Term numbers, which are packed into fences.
    Terms,
    /// Other 64-bit numbers, such as clock values, request numbers and indexes of log entries.
    Long,
    /// 32-bit numbers.
    Short,
}

/// For each [`NumberKind`]: the number of bits that an accepted number may use. The type of the
/// number has at least one more bit, so an algorithm can add to the number without an overflow.
const BITS: [u32; 3] = [Term::NUMBER_LIMIT.trailing_zeros(), 62, 31];

/// Validator of the messages and states of one process.
///
/// A message or state may refer only to processes of the group. A list in a message must not be
/// longer than the group, except in fields that allow longer lists. A list in a state may have any
/// length, except in fields with one element per process.
///
/// A number in a message may exceed the highest number accepted so far only by a limited amount.
/// This amount is 2^24 for numbers of terms, 2^46 for other 64-bit numbers such as clock values,
/// and 2^15 for 32-bit numbers. The first number of a kind may be as high as half of the range of
/// this kind, because a recovering process knows no earlier number.
///
/// If other rules apply to a field, its serialization contains a [`mark`](tenure_core::mark). A
/// mark is a name that tells the validator what the number or list means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validator {
    group_size: u32,
    /// For each [`NumberKind`]: the highest number accepted so far; `None` before the first
    /// number.
    highest: [Option<u64>; 3],
    /// For each [`NumberKind`]: the highest number that the validator accepts in a message.
    limits: [u64; 3],
}

impl Validator {
    /// Creates a validator for a group of `group_size` processes. It has not accepted any number
    /// yet.
    pub fn new(group_size: u32) -> Self {
        Validator { group_size, highest: [None; 3], limits: BITS.map(|bits| 1 << (bits - 1)) }
    }

    /// Checks a message and records its numbers.
    ///
    /// # Errors
    ///
    /// [`ValidationError`]. Then no number of this message is recorded, and the message must be
    /// dropped.
    pub fn check_message(&mut self, message: &impl Serialize) -> Result<(), ValidationError> {
        let limits = self.limits;
        self.walk(message, limits, self.group_size)
    }

    /// Checks a state before it is saved or after it is loaded, and records its numbers.
    ///
    /// # Errors
    ///
    /// [`ValidationError`], for instance if a term is too large to become part of a fencing token.
    /// The process must then stop, because it would panic later.
    pub fn check_state(&mut self, stable: &impl Serialize) -> Result<(), ValidationError> {
        // The process will compute the term after the saved term, and this term must fit a fencing
        // token.
        self.walk(stable, [Term::NUMBER_LIMIT - 2, u64::MAX, u64::MAX], u32::MAX)
    }

    fn walk(
        &mut self,
        value: &impl Serialize,
        limits: [u64; 3],
        max_list_length: u32,
    ) -> Result<(), ValidationError> {
        let mut walk = ValueWalker::new(self.group_size, max_list_length, limits, self.highest);
        value.serialize(&mut walk)?;
        let highest = walk.highest_numbers();
        if highest != self.highest {
            self.highest = highest;
            for (index, bits) in BITS.into_iter().enumerate() {
                let step = 1 << (bits - 16);
                if let Some(number) = highest[index] {
                    self.limits[index] = number.saturating_add(step).min((1 << bits) - step);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::{Fence, LamportClock, Rank, Timestamp, VectorClock};

    use super::*;

    const P2: ProcessId = ProcessId(1);
    const P4: ProcessId = ProcessId(3);

    fn term(number: u64) -> Term {
        Term { number, leader: P2 }
    }

    fn check_message(message: &impl Serialize) -> Result<(), ValidationError> {
        Validator::new(3).check_message(message)
    }

    #[derive(Serialize)]
    struct Token {
        #[serde(serialize_with = "tenure_core::mark::by_process")]
        served: Vec<u64>,
        queue: Vec<ProcessId>,
    }

    fn token(served: usize, queue: usize) -> Token {
        Token { served: vec![0; served], queue: vec![P2; queue] }
    }

    #[test]
    fn accepts_messages_of_algorithms() {
        assert_eq!(check_message(&(term(7), Fence(term(7).packed(), 3), Some(P2))), Ok(()));
        assert_eq!(check_message(&Timestamp { clock: 1 << 45, process: P2 }), Ok(()));
        assert_eq!(check_message(&VectorClock::from(vec![1, 2, 3])), Ok(()));
        assert_eq!(check_message(&Rank { weight: u64::MAX, id: u32::MAX }), Ok(()));
        assert_eq!(check_message(&(token(3, 0), "büro", true, -5_i64, 255_u8)), Ok(()));
    }

    #[test]
    fn rejects_processes_outside_of_group() {
        let unknown = Err(ValidationError::UnknownProcess { process: P4, group_size: 3 });
        assert_eq!(check_message(&P4), unknown);
        assert_eq!(check_message(&Term { number: 1, leader: P4 }), unknown);
        assert_eq!(check_message(&vec![P2, P4]), unknown);
        assert_eq!(check_message(&Timestamp { clock: 1, process: P4 }), unknown);
    }

    #[test]
    fn rejects_numbers_above_limits() {
        for number in [Term::NUMBER_LIMIT, u64::MAX] {
            assert!(check_message(&term(number)).is_err(), "{number}");
        }
        assert!(check_message(&Fence(u64::MAX, 1)).is_err());
        assert!(check_message(&Fence(0, u64::MAX)).is_err());
        assert!(check_message(&LamportClock(u64::MAX)).is_err());
        assert!(check_message(&u32::MAX).is_err());
        assert!(check_message(&i64::MIN).is_err());
    }

    #[test]
    fn rejects_jump_and_does_not_record_it() {
        let mut validator = Validator::new(3);
        assert_eq!(validator.check_message(&term(5)), Ok(()));
        let (number, most) = (6 + (1 << 24), 5 + (1 << 24));
        for _ in 0..2 {
            assert_eq!(
                validator.check_message(&term(number)),
                Err(ValidationError::NumberTooLarge { number, max: most })
            );
        }
        assert_eq!(validator.check_message(&term(most)), Ok(()));
        assert_eq!(validator.check_message(&term(number)), Ok(()));
    }

    #[test]
    fn repeated_jumps_never_exceed_packable_terms() {
        let mut validator = Validator::new(3);
        let mut believed = 0;
        while validator.check_message(&term(believed + (1 << 24))).is_ok() {
            believed += 1 << 24;
        }
        assert!(believed + (1 << 24) <= Term::NUMBER_LIMIT, "the limit exceeds {believed}");
    }

    #[test]
    fn rejects_lists_of_wrong_length() {
        assert_eq!(check_message(&token(3, 3)), Ok(()));
        for (served, queue) in [(0, 0), (2, 0), (4, 0), (3, 4)] {
            assert_eq!(
                check_message(&token(served, queue)),
                Err(ValidationError::ListLength { group_size: 3 })
            );
        }
    }

    #[test]
    fn checks_elements_of_lists_of_any_length() {
        #[derive(Serialize)]
        struct Entries(
            #[serde(serialize_with = "tenure_core::mark::of_any_length")]
            Vec<(Term, Vec<ProcessId>)>,
        );
        let entries = |last: (Term, Vec<ProcessId>)| {
            Entries((0..64).map(|_| (term(7), vec![P2])).chain([last]).collect())
        };
        assert_eq!(check_message(&entries((term(8), vec![P2]))), Ok(()));
        assert!(check_message(&entries((term(Term::NUMBER_LIMIT), vec![P2]))).is_err(), "a term");
        assert!(check_message(&entries((term(8), vec![P4]))).is_err(), "an unknown process");
        assert!(check_message(&entries((term(8), vec![P2; 4]))).is_err(), "an inner list");
    }

    #[test]
    fn saved_state_must_be_packable_and_sets_limits() {
        let mut validator = Validator::new(3);
        assert_eq!(validator.check_state(&(term(1 << 30), vec![u64::MAX; 9])), Ok(()));
        assert_eq!(validator.check_message(&term((1 << 30) + 1)), Ok(()));
        assert!(validator.check_message(&term(1 << 31)).is_err());
        assert!(validator.check_state(&term(Term::NUMBER_LIMIT - 1)).is_err());
        assert!(validator.check_state(&Term { number: 1, leader: P4 }).is_err());
    }
}
