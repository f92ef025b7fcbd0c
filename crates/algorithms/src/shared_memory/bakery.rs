//! The bakery: a process takes a number above all others, and the lowest number enters.
//!
//! L. Lamport, *A new solution of Dijkstra's concurrent programming problem*, CACM 17(8), 1974:
//!
//! ```text
//! L1: choosing[i] := 1;
//!     number[i] := 1 + maximum(number[1], …, number[N]);
//!     choosing[i] := 0;
//!     for j = 1 step 1 until N do
//!         L2: if choosing[j] ≠ 0 then goto L2;
//!         L3: if number[j] ≠ 0 and (number[j], j) < (number[i], i) then goto L3;
//!     critical section;
//!     number[i] := 0;
//!     noncritical section;
//!     goto L1
//! ```
//!
//! | | |
//! |---|---|
//! | assumes | atomic reads and writes, processes that do not crash outside of the remainder |
//! | registers | `choosing[1..N]` and `number[1..N]`, each written by one process only |
//! | accesses per entry, uncontended | 3N + 1 |
//! | bypass | 1: first come, first served after the doorway, which ends with `choosing[i] := 0` |
//!
//! **Why it is right.** Before a process *p* enters, it does two things for each other process *q*.
//! It reads that *q* is not choosing, and then compares its own pair (number, id) with the pair of
//! *q*. If *q* took its number before this comparison, both processes compare the same two pairs.
//! No two pairs are equal, so only one of the two processes may enter first. If *q* takes its
//! number later, it reads the number of *p* and takes a higher one. Numbers grow without bound if
//! at every moment some process has a number. So the model checker needs a bound on them.
//!
//! The paper's registers need not be atomic: a read that overlaps a write may return any value.
//! Here they are atomic. A process skips itself in both loops, where its own reads change nothing,
//! and `number[j]` is read once at L3.

use alloc::vec;

use tenure_core::shared_memory::{
    LockSection, Register, SharedMemory, SharedMemoryCard, SharedMemoryLock,
};
use tenure_core::{Group, ProcessId, Property};

use crate::Variants;
use crate::variants::variant_ids;

/// State of one process that uses this lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bakery {
    group: Group,
    variants: Variants<VariantId>,
    line: Line,
}

/// Next instruction of a process, with its local variables. `other` is the variable `j` of the
/// paper. `maximum` is the largest number that the process has read so far. `number` is the value
/// of `number[i]`, which only this process writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Line {
    Remainder,
    /// The instruction `choosing[i] := 1`.
    StartChoosing,
    /// Part of `maximum(number[1], …, number[N])` that reads `number[j]`.
    ReadMaximum {
        other: ProcessId,
        maximum: u32,
    },
    /// The instruction `number[i] := 1 + maximum`.
    TakeNumber {
        maximum: u32,
    },
    /// The instruction `choosing[i] := 0`.
    StopChoosing {
        number: u32,
    },
    /// The instruction L2: `choosing[j] ≠ 0`.
    ReadChoosing {
        other: ProcessId,
        number: u32,
    },
    /// The instruction L3: `number[j] ≠ 0 and (number[j], j) < (number[i], i)`.
    ReadNumber {
        other: ProcessId,
        number: u32,
    },
    Inside,
    /// The instruction `number[i] := 0`.
    ReturnNumber,
}

variant_ids! {
    NoChoosing = "no-choosing", unsound,
        "a process does not wait for another that is choosing, and later finds itself overtaken \
        by an equal number"
        => "S-B1", "-n 2 --property mutual-exclusion";
    TiesEnter = "ties-enter", unsound,
        "equal numbers do not wait for each other"
        => "S-B2", "-n 2 --property mutual-exclusion";
    TiesWait = "ties-wait", unsound,
        "equal numbers wait for each other"
        => "S-B3", "-n 2 --property deadlock-freedom";
}

impl Bakery {
    /// Name of this lock on the command line.
    pub const NAME: &'static str = "bakery";

    /// Returns the [`SharedMemoryCard`] of this lock for a group of `size` processes.
    pub fn card(size: u32) -> SharedMemoryCard {
        SharedMemoryCard {
            name: Self::NAME,
            title: "the lowest number enters; ties are broken by the names",
            paper: "Lamport, A new solution of Dijkstra's concurrent programming problem, \
                CACM 17(8), 1974",
            registers: "choosing[1..N], 0 or 1; number[1..N], the ticket of a process, or 0",
            accesses: "3N + 1",
            uncontended_accesses: 3 * size + 1,
            unbounded: Some(NUMBER),
            promises: vec![
                Property::MutualExclusion,
                Property::DeadlockFreedom,
                Property::StarvationFreedom,
                Property::FirstComeFirstServed,
                Property::Bypass(Some(1)),
            ],
            variants: Variants::<VariantId>::declarations(),
        }
    }

