//! How the saves of a process go wrong before it crashes.

/// How a save goes wrong before a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lapse<P> {
    /// What is saved is what this saves.
    Unsaved(P),
    /// It is saved, and nobody hears of it.
    Mute(Since),
}

/// What a process has done since it is mute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Since {
    /// Nothing yet.
    Nothing,
    /// A step that was to be saved, for whose effects all after it wait.
    Saved,
    /// It was given what it would not have had to save, and so crashes before that.
    Spent,
}

impl Since {
    /// The same after one more step, which changes what is saved or not.
    #[must_use]
    pub fn and(self, changes: bool) -> Since {
        match self {
            Since::Nothing if !changes => Since::Spent,
            Since::Nothing => Since::Saved,
            since => since,
        }
    }
}
