//! The uninhabited type.

use crate::label::{Labelled, MessageLabel};

/// An uninhabited type. Protocols use it as the type of their timers, messages or commands if they
/// have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Never {}

impl Labelled for Never {
    fn label(&self) -> MessageLabel {
        match *self {}
    }
}
