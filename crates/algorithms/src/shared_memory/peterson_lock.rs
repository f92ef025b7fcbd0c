//! Peterson's lock: mutual exclusion of two processes with three variables, and its extension to N
//! processes.
//!
//! G. L. Peterson, *Myths about the mutual exclusion problem*, Information Processing Letters
//! 12(3), 1981. For two processes:
//!
//! ```text
//! Q1 := true; TURN := 1; wait until not Q2 or TURN = 2;
//! critical section;
//! Q1 := false
//! ```
//!
//! For N processes, each process repeats this at N − 1 levels. Each level has its own variable
//! TURN:
//!
//! ```text
//! for j := 1 to N − 1 do
//!     Q[i] := j; TURN[j] := i;
//!     wait until (for all k ≠ i: Q[k] < j) or TURN[j] ≠ i;
//! critical section;
//! Q[i] := 0
//! ```
//!
//! | | |
//! |---|---|
//! | assumes | atomic reads and writes, processes that do not crash outside of the remainder |
//! | registers | `Q[1..N]` and `TURN[1..N − 1]` |
//! | accesses per entry, uncontended | (N − 1)(N + 1) + 1; 4 for two processes |
//! | bypass | 1 for two processes; without bound for more |
//!
//! **Why it is right.** At each level the process that wrote TURN last waits while another process
//! is at this level or above. So each level holds back one process of those that reach it, and one
//! process passes the last level. For two processes, a process that has left its doorway enters
//! before any later request: the later writer of TURN waits.
//!
//! With three processes, the wait of a process may be over, but the process may be slow to notice
//! this. Meanwhile the other two processes can enter any number of times, because each of them ends
//! the wait of the other. So the bypass has no bound, but no process starves under weak fairness.
//!
//! The level 0 is the paper's `Q = false`. The wait is not atomic here: each read is one step.

use alloc::vec;

use tenure_core::shared_memory::{
    LockSection, Register, SharedMemory, SharedMemoryCard, SharedMemoryLock,
};
use tenure_core::{Group, ProcessId, Property};

use crate::Variants;
use crate::variants::variant_ids;

/// State of one process that uses this lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PetersonLock {
    group: Group,
    variants: Variants<VariantId>,
    line: Line,
}

/// Next instruction of the process, with its local variables. `level` is the variable `j` of the
/// paper, and `other` is the variable `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Line {
    Remainder,
    /// The instruction `Q[i] := j`.
    WriteQ {
        level: u32,
    },
    /// The instruction `TURN[j] := i`.
    WriteTurn {
        level: u32,
    },
    /// The instruction `Q[k] < j`.
    ReadQ {
        level: u32,
        other: ProcessId,
    },
    /// The instruction `TURN[j] ≠ i`.
    ReadTurn {
        level: u32,
    },
    Inside,
    /// The instruction `Q[i] := 0`.
    ClearQ,
}

variant_ids! {
    TurnFirst = "turn-first", unsound,
        "a process writes TURN before Q, so that the last writer of TURN may find Q unset and enter"
        => "S-P1", "-n 2 --property mutual-exclusion";
    NoTurn = "no-turn", unsound,
        "a process waits for the others' Q alone, so that two requests wait for each other"
        => "S-P2", "-n 2 --property deadlock-freedom";
    NoQ = "no-q", unsound,
        "a process waits for its turn alone, so that it waits for a process without a request"
        => "S-P3", "-n 2 --property starvation-freedom";
}

impl PetersonLock {
    /// Name of this lock on the command line.
    pub const NAME: &'static str = "peterson-lock";

    /// Returns the [`SharedMemoryCard`] of this lock for a group of `size` processes.
    pub fn card(size: u32) -> SharedMemoryCard {
        let mut promises =
            vec![Property::MutualExclusion, Property::DeadlockFreedom, Property::StarvationFreedom];
        if size <= 2 {
            promises.extend([Property::FirstComeFirstServed, Property::Bypass(Some(1))]);
        }
        let levels = size.saturating_sub(1);
        SharedMemoryCard {
            name: Self::NAME,
            title: "each process names itself as the one to wait",
            paper: "Peterson, Myths about the mutual exclusion problem, IPL 12(3), 1981",
            registers: "Q[1..N], the level that a process tries, or 0; TURN[1..N-1], the process \
                that waits at a level",
            accesses: "(N - 1)(N + 1) + 1",
            uncontended_accesses: levels * (size + 1) + 1,
            unbounded: None,
            promises,
            variants: Variants::<VariantId>::declarations(),
        }
    }

