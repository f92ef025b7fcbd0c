//! To whom something happened.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_core::ProcessId;

use crate::format::numbered;

/// To whom something happened. In a trace: the number that people see, or a word.
///
/// A crash is written by a parent or a simulator, but it happens to the process, and that is
/// what the record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// A process of the group; written as its number, 1 for the first.
    Process(ProcessId),
    /// The resource that the lock protects; written `"resource"`.
    Resource,
    /// Whoever runs the experiment; written `"parent"`.
    Parent,
}

impl Who {
    /// The process, when it is one.
    pub const fn process(self) -> Option<ProcessId> {
        match self {
            Who::Process(process) => Some(process),
            Who::Resource | Who::Parent => None,
        }
    }
}

impl From<ProcessId> for Who {
    fn from(process: ProcessId) -> Self {
        Who::Process(process)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Process(process) => fmt::Display::fmt(process, f),
            Who::Resource => f.write_str("the resource"),
            Who::Parent => f.write_str("the parent"),
        }
    }
}

impl Serialize for Who {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Who::Process(process) => numbered::serialize(process, to),
            Who::Resource => to.serialize_str("resource"),
            Who::Parent => to.serialize_str("parent"),
        }
    }
}

impl<'de> Deserialize<'de> for Who {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Who;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a process number from 1, \"resource\" or \"parent\"")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Who, E> {
                let process = numbered::process(number);
                process.map(Who::Process).ok_or_else(|| E::custom("processes are numbered from 1"))
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Who, E> {
                match word {
                    "resource" => Ok(Who::Resource),
                    "parent" => Ok(Who::Parent),
                    _ => Err(E::unknown_variant(word, &["resource", "parent"])),
                }
            }
        }
        from.deserialize_any(Either)
    }
}
