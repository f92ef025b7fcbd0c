//! What does not happen.

/// No value at all: the timers of a protocol that arms none, or the commands of one that is asked
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Never {}
