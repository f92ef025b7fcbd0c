//! The spinlock: one register that is read and set by one atomic instruction.
//!
//! Processors have such an instruction, called test-and-set. Textbooks on operating systems
//! describe the lock. It has no paper of its own.
//!
//! ```text
//! wait until test-and-set(lock) = 0;
//! critical section;
//! lock := 0
//! ```
//!
//! | | |
//! |---|---|
//! | assumes | an atomic test-and-set, processes that do not crash inside |
//! | registers | `lock` |
//! | accesses per entry, uncontended | 2 |
//! | bypass | without bound: a process that always tests too late starves |
//!
//! **Why it is right.** The register is 0 only while no process is inside, and only one process
//! finds and replaces this 0. When this process leaves, the next process that tests enters, so no
//! deadlock occurs. No process has a place in a queue, so no process is certain to be the next one.

use alloc::vec;

use tenure_core::shared_memory::{
    LockSection, Register, SharedMemory, SharedMemoryCard, SharedMemoryLock,
};
use tenure_core::{Group, Property};

use crate::Variants;
use crate::variants::variant_ids;

/// State of one process that uses this lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TestAndSet {
    variants: Variants<VariantId>,
    line: Line,
}

/// Program counter of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Line {
    Remainder,
    /// The instruction `test-and-set(lock)`.
    TestAndSet,
    /// The instruction `lock = 0`, of the variant `split`.
    Test,
    /// The instruction `lock := 1`, of the variant `split`.
    Set,
    Inside,
    /// The instruction `lock := 0`.
    Clear,
}

const LOCK: Register = Register::variable("lock");

variant_ids! {
    Split = "split", unsound,
        "the test and the set are two instructions, so that two processes may both read 0"
        => "S-T1", "-n 2 --property mutual-exclusion";
}

impl TestAndSet {
    /// Name of this lock on the command line.
    pub const NAME: &'static str = "test-and-set";

    /// Returns the [`SharedMemoryCard`] of this lock, which is the same for every size of the
    /// group.
    pub fn card() -> SharedMemoryCard {
        SharedMemoryCard {
            name: Self::NAME,
            title: "a spinlock; deadlock-free, but any process may starve",
            paper: "an instruction of processors, as in textbooks on operating systems",
            registers: "lock, 1 while a process is inside, or 0",
            accesses: "2",
            uncontended_accesses: 2,
            unbounded: None,
            promises: vec![Property::MutualExclusion, Property::DeadlockFreedom],
            variants: Variants::<VariantId>::declarations(),
        }
    }
}

impl SharedMemoryLock for TestAndSet {
    type Config = Variants<VariantId>;

    fn boot(_: Group, variants: &Variants<VariantId>) -> Self {
        TestAndSet { variants: *variants, line: Line::Remainder }
    }

    fn section(&self) -> LockSection {
        match self.line {
            Line::Remainder => LockSection::Remainder,
            Line::TestAndSet | Line::Test | Line::Set => LockSection::Waiting,
            Line::Inside => LockSection::Inside,
            Line::Clear => LockSection::Exit,
        }
    }

    fn begin_entry(&mut self) {
        assert!(self.line == Line::Remainder, "a process may request only in its remainder");
        self.line = match self.variants.has(VariantId::Split) {
            true => Line::Test,
            false => Line::TestAndSet,
        };
    }

    fn exit(&mut self) {
        assert!(self.line == Line::Inside, "only a process inside may exit");
        self.line = Line::Clear;
    }

    fn step(&mut self, memory: &mut impl SharedMemory) {
        self.line = match self.line {
            Line::Remainder | Line::Inside => panic!("it must be asked to enter or to exit"),
            Line::TestAndSet if memory.test_and_set(LOCK) == 0 => Line::Inside,
            Line::Test if memory.read(LOCK) == 0 => Line::Set,
            Line::TestAndSet | Line::Test => self.line,
            Line::Set => {
                memory.write(LOCK, 1);
                Line::Inside
            }
            Line::Clear => {
                memory.write(LOCK, 0);
                Line::Remainder
            }
        };
    }
}
