//! Processes and the group that they form.

use core::fmt;

use crate::process_set::ProcessSet;

/// A participant of an algorithm. The field is its number from 0. Displayed as `P1`, `P2` and so
/// on, with numbers from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// Returns the index of this process in a vector with one element for each process.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the process at an index in a vector with one element for each process.
    ///
    /// # Panics
    ///
    /// If the index does not fit 32 bits.
    pub fn from_index(index: usize) -> Self {
        ProcessId(u32::try_from(index).expect("a group has fewer than 2^32 processes"))
    }

    /// Returns the displayed number: 1 for the first process.
    pub const fn display_number(self) -> u32 {
        self.0.saturating_add(1)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.display_number())
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The fixed set of processes that run one instance of an algorithm, from the view of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    me: ProcessId,
    size: u32,
}

impl Group {
    /// Creates the group of `size` processes as seen by `me`.
    ///
    /// # Panics
    ///
    /// If `me` is not one of the `size` processes.
    pub fn new(me: ProcessId, size: u32) -> Self {
        assert!(me.0 < size, "{me} is not a member of a group of {size}");
        Group { me, size }
    }

    /// Returns the local process, from whose view this value describes the group.
    pub const fn me(self) -> ProcessId {
        self.me
    }

    /// Returns the number of processes: the papers' *N*.
    pub const fn size(self) -> u32 {
        self.size
    }

    /// Returns true if `process` belongs to the group.
    pub const fn contains(self, process: ProcessId) -> bool {
        process.0 < self.size
    }

    /// Returns all members, in ascending order.
    pub fn processes(self) -> impl ExactSizeIterator<Item = ProcessId> + Clone {
        (0..self.size).map(ProcessId)
    }

    /// Returns all members except the local process.
    pub fn peers(self) -> ProcessSet {
        let mut peers = ProcessSet::first_n(self.size);
        peers.remove(self.me);
        peers
    }

    /// Returns the process after the local process on the ring of ids. The first process follows
    /// the last.
    pub const fn successor(self) -> ProcessId {
        ProcessId(if self.me.0 + 1 == self.size { 0 } else { self.me.0 + 1 })
    }

    /// Returns the process before the local process on the ring of ids. The last process precedes
    /// the first.
    pub const fn predecessor(self) -> ProcessId {
        ProcessId(if self.me.0 == 0 { self.size - 1 } else { self.me.0 - 1 })
    }
}
