//! How often a user asks.

/// How often the user of one process asks to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entries {
    /// At most this often.
    AtMost(u32),
    /// Again and again.
    Unbounded,
}

impl Entries {
    /// Whether the user may ask once more.
    pub fn any_left(self) -> bool {
        self != Entries::AtMost(0)
    }

    /// What is left after the user asked once.
    ///
    /// # Panics
    ///
    /// When nothing was left.
    #[must_use]
    pub fn after_one(self) -> Self {
        match self {
            Entries::AtMost(left) => {
                Entries::AtMost(left.checked_sub(1).expect("a user asks only while it may"))
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

/// The entries of all processes: one number for everybody, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntriesOfAll {
    /// The same for everybody.
    Each(Entries),
    /// One by one.
    OneByOne(Vec<Entries>),
}

impl<E: Into<Entries>> From<E> for EntriesOfAll {
    fn from(each: E) -> Self {
        EntriesOfAll::Each(each.into())
    }
}

impl<const N: usize> From<[u32; N]> for EntriesOfAll {
    fn from(times: [u32; N]) -> Self {
        EntriesOfAll::OneByOne(times.map(Entries::AtMost).to_vec())
    }
}

impl From<Vec<Entries>> for EntriesOfAll {
    fn from(times: Vec<Entries>) -> Self {
        EntriesOfAll::OneByOne(times)
    }
}
