//! The uninhabited type.

use crate::label::{Label, Labelled};

/// An uninhabited type. It stands for the timers of a protocol without timers, the messages of a
/// protocol that sends none, or the commands of a protocol that accepts none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Never {}

impl Labelled for Never {
    fn label(&self) -> Label {
        match *self {}
    }
}