    const fn q(process: ProcessId) -> Register {
        Register::element_of("Q", process)
    }

    const fn turn(level: u32) -> Register {
        Register::element("TURN", level)
    }

    fn last_level(&self) -> u32 {
        self.group.size() - 1
    }

    /// Returns the process whose register `Q` is read after the register of `other`. If `other` is
    /// `None`, returns the first process. If `other` is the last process, returns `None`.
    fn next_after(&self, other: Option<ProcessId>) -> Option<ProcessId> {
        let mut peers = self.group.processes().filter(|peer| *peer != self.group.me());
        peers.find(|peer| other.is_none_or(|other| *peer > other))
    }

    /// Returns the first line that a process executes at a level. If `level` is above the last
    /// level, the process is inside the critical section instead.
    fn try_level(&self, level: u32) -> Line {
        match level > self.last_level() {
            true => Line::Inside,
            false if self.variants.has(VariantId::TurnFirst) => Line::WriteTurn { level },
            false => Line::WriteQ { level },
        }
    }

    /// Returns the first line of the wait at a level. At this line, a process begins to evaluate
    /// the condition of the wait.
    fn wait(&self, level: u32) -> Line {
        match self.next_after(None) {
            Some(_) if self.variants.has(VariantId::NoQ) => Line::ReadTurn { level },
            Some(other) => Line::ReadQ { level, other },
            None => self.try_level(level + 1),
        }
    }

    /// Returns the line that the process executes next if it has found another process at `level`
    /// or at a higher level.
    fn on_rival(&self, level: u32) -> Line {
        match self.variants.has(VariantId::NoTurn) {
            true => self.wait(level),
            false => Line::ReadTurn { level },
        }
    }
}

impl SharedMemoryLock for PetersonLock {
    type Config = Variants<VariantId>;

    fn boot(group: Group, variants: &Variants<VariantId>) -> Self {
        PetersonLock { group, variants: *variants, line: Line::Remainder }
    }

    fn section(&self) -> LockSection {
        match self.line {
            Line::Remainder => LockSection::Remainder,
            Line::WriteQ { level: 1 } | Line::WriteTurn { level: 1 } => LockSection::Doorway,
            Line::WriteQ { .. }
            | Line::WriteTurn { .. }
            | Line::ReadQ { .. }
            | Line::ReadTurn { .. } => LockSection::Waiting,
            Line::Inside => LockSection::Inside,
            Line::ClearQ => LockSection::Exit,
        }
    }

    fn begin_entry(&mut self) {
        assert!(self.line == Line::Remainder, "a process may request only in its remainder");
        self.line = self.try_level(1);
    }

    fn exit(&mut self) {
        assert!(self.line == Line::Inside, "only a process inside may exit");
        self.line = Line::ClearQ;
    }

    fn step(&mut self, memory: &mut impl SharedMemory) {
        let me = self.group.me();
        let is_turn_first = self.variants.has(VariantId::TurnFirst);
        self.line = match self.line {
            Line::Remainder | Line::Inside => panic!("{me} must be asked to enter or to exit"),
            Line::WriteQ { level } => {
                memory.write(Self::q(me), level);
                if is_turn_first { self.wait(level) } else { Line::WriteTurn { level } }
            }
            Line::WriteTurn { level } => {
                memory.write(Self::turn(level), me.display_number());
                if is_turn_first { Line::WriteQ { level } } else { self.wait(level) }
            }
            Line::ReadQ { level, other } => {
                let is_rival = memory.read(Self::q(other)) >= level;
                match self.next_after(Some(other)) {
                    _ if is_rival => self.on_rival(level),
                    Some(other) => Line::ReadQ { level, other },
                    None => self.try_level(level + 1),
                }
            }
            Line::ReadTurn { level } => match memory.read(Self::turn(level)) == me.display_number()
            {
                true => self.wait(level),
                false => self.try_level(level + 1),
            },
            Line::ClearQ => {
                memory.write(Self::q(me), 0);
                Line::Remainder
            }
        };
    }
}
