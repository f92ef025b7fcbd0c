//! Messages, and the weights that they carry.

use tenure_core::{ProcessId, labelled};

/// Weight of an edge. Weights are compared by value first, and then by the identities of the ends
/// of the edge. The weight of the core edge of a fragment is the name of the fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Weight {
    /// Weight that the graph has for the edge.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    pub value: u64,
    /// The two ends of the edge, the smaller process first. If two edges have the same value, the
    /// ends decide which edge is lighter. `None` with the variant `same-weights`, in which ties are
    /// not broken.
    pub ends: Option<(ProcessId, ProcessId)>,
}

/// Weight of the lightest known edge that leaves a fragment. A lighter edge compares as smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BestWeight {
    /// An edge of this weight.
    Edge(Weight),
    /// `∞`: no edge leaves the fragment.
    None,
}

impl BestWeight {
    /// Converts a weight; `None` becomes [`BestWeight::None`].
    pub(super) fn from_weight(weight: Option<Weight>) -> Self {
        weight.map_or(BestWeight::None, BestWeight::Edge)
    }
}

/// State of a fragment's search for its lightest leaving edge. A process that joins the fragment
/// adopts this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SearchState {
    /// The search for the lightest leaving edge is in progress.
    Find,
    /// The sender has already reported its lightest edge, so a process that joins the fragment
    /// takes no part in the search.
    Found,
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests to connect the sender's fragment over the edge between sender and receiver.
    Connect {
        /// Level of the sender's fragment.
        level: u32,
    },
    /// Informs the receiver that it belongs to this fragment.
    Initiate {
        /// Level of the fragment.
        level: u32,
        /// Weight of the core edge of the fragment. This weight serves as the name of the fragment.
        fragment: Weight,
        /// Search state of the fragment.
        search: SearchState,
    },
    /// Asks whether the edge between sender and receiver leaves the sender's fragment.
    Test {
        /// Level of the sender's fragment.
        level: u32,
        /// Weight of the core edge of the sender's fragment. This weight serves as the name of the
        /// fragment.
        fragment: Weight,
    },
    /// Answer to a Test: the ends of the tested edge are in different fragments.
    Accept,
    /// Answer to a Test: the ends of the tested edge are in the same fragment.
    Reject,
    /// Reports the lightest edge that leaves the fragment on the sender's side of the tree.
    Report {
        /// Weight of the lightest leaving edge on the sender's side, if there is one.
        best: BestWeight,
    },
    /// Tells the receiver that its subtree contains the lightest leaving edge of the fragment. The
    /// root of the fragment moves towards this edge.
    ChangeRoot,
    /// Announces the leader. This message is not part of the paper.
    Elected {
        /// The leader. The core edge connects two processes, and the leader is the process with the
        /// larger identity.
        leader: ProcessId,
    },
}

labelled!(
    Message, Election,
    Connect => "connect",
    Initiate => "initiate",
    Test => "test",
    Accept => "accept",
    Reject => "reject",
    Report => "report",
    ChangeRoot => "change-root",
    Elected => "elected",
);
