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
pub enum RecordSubject {
    /// A process of the group.
    Process(ProcessId),
    /// The resource that the lock protects.
    Resource,
    /// The program that runs the experiment, for example starts the nodes and injects faults.
    Parent,
}

impl RecordSubject {
    /// Returns the process. `None` if the subject is not a process.
    pub const fn process(self) -> Option<ProcessId> {
        match self {
            RecordSubject::Process(process) => Some(process),
            RecordSubject::Resource | RecordSubject::Parent => None,
        }
    }
}

impl From<ProcessId> for RecordSubject {
    fn from(process: ProcessId) -> Self {
        RecordSubject::Process(process)
    }
}

impl fmt::Display for RecordSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordSubject::Process(process) => fmt::Display::fmt(process, f),
            RecordSubject::Resource => f.write_str("the resource"),
            RecordSubject::Parent => f.write_str("the parent"),
        }
    }
}

impl Serialize for RecordSubject {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            RecordSubject::Process(process) => process_number::serialize(process, to),
            RecordSubject::Resource => to.serialize_str("resource"),
            RecordSubject::Parent => to.serialize_str("parent"),
        }
    }
}

impl<'de> Deserialize<'de> for RecordSubject {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = RecordSubject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a process number from 1, \"resource\" or \"parent\"")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<RecordSubject, E> {
                let process = process_number::process_from_number(number);
                process
                    .map(RecordSubject::Process)
                    .ok_or_else(|| E::custom("processes are numbered from 1"))
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<RecordSubject, E> {
                match word {
                    "resource" => Ok(RecordSubject::Resource),
                    "parent" => Ok(RecordSubject::Parent),
                    _ => Err(E::unknown_variant(word, &["resource", "parent"])),
                }
            }
        }
        from.deserialize_any(Either)
    }
}
