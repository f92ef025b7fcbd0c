//! Names that the catalogue does not have.

use core::fmt;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use tenure_core::quorum::NoQuorums;

use super::{AGREEMENTS, ELECTIONS, MUTEXES, QUORUMS, TREES};
use crate::UnknownVariant;

/// A name that the catalogue does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No algorithm is called so.
    Algorithm {
        /// The name.
        name: String,
        /// The names that a program has besides those of the house.
        own: Vec<String>,
    },
    /// The algorithm declares no variant of this name.
    Variant(UnknownVariant),
    /// No way to build quorums is called so.
    Kind(String),
    /// No shape of a tree is called so.
    Shape(String),
    /// There are no quorums of this kind for so many processes.
    Quorums(NoQuorums),
}

impl Unknown {
    pub(crate) fn algorithm(name: &str) -> Self {
        Unknown::Algorithm { name: name.to_string(), own: Vec::new() }
    }

    /// The same in a program that has algorithms of its own.
    #[must_use]
    pub fn beside(self, own: impl IntoIterator<Item = String>) -> Self {
        match self {
            Unknown::Algorithm { name, .. } => {
                Unknown::Algorithm { name, own: own.into_iter().collect() }
            }
            other => other,
        }
    }
}

impl From<UnknownVariant> for Unknown {
    fn from(unknown: UnknownVariant) -> Self {
        Unknown::Variant(unknown)
    }
}

impl From<NoQuorums> for Unknown {
    fn from(none: NoQuorums) -> Self {
        Unknown::Quorums(none)
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Variant(unknown) => unknown.fmt(f),
            Unknown::Quorums(none) => none.fmt(f),
            Unknown::Kind(name) => write_known(f, "are no quorums", name, QUORUMS),
            Unknown::Shape(name) => write_known(f, "is no tree", name, TREES),
            Unknown::Algorithm { name, own } => {
                write!(f, "there is no algorithm `{name}`; there are ")?;
                for name in own {
                    write!(f, "{name} (of this program), ")?;
                }
                for name in MUTEXES.iter().chain(ELECTIONS).chain(AGREEMENTS) {
                    write!(f, "{name}, ")?;
                }
                f.write_str(
                    "coordinated:ELECTION, mutex-from-election:ELECTION (where the largest rank \
                     wins), election-from-mutex:MUTEX, and each of them with the prefix fifo:",
                )
            }
        }
    }
}

fn write_known<T>(
    f: &mut fmt::Formatter<'_>,
    none: &str,
    name: &str,
    known: &[(&str, T)],
) -> fmt::Result {
    write!(f, "there {none} `{name}`; there are")?;
    let separators = core::iter::once(" ").chain(core::iter::repeat(", "));
    known.iter().zip(separators).try_for_each(|((name, _), before)| write!(f, "{before}{name}"))
}

impl core::error::Error for Unknown {}
