//! Number of requests of users.

/// Number of times that the user of a process may use the service. For a lock, this is the number
/// of requests to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entries {
    /// The user issues at most this many requests.
    AtMost(u32),
    /// The number of requests has no bound.
    Unbounded,
}

impl Entries {
    /// Returns true if the user may issue another request.
    pub fn has_next(self) -> bool {
        self != Entries::AtMost(0)
    }

    /// Uses up one request, and returns the number of requests that remain after it.
    ///
    /// # Panics
    ///
    /// Panics if no request is left.
    #[must_use]
    pub fn decrement(self) -> Self {
        match self {
            Entries::AtMost(left) => {
                Entries::AtMost(left.checked_sub(1).expect("a user stays within its requests"))
            }
            Entries::Unbounded => Entries::Unbounded,
        }
    }
}

impl From<u32> for Entries {
    fn from(times: u32) -> Self {
        Entries::AtMost(times)
    }
}

/// Number of requests by the user of each process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryLimits {
    /// The same number for every process.
    Same(Entries),
    /// One number per process.
    PerProcess(Vec<Entries>),
}

impl<E: Into<Entries>> From<E> for EntryLimits {
    fn from(each: E) -> Self {
        EntryLimits::Same(each.into())
    }
}

impl<const N: usize> From<[u32; N]> for EntryLimits {
    fn from(times: [u32; N]) -> Self {
        EntryLimits::PerProcess(times.map(Entries::AtMost).to_vec())
    }
}

impl From<&[u32]> for EntryLimits {
    fn from(times: &[u32]) -> Self {
        EntryLimits::PerProcess(times.iter().copied().map(Entries::AtMost).collect())
    }
}

impl From<Vec<Entries>> for EntryLimits {
    fn from(times: Vec<Entries>) -> Self {
        EntryLimits::PerProcess(times)
    }
}
