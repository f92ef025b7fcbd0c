//! Contract of locks in shared memory. The processes of such a lock communicate by registers and
//! not by messages.
//!
//! A lock is a pure state machine, as a [`Protocol`](crate::Protocol) is. A value of the lock's
//! type is the local state of one process: the program counter and the local variables. One call of
//! [`SharedMemoryLock::step`] executes one instruction with one access to a register. Accesses are
//! atomic, and accesses of different processes interleave in any order.

use alloc::vec::Vec;
use core::fmt;

use crate::card::Variant;
use crate::process::{Group, ProcessId};
use crate::property::Property;

/// A shared variable, or one element of a shared array. Its initial value is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// Name of the variable or array, as in the paper.
    pub name: &'static str,
    /// Index in the array, from 1; 0 for a variable.
    pub index: u32,
}

impl Register {
    /// Returns the shared variable `name`.
    pub const fn variable(name: &'static str) -> Self {
        Register { name, index: 0 }
    }

    /// Returns the element of the shared array `name` at `index`, counted from 1.
    pub const fn element(name: &'static str, index: u32) -> Self {
        Register { name, index }
    }

    /// Returns the element of the shared array `name` that belongs to `process`. The index of the
    /// element is the number of the process.
    pub const fn element_of(name: &'static str, process: ProcessId) -> Self {
        Register { name, index: process.display_number() }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => f.write_str(self.name),
            index => write!(f, "{}[{index}]", self.name),
        }
    }
}

/// Atomic operations on the shared registers.
pub trait SharedMemory {
    /// Returns the value of a register.
    fn read(&mut self, register: Register) -> u32;

    /// Writes the value of a register.
    fn write(&mut self, register: Register, value: u32);

    /// Writes 1 to a register and returns the previous value of the register, as one atomic
    /// operation.
    fn test_and_set(&mut self, register: Register) -> u32;
}

/// Section of the lock's code that a process executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockSection {
    /// The process has no request.
    Remainder,
    /// The process has a request and executes the doorway. The doorway is the first part of the
    /// lock's code, and takes a bounded number of steps. In a lock that is first come, first
    /// served, a process that has left the doorway enters before every process that requests later.
    Doorway,
    /// The process waits for the critical section. It has left the doorway, if the lock has one.
    Waiting,
    /// The process is inside the critical section.
    Inside,
    /// The process has left the critical section and executes the rest of its exit protocol.
    Exit,
}

impl LockSection {
    /// Returns true if the process has a request that is not served yet.
    pub const fn is_trying(self) -> bool {
        matches!(self, LockSection::Doorway | LockSection::Waiting)
    }
}

/// Local state of one process that uses a lock in shared memory.
pub trait SharedMemoryLock: Clone + fmt::Debug + Eq + core::hash::Hash {
    /// Configuration, which is the same for all processes.
    type Config;

    /// Creates the process `group.me()` in its remainder section.
    ///
    /// # Panics
    ///
    /// If the lock does not support the size of the group.
    fn boot(group: Group, config: &Self::Config) -> Self;

    /// Returns the section to which the next instruction of the process belongs. In the remainder
    /// section and in the critical section, the process has no next instruction of the lock.
    fn section(&self) -> LockSection;

    /// Issues a request. The process must be in its remainder section. Accesses no register.
    fn begin_entry(&mut self);

    /// Leaves the critical section. The process must be inside the critical section. Accesses no
    /// register.
    fn exit(&mut self);

    /// Executes the next instruction, with exactly one access to `memory`. The process must be
    /// neither in the remainder section nor in the critical section.
    fn step(&mut self, memory: &mut impl SharedMemory);
}

/// Card of a lock in shared memory: its source, registers, costs and promised properties.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SharedMemoryCard {
    /// Name of the lock on the command line.
    pub name: &'static str,
    /// Title of the lock, in one line.
    pub title: &'static str,
    /// Publication that describes the lock: author, title and year.
    pub paper: &'static str,
    /// Names of the shared registers and the values that they hold, in words.
    pub registers: &'static str,
    /// Number of register accesses that one entry and its exit take without contention, as a
    /// formula in the number N of processes.
    pub accesses: &'static str,
    /// Value of the formula `accesses` for the group size of the card.
    #[cfg_attr(feature = "serde", serde(rename = "uncontended"))]
    pub uncontended_accesses: u32,
    /// Name of an array of registers whose values grow without bound. `None` if all values are
    /// bounded.
    pub unbounded: Option<&'static str>,
    /// Promised properties for the group size of the card.
    pub promises: Vec<Property>,
    /// Variants that the lock declares.
    pub variants: Vec<Variant>,
}
