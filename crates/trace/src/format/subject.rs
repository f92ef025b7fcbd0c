//! Subject of a record.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_core::ProcessId;

use crate::format::numbered;

/// Subject of a record: the process, resource or parent that it is about. In a trace it is the
/// process number that people see, or a word.
///
/// A parent or a simulator writes the crash of a process, but the subject of the record is the
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// Process of the group; written as its number, 1 for the first.
    Process(ProcessId),
    /// Resource that the lock protects; written `"resource"`.
    Resource,
    /// Program that runs the experiment; written `"parent"`.
    Parent,
}

impl Subject {
    /// Returns the process, if the subject is one.
    pub const fn process(self) -> Option<ProcessId> {
        match self {
            Subject::Process(process) => Some(process),
            Subject::Resource | Subject::Parent => None,
        }
    }
}

impl From<ProcessId> for Subject {
    fn from(process: ProcessId) -> Self {
        Subject::Process(process)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Process(process) => fmt::Display::fmt(process, f),
            Subject::Resource => f.write_str("the resource"),
            Subject::Parent => f.write_str("the parent"),
        }
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Subject::Process(process) => numbered::serialize(process, to),
            Subject::Resource => to.serialize_str("resource"),
            Subject::Parent => to.serialize_str("parent"),
        }
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Subject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a process number from 1, \"resource\" or \"parent\"")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Subject, E> {
                let process = numbered::process(number);
                process
                    .map(Subject::Process)
                    .ok_or_else(|| E::custom("processes are numbered from 1"))
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Subject, E> {
                match word {
                    "resource" => Ok(Subject::Resource),
                    "parent" => Ok(Subject::Parent),
                    _ => Err(E::unknown_variant(word, &["resource", "parent"])),
                }
            }
        }
        from.deserialize_any(Either)
    }
}
