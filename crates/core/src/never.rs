//! What does not happen.

use crate::label::{Label, Labelled};

/// No value at all: the timers of a protocol that arms none, the messages of one that sends none,
/// or the commands of one that is asked nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Never {}

impl Labelled for Never {
    fn label(&self) -> Label {
        match *self {}
    }
}
