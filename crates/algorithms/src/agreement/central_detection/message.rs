//! Messages of the central deadlock detection, and the tables that they carry.

use alloc::vec::Vec;

use tenure_core::service::resources::Resource;
use tenure_core::{ProcessId, labelled};

/// Identifier of a request of a process. The grant of the request has the same identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResourceRequestId {
    /// Process that requests the resource.
    pub process: ProcessId,
    /// Number of the request: each process counts its requests from 1.
    pub number: u64,
}

/// A resource that a process holds or awaits, with the number of its request for the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResourceRequest {
    /// The held or awaited resource.
    pub resource: Resource,
    /// Number of the request.
    pub number: u64,
}

/// Process status table: the resources that a process holds, and the resource for which it waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProcessStatus {
    /// Resources that the process holds.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::of_any_length"))]
    pub held: Vec<ResourceRequest>,
    /// Resource for which the process waits; `None` if it does not wait.
    pub awaited: Option<ResourceRequest>,
    /// Number of rounds that the process has completed. A round is completed when the user has
    /// released all resources of the process. An abort does not complete a round.
    pub completed: u64,
}

/// Resource status table of one resource: its granted request and its waiting requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResourceStatus {
    /// Resource that the table describes.
    pub resource: Resource,
    /// Request that is granted.
    pub holder: ResourceRequestId,
    /// Waiting requests, in the order of arrival.
    pub waiting: Vec<ResourceRequestId>,
}

/// Status tables of one process at one moment: the status of the process, and the status of each
/// granted resource that the process manages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StatusTables {
    /// Resources that the process holds, and the resource for which it waits.
    pub process: ProcessStatus,
    /// Status of each granted resource that the process manages.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::of_any_length"))]
    pub resources: Vec<ResourceStatus>,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests a resource that the receiver manages.
    Request {
        /// Resource and number of the request.
        of: ResourceRequest,
    },
    /// Grants the resource.
    Grant {
        /// Resource and number of the granted request.
        of: ResourceRequest,
    },
    /// Releases the resource, or withdraws the request.
    Release {
        /// The request that ends: its resource and its number.
        of: ResourceRequest,
    },
    /// Tells the coordinator that a process waits for a resource that the sender manages.
    Blocked,
    /// Asks the receiver for its status tables.
    Collect {
        /// Number of the collection.
        number: u64,
    },
    /// Sends the status tables of the sender to the coordinator. The tables show which resources
    /// the sender holds, awaits and manages.
    Status {
        /// Number of the collection. With the variant `reports`, the number of the report.
        number: u64,
        /// Status tables of the sender.
        tables: StatusTables,
    },
    /// Tells the receiver that it is the victim of a deadlock.
    Abort {
        /// Number of the request for which the victim waits.
        number: u64,
    },
}

labelled!(
    Message, Agreement,
    Request => "request", Grant => "grant", Release => "release", Blocked => "blocked",
    Collect => "collect", Status => "status", Abort => "abort",
);
