//! What stands between the wire and an algorithm: what cannot be true is not believed.
//!
//! An algorithm adopts the highest number that it hears of, saves it, and tells it to everybody.
//! One message with a number near the end of its range, sent by a defect or out of malice, would
//! so be the last word of a whole cluster, for ever. Here every message is walked through, by its
//! serialization, before it reaches the algorithm; so is whatever is saved or was.

mod walk;

use serde::Serialize;
use tenure_core::{ProcessId, Term};
use thiserror::Error;

use walk::Walk;

/// Why a value is not believed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Implausible {
    /// Somebody is named who is not in the group.
    #[error("it names {process}, and the group has {size} processes")]
    Stranger {
        /// Who is named.
        process: ProcessId,
        /// The size of the group.
        size: u32,
    },
    /// A number is higher than anybody can have counted.
    #[error("it says {number}, where at most {most} can be")]
    Number {
        /// The number.
        number: u64,
        /// The highest that would have been believed.
        most: u64,
    },
    /// A list is longer than the group is large, or has not one element for each process.
    #[error("a list in it has not as many elements as {size} processes need")]
    List {
        /// The size of the group.
        size: u32,
    },
    /// The bytes are no message of this algorithm, or the value cannot be walked through.
    #[error("it cannot be understood: another release?")]
    Unreadable,
}

/// What is counted apart.
#[derive(Clone, Copy, Debug)]
enum Count {
    /// The numbers of terms, which are packed into fences.
    Terms,
    /// Clocks, requests, entries: whatever else needs 64 bits.
    Long,
    /// What needs 32 bits.
    Short,
}

/// By [`Count`]: how many bits there are to count with. One is left over, so that an algorithm
/// that adds to what it believed does not overflow.
const BITS: [u32; 3] = [Term::NUMBERS.trailing_zeros(), 62, 31];

/// What one process believes, of what its peers say and of what it had saved.
///
/// Everybody who is named is in the group. Numbers that count are at most a 65 536th of their
/// range above the highest that this process has heard of or saved: 2^24 elections, 2^46 clock
/// ticks. The first of its kind may use half of the range, since a process that comes back knows
/// nothing. Lists are not longer than the group, unless they say that they may be. What a number or
/// a list is, its field says by a [`mark`](tenure_core::mark).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plausible {
    size: u32,
    /// By [`Count`]: the highest that was believed.
    highest: [Option<u64>; 3],
    /// By [`Count`]: the highest that is believed next.
    most: [u64; 3],
}

impl Plausible {
    /// Of a process in a group of `size` that has heard of nothing.
    pub fn new(size: u32) -> Self {
        Plausible { size, highest: [None; 3], most: BITS.map(|bits| 1 << (bits - 1)) }
    }

    /// Whether to believe a message, which then counts as heard of.
    ///
    /// # Errors
    ///
    /// [`Implausible`]; nothing of the message was noted, and no algorithm should hear of it.
    pub fn hear(&mut self, message: &impl Serialize) -> Result<(), Implausible> {
        let most = self.most;
        self.walk(message, most, self.size)
    }

    /// Whether a state may be saved, or believed after it was.
    ///
    /// # Errors
    ///
    /// [`Implausible`]; a process that went on with it would stop when it packs a term.
    pub fn save(&mut self, stable: &impl Serialize) -> Result<(), Implausible> {
        // Before the number that cannot be packed, there is one more that must not be saved.
        self.walk(stable, [Term::NUMBERS - 2, u64::MAX, u64::MAX], u32::MAX)
    }

