//! Errors of the catalogue: unknown names and impossible quorums.

use core::fmt;

use alloc::string::String;
use alloc::vec::Vec;

use tenure_core::quorum::QuorumError;

use crate::UnknownVariant;

/// A name that the catalogue does not contain, or a configuration that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogueError {
    /// The algorithm is unknown.
    Algorithm {
        /// The unknown name.
        name: String,
        /// Names that the program offers in addition to the catalogue.
        own: Vec<String>,
        /// Names that the catalogue contains.
        known: Vec<&'static str>,
    },
    /// The algorithm declares no variant with this name.
    Variant(UnknownVariant),
    /// The kind of quorums is unknown.
    Kind {
        /// The unknown name.
        name: String,
        /// Names that the catalogue contains.
        known: Vec<&'static str>,
    },
    /// The tree shape is unknown.
    Shape {
        /// The unknown name.
        name: String,
        /// Names that the catalogue contains.
        known: Vec<&'static str>,
    },
    /// No quorums of this kind exist for this number of processes.
    Quorums(QuorumError),
}

impl CatalogueError {
    /// Adds the names that a program offers in addition to the catalogue.
    #[must_use]
    pub fn beside(self, own: impl IntoIterator<Item = String>) -> Self {
        match self {
            CatalogueError::Algorithm { name, known, .. } => {
                CatalogueError::Algorithm { name, own: own.into_iter().collect(), known }
            }
            other => other,
        }
    }
}

impl From<UnknownVariant> for CatalogueError {
    fn from(error: UnknownVariant) -> Self {
        CatalogueError::Variant(error)
    }
}

impl From<QuorumError> for CatalogueError {
    fn from(error: QuorumError) -> Self {
        CatalogueError::Quorums(error)
    }
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CatalogueError::Variant(error) => error.fmt(f),
            CatalogueError::Quorums(error) => error.fmt(f),
            CatalogueError::Kind { name, known } => {
                write!(f, "unknown quorums `{name}`: expected {}", known.join(", "))
            }
            CatalogueError::Shape { name, known } => {
                write!(f, "unknown tree `{name}`: expected {}", known.join(", "))
            }
            CatalogueError::Algorithm { name, own, known } => {
                write!(f, "unknown algorithm `{name}`: expected ")?;
                for name in own {
                    write!(f, "{name} (of this program), ")?;
                }
                for name in known {
                    write!(f, "{name}, ")?;
                }
                f.write_str(
                    "coordinated:ELECTION, mutex-from-election:ELECTION (where the largest rank \
                     wins), election-from-mutex:MUTEX, or one of them with the prefix fifo:",
                )
            }
        }
    }
}

impl core::error::Error for CatalogueError {}