    /// Returns the process that follows `other` in the loop over all processes except this one. If
    /// `other` is `None`, returns the first process. If `other` is the last process, returns
    /// `None`.
    fn next_after(&self, other: Option<ProcessId>) -> Option<ProcessId> {
        let mut peers = self.group.processes().filter(|peer| *peer != self.group.me());
        peers.find(|peer| other.is_none_or(|other| *peer > other))
    }

    /// Returns the line that this process executes after it has read the number of `other`, or at
    /// the beginning of the loop if `other` is `None`. `maximum` is the largest number read so far.
    /// The line reads the next number or, at the end of the loop, takes a number for this process.
    fn read_maximum_after(&self, other: Option<ProcessId>, maximum: u32) -> Line {
        match self.next_after(other) {
            Some(other) => Line::ReadMaximum { other, maximum },
            None => Line::TakeNumber { maximum },
        }
    }

    /// Returns the next line of this process in the loop in which it waits for each other process.
    /// The line begins the wait for the process after `other`. If `other` is `None`, the line
    /// begins the wait for the first process. If `other` is the last process, the loop is over, and
    /// the function returns the line inside the critical section.
    fn wait_after(&self, other: Option<ProcessId>, number: u32) -> Line {
        match self.next_after(other) {
            Some(other) if self.variants.has(VariantId::NoChoosing) => {
                Line::ReadNumber { other, number }
            }
            Some(other) => Line::ReadChoosing { other, number },
            None => Line::Inside,
        }
    }

    /// Returns true if the process `other` with the number `theirs` enters the critical section
    /// before this process with the number `mine`: `(number[j], j) < (number[i], i)`. Two variants
    /// change the result for equal numbers.
    fn precedes_me(&self, (theirs, other): (u32, ProcessId), mine: u32) -> bool {
        if theirs == mine && self.variants.has(VariantId::TiesEnter) {
            return false;
        }
        if theirs == mine && self.variants.has(VariantId::TiesWait) {
            return true;
        }
        (theirs, other) < (mine, self.group.me())
    }
}

const NUMBER: &str = "number";

const fn choosing(process: ProcessId) -> Register {
    Register::element_of("choosing", process)
}

const fn number_of(process: ProcessId) -> Register {
    Register::element_of(NUMBER, process)
}

impl SharedMemoryLock for Bakery {
    type Config = Variants<VariantId>;

    fn boot(group: Group, variants: &Variants<VariantId>) -> Self {
        Bakery { group, variants: *variants, line: Line::Remainder }
    }

    fn section(&self) -> LockSection {
        match self.line {
            Line::Remainder => LockSection::Remainder,
            Line::StartChoosing
            | Line::ReadMaximum { .. }
            | Line::TakeNumber { .. }
            | Line::StopChoosing { .. } => LockSection::Doorway,
            Line::ReadChoosing { .. } | Line::ReadNumber { .. } => LockSection::Waiting,
            Line::Inside => LockSection::Inside,
            Line::ReturnNumber => LockSection::Exit,
        }
    }

    fn begin_entry(&mut self) {
        assert!(self.line == Line::Remainder, "a process may request only in its remainder");
        self.line = match self.variants.has(VariantId::NoChoosing) {
            true => self.read_maximum_after(None, 0),
            false => Line::StartChoosing,
        };
    }

    fn exit(&mut self) {
        assert!(self.line == Line::Inside, "only a process inside may exit");
        self.line = Line::ReturnNumber;
    }

    fn step(&mut self, memory: &mut impl SharedMemory) {
        let me = self.group.me();
        self.line = match self.line {
            Line::Remainder | Line::Inside => panic!("{me} must be asked to enter or to exit"),
            Line::StartChoosing => {
                memory.write(choosing(me), 1);
                self.read_maximum_after(None, 0)
            }
            Line::ReadMaximum { other, maximum } => {
                let maximum = maximum.max(memory.read(number_of(other)));
                self.read_maximum_after(Some(other), maximum)
            }
            Line::TakeNumber { maximum } => {
                let number = maximum + 1;
                memory.write(number_of(me), number);
                match self.variants.has(VariantId::NoChoosing) {
                    true => self.wait_after(None, number),
                    false => Line::StopChoosing { number },
                }
            }
            Line::StopChoosing { number } => {
                memory.write(choosing(me), 0);
                self.wait_after(None, number)
            }
            Line::ReadChoosing { other, number } => match memory.read(choosing(other)) {
                0 => Line::ReadNumber { other, number },
                _ => Line::ReadChoosing { other, number },
            },
            Line::ReadNumber { other, number } => {
                let theirs = memory.read(number_of(other));
                match theirs != 0 && self.precedes_me((theirs, other), number) {
                    true => Line::ReadNumber { other, number },
                    false => self.wait_after(Some(other), number),
                }
            }
            Line::ReturnNumber => {
                memory.write(number_of(me), 0);
                Line::Remainder
            }
        };
    }
}