    fn walk(
        &mut self,
        value: &impl Serialize,
        most: [u64; 3],
        longest: u32,
    ) -> Result<(), Implausible> {
        let mut walk = Walk::new(self.size, longest, most, self.highest);
        value.serialize(&mut walk)?;
        let heard = walk.heard();
        if heard != self.highest {
            self.highest = heard;
            for (place, bits) in BITS.into_iter().enumerate() {
                let step = 1 << (bits - 16);
                if let Some(highest) = heard[place] {
                    self.most[place] = highest.saturating_add(step).min((1 << bits) - step);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::{Fence, LamportClock, Rank, Stamp, VectorClock};

    use super::*;

    const P2: ProcessId = ProcessId(1);
    const P4: ProcessId = ProcessId(3);

    fn term(number: u64) -> Term {
        Term { number, leader: P2 }
    }

    fn hear(message: &impl Serialize) -> Result<(), Implausible> {
        Plausible::new(3).hear(message)
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
    fn what_an_algorithm_says_is_believed() {
        assert_eq!(hear(&(term(7), Fence(term(7).packed(), 3), Some(P2))), Ok(()));
        assert_eq!(hear(&Stamp { clock: 1 << 45, process: P2 }), Ok(()));
        assert_eq!(hear(&VectorClock::from(vec![1, 2, 3])), Ok(()));
        assert_eq!(hear(&Rank { weight: u64::MAX, id: u32::MAX }), Ok(()));
        assert_eq!(hear(&(token(3, 0), "büro", true, -5_i64, 255_u8)), Ok(()));
    }

    #[test]
    fn whoever_is_not_in_the_group_is_a_stranger() {
        let stranger = Err(Implausible::Stranger { process: P4, size: 3 });
        assert_eq!(hear(&P4), stranger);
        assert_eq!(hear(&Term { number: 1, leader: P4 }), stranger);
        assert_eq!(hear(&vec![P2, P4]), stranger);
        assert_eq!(hear(&Stamp { clock: 1, process: P4 }), stranger);
    }

    #[test]
    fn a_number_that_could_not_be_packed_or_added_to_is_not_believed() {
        for number in [Term::NUMBERS, u64::MAX] {
            assert!(hear(&term(number)).is_err(), "{number}");
        }
        assert!(hear(&Fence(u64::MAX, 1)).is_err());
        assert!(hear(&Fence(0, u64::MAX)).is_err());
        assert!(hear(&LamportClock(u64::MAX)).is_err());
        assert!(hear(&u32::MAX).is_err());
        assert!(hear(&i64::MIN).is_err());
    }

    #[test]
    fn a_jump_beyond_what_was_heard_is_not_believed_and_not_remembered() {
        let mut plausible = Plausible::new(3);
        assert_eq!(plausible.hear(&term(5)), Ok(()));
        let (number, most) = (6 + (1 << 24), 5 + (1 << 24));
        for _ in 0..2 {
            assert_eq!(plausible.hear(&term(number)), Err(Implausible::Number { number, most }));
        }
        assert_eq!(plausible.hear(&term(most)), Ok(()));
        assert_eq!(plausible.hear(&term(number)), Ok(()));
    }

    #[test]
    fn no_number_of_steps_leads_to_one_that_cannot_be_packed() {
        let mut plausible = Plausible::new(3);
        let mut believed = 0;
        while plausible.hear(&term(believed + (1 << 24))).is_ok() {
            believed += 1 << 24;
        }
        assert!(believed + (1 << 24) <= Term::NUMBERS, "there is room for more than {believed}");
    }

    #[test]
    fn lists_are_as_long_as_the_group_allows() {
        assert_eq!(hear(&token(3, 3)), Ok(()));
        for (served, queue) in [(0, 0), (2, 0), (4, 0), (3, 4)] {
            assert_eq!(hear(&token(served, queue)), Err(Implausible::List { size: 3 }));
        }
    }

    #[test]
    fn a_list_that_may_be_of_any_length_is_believed_and_what_is_in_it_is_judged() {
        #[derive(Serialize)]
        struct Entries(
            #[serde(serialize_with = "tenure_core::mark::of_any_length")]
            Vec<(Term, Vec<ProcessId>)>,
        );
        let entries = |last: (Term, Vec<ProcessId>)| {
            Entries((0..64).map(|_| (term(7), vec![P2])).chain([last]).collect())
        };
        assert_eq!(hear(&entries((term(8), vec![P2]))), Ok(()));
        assert!(hear(&entries((term(Term::NUMBERS), vec![P2]))).is_err(), "a term");
        assert!(hear(&entries((term(8), vec![P4]))).is_err(), "a stranger");
        assert!(hear(&entries((term(8), vec![P2; 4]))).is_err(), "a list within");
    }

    #[test]
    fn what_is_saved_can_be_packed_and_says_where_counting_begins() {
        let mut plausible = Plausible::new(3);
        assert_eq!(plausible.save(&(term(1 << 30), vec![u64::MAX; 9])), Ok(()));
        assert_eq!(plausible.hear(&term((1 << 30) + 1)), Ok(()));
        assert!(plausible.hear(&term(1 << 31)).is_err());
        assert!(plausible.save(&term(Term::NUMBERS - 1)).is_err());
        assert!(plausible.save(&Term { number: 1, leader: P4 }).is_err());
    }
}
