//! Subjects of records. The subject is the process, the resource or the program that an event
//! concerns.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_core::ProcessId;

use crate::format::process_number;

/// Subject of a record: a process, the resource or the parent. The parent is the program that runs
/// the experiment. A trace contains a process as its number, which counts from 1. It contains the
/// resource as the word `"resource"`, and the parent as the word `"parent"`.
///
/// If a parent or a simulator records the crash of a process, the subject is the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A process of the group.
    Process(ProcessId),
    /// The resource that the lock protects.
    Resource,
    /// The program that runs the experiment, for example starts the nodes and injects faults.
    Parent,
}

impl Subject {
    /// Returns the process. `None` if the subject is not a process.
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
            Subject::Process(process) => process_number::serialize(process, to),
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
                let process = process_number::process_from_number(number);
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
