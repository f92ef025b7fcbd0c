//! Errors of the catalogue, such as unknown names, invalid parameters and impossible combinations.

use core::fmt;

use alloc::string::String;
use alloc::vec::Vec;

use tenure_core::ProcessId;
use tenure_core::graph::ParseGraphError;
use tenure_core::quorum::QuorumError;
use tenure_core::tree::TreeError;

use crate::UnknownVariant;

/// Reason why the catalogue returns no configuration: a name is unknown, a text or parameter is not
/// valid, or the named algorithms cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogueError {
    /// No algorithm and no valid composition has this name.
    Algorithm {
        /// The unknown name that the user gave.
        name: String,
        /// Names of the algorithms that the calling program offers in addition to the catalogue.
        additional: Vec<String>,
        /// Names of the algorithms in the catalogue.
        known: Vec<&'static str>,
    },
    /// The algorithm declares no variant with this name.
    Variant(UnknownVariant),
    /// The kind of quorums is unknown.
    UnknownQuorumKind {
        /// The unknown name that the user gave.
        name: String,
        /// Names of the kinds of quorums in the catalogue.
        known: Vec<&'static str>,
    },
    /// The tree shape is unknown.
    UnknownTreeShape {
        /// The unknown name that the user gave.
        name: String,
        /// Names of the tree shapes in the catalogue.
        known: Vec<&'static str>,
    },
    /// The listed quorums are not valid, or no quorums of the selected kind exist for this number
    /// of processes.
    Quorums(QuorumError),
    /// The user has listed quorums for more or fewer processes than the group has.
    QuorumsSize {
        /// Number of processes for which the quorums are listed.
        listed: u32,
        /// Number of processes in the group.
        size: u32,
    },
    /// The number of vertices of the graph or the tree differs from the number of processes.
    GraphSize {
        /// Number of vertices of the graph or tree.
        vertices: u32,
        /// Number of processes in the group.
        size: u32,
    },
    /// The timeout was set to a range, but the algorithm uses one duration.
    TimeoutRange {
        /// Name of the timeout.
        name: &'static str,
    },
    /// A process has the identifier 0, but the algorithm needs positive identifiers.
    ZeroIdentifier {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Process with the identifier 0.
        process: ProcessId,
    },
    /// The election runs in synchronous rounds, so all processes must start it together. A lock
    /// cannot use this election, because users request a lock at any time.
    NeedsRounds {
        /// Name of the election.
        name: String,
    },
    /// The election may form several groups, each with its own leader. A lock needs a single
    /// leader.
    LeaderPerGroup {
        /// Name of the election.
        name: String,
    },
    /// The text of a network or tree is not a valid list of edges.
    Edges(ParseGraphError),
    /// The edges do not form a tree.
    Tree(TreeError),
    /// The network is not connected: no path joins the first process and the process `apart`.
    DisconnectedGraph {
        /// Process that has no path to the first process.
        apart: ProcessId,
    },
}

impl CatalogueError {
    /// Sets the field `own` of [`CatalogueError::Algorithm`]. Returns all other errors unchanged. A
    /// program that offers more algorithms than the catalogue passes their names in `own`.
    #[must_use]
    pub fn with_additional_names(self, own: impl IntoIterator<Item = String>) -> Self {
        match self {
            CatalogueError::Algorithm { name, known, .. } => {
                CatalogueError::Algorithm { name, additional: own.into_iter().collect(), known }
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

impl From<ParseGraphError> for CatalogueError {
    fn from(error: ParseGraphError) -> Self {
        CatalogueError::Edges(error)
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
            CatalogueError::QuorumsSize { listed, size } => {
                write!(f, "quorums of {listed} processes for {size} processes: expected {size}")
            }
            CatalogueError::Edges(error) => error.fmt(f),
            CatalogueError::Tree(error) => error.fmt(f),
            CatalogueError::GraphSize { vertices, size } => {
                write!(f, "a graph of {vertices} vertices for {size} processes: expected {size}")
            }
            CatalogueError::TimeoutRange { name } => {
                write!(f, "invalid range for the timeout '{name}': expected one duration")
            }
            CatalogueError::ZeroIdentifier { algorithm, process } => write!(
                f,
                "invalid identifier 0 of {process}: {algorithm} expects positive identifiers"
            ),
            CatalogueError::NeedsRounds { name } => {
                write!(f, "{name} needs synchronous rounds, and cannot be combined with a lock")
            }
            CatalogueError::LeaderPerGroup { name } => {
                write!(
                    f,
                    "{name} may elect a leader for each part of the group, so no lock can follow \
                     its leader: choose a lock such as ricart-agrawala"
                )
            }
            CatalogueError::DisconnectedGraph { apart } => {
                write!(f, "the graph is not connected: no path joins P1 and {apart}")
            }
            CatalogueError::UnknownQuorumKind { name, known } => {
                write!(f, "unknown quorums `{name}`: expected {}", known.join(", "))
            }
            CatalogueError::UnknownTreeShape { name, known } => {
                write!(f, "unknown tree `{name}`: expected {}", known.join(", "))
            }
            CatalogueError::Algorithm { name, additional: own, known } => {
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
