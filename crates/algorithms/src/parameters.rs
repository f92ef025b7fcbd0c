//! Parameters that a user can set, and the trait of configurations that are created from them.

use core::num::NonZeroU32;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::quorum::{QuorumKind, QuorumSystem};
use tenure_core::tree::{RootedTree, TreeShape};
use tenure_core::{Delay, Graph, ProcessId, ProcessSet, Rank, TICKS_PER_TIME_UNIT, Term};

use crate::catalogue_error::CatalogueError;
use crate::drift;
use crate::variants::{UnknownVariant, VariantId, Variants};

pub(crate) const RESEND_TIMEOUT_NAME: &str = "resend";

/// Parameters on which a configuration may depend.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Number of processes.
    pub size: u32,
    /// Ranks of the processes, by the index of the process. Elections compare ranks to find the
    /// winner.
    pub ranks: Arc<[Rank]>,
    /// Processes that failed before the start. All other processes know of these failures. Only
    /// elections on a ring read this set.
    pub absent: ProcessSet,
    /// The coordinator, for algorithms whose coordinator is configured and never changes.
    pub coordinator: ProcessId,
    /// Kind of quorums, unless `user_quorums` are given. `None` means the default of the algorithm.
    pub quorum_kind: Option<QuorumKind>,
    /// For a k-mutex: upper bound on the number of processes in the critical section at the same
    /// time.
    pub max_processes_inside: NonZeroU32,
    /// Quorums that the user has given, instead of the kind in `quorums`. `None` if the user has
    /// given no quorums.
    pub user_quorums: Option<Arc<QuorumSystem>>,
    /// Shape of the tree, unless `user_tree` is given.
    pub tree_shape: TreeShape,
    /// Tree that the user has given, instead of the shape in `tree`. `None` if the user has given
    /// no tree.
    pub user_tree: Option<Arc<RootedTree>>,
    /// The network, for algorithms on any graph. `None` selects a ring.
    pub graph: Option<Arc<Graph>>,
    /// Names of the variants that are switched on.
    pub variants: Vec<String>,
    /// Upper bound on message delay, in ticks. The default timeouts are derived from this bound.
    pub delay: u64,
    /// Upper bound on clock drift, in parts per million.
    pub drift_ppm: u32,
    /// Timeouts that the user has set, each with its name. All other timeouts are derived from
    /// `delay` and `drift_ppm`.
    pub timeouts: Vec<(String, Delay)>,
    /// Modulus of the sequence numbers of heartbeats and renewal requests. The number that follows
    /// `sequence_number_modulus` − 1 is 0. A small modulus bounds the state space of the checker.
    pub sequence_number_modulus: u64,
}

impl Parameters {
    /// Returns the default parameters for `size` processes. The rank of a process is its id, and
    /// the first process is the coordinator. No process is absent. The quorums are the default of
    /// the algorithm, the tree is a star, and the graph is a ring. A k-mutex admits two processes.
    /// No variants are switched on. The message delay is one unit ([`TICKS_PER_TIME_UNIT`]), and
    /// clocks do not drift.
    pub fn with_defaults(size: u32) -> Self {
        Parameters {
            size,
            ranks: (1..=size).map(Rank::from_id).collect(),
            absent: ProcessSet::new(),
            coordinator: ProcessId(0),
            quorum_kind: None,
            max_processes_inside: NonZeroU32::MIN.saturating_add(1),
            user_quorums: None,
            tree_shape: TreeShape::Star,
            user_tree: None,
            graph: None,
            variants: Vec::new(),
            delay: TICKS_PER_TIME_UNIT,
            drift_ppm: 0,
            timeouts: Vec::new(),
            sequence_number_modulus: Term::NUMBER_LIMIT,
        }
    }

    /// Returns the set of the variants that are switched on.
    ///
    /// # Errors
    ///
    /// Returns an error for the first name that the algorithm does not declare.
    pub fn variants<S: VariantId>(&self) -> Result<Variants<S>, UnknownVariant> {
        Variants::from_names(self.variants.iter().map(String::as_str))
    }

    /// Separates the variants of a composed algorithm from the variants of the algorithm inside it.
    /// Returns the variants with names that `S` declares, and these parameters with only the other
    /// variants.
    pub(crate) fn partition_variants<S: VariantId>(&self) -> (Variants<S>, Self) {
        let is = |switch: &S, name: &String| switch.declaration().name == name;
        let is_on = |switch: &&S| self.variants.iter().any(|name| is(switch, name));
        let ours = S::ALL.iter().filter(is_on).fold(Variants::none(), |all, it| all.with(*it));
        let is_ours = |name: &&String| S::ALL.iter().any(|switch| is(switch, name));
        let theirs = self.variants.iter().filter(|name| !is_ours(name)).cloned().collect();
        (ours, Parameters { variants: theirs, ..self.clone() })
    }

    /// Returns the tree that the user has given. Without such a tree, returns a tree of the shape
    /// in the field `tree`.
    ///
    /// # Errors
    ///
    /// Returns an error if the given tree has another number of processes than the group.
    pub fn tree(&self) -> Result<Arc<RootedTree>, CatalogueError> {
        let Some(tree) = &self.user_tree else {
            return Ok(Arc::new(RootedTree::from_shape(self.tree_shape, self.size)));
        };
        if tree.size() != self.size {
            let (vertices, size) = (tree.size(), self.size);
            return Err(CatalogueError::GraphSize { vertices, size });
        }
        Ok(Arc::clone(tree))
    }

    /// Returns the quorums that the user has given. Without such quorums, returns quorums of the
    /// kind in the field `quorums`, or of the kind `default` if this field is `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the given quorums are for another number of processes than the group
    /// has. Without given quorums, returns an error if no quorums of the kind exist for this number
    /// of processes.
    pub fn quorums(&self, default: QuorumKind) -> Result<Arc<QuorumSystem>, CatalogueError> {
        let kind = self.quorum_kind.unwrap_or(default);
        match &self.user_quorums {
            None => Ok(Arc::new(QuorumSystem::from_kind(kind, self.size)?)),
            Some(quorums) if quorums.size() == self.size => Ok(Arc::clone(quorums)),
            Some(quorums) => {
                let (listed, size) = (quorums.size(), self.size);
                Err(CatalogueError::QuorumsSize { listed, size })
            }
        }
    }

    /// Returns the graph that the user has given. Without such a graph, returns a ring, because a
    /// ring exists for every number of processes and, from three processes on, has a cycle.
    ///
    /// # Errors
    ///
    /// Returns an error if the given graph has another number of processes than the group, or is
    /// not connected.
    pub fn graph(&self) -> Result<Arc<Graph>, CatalogueError> {
        let Some(graph) = &self.graph else { return Ok(Arc::new(Graph::ring(self.size))) };
        if graph.vertex_count() != self.size {
            let (vertices, size) = (graph.vertex_count(), self.size);
            return Err(CatalogueError::GraphSize { vertices, size });
        }
        let distances = graph.distances_from(ProcessId(0));
        match distances.iter().position(Option::is_none) {
            Some(apart) => {
                Err(CatalogueError::DisconnectedGraph { apart: ProcessId::from_index(apart) })
            }
            None => Ok(Arc::clone(graph)),
        }
    }

    /// Returns these parameters with the `delay` and the `drift_ppm` of a synchronous system. A
    /// message travels for at most `latency` ticks, a step of a process takes at most `step` ticks,
    /// and clocks drift by at most `drift_ppm` parts per million.
    ///
    /// The new `delay` is measured on the fastest clock. It is the longest time from the sending of
    /// a message to the end of the step that handles the message. Before this step, the message may
    /// wait for one step of every process. The new `delay` is at least 1 tick. Before the drift is
    /// added, it is limited to 2^40 ticks.
    #[must_use]
    pub fn with_timing_bounds(self, latency: u64, step: u64, drift_ppm: u32) -> Self {
        let steps = step.saturating_mul(u64::from(self.size) + 1);
        let delay = latency.saturating_add(steps).min(1 << 40);
        Parameters {
            delay: drift::ticks_on_fastest_clock(delay, drift_ppm).max(1),
            drift_ppm,
            ..self
        }
    }

    /// Returns the timeout with this name that the user has set. Without such a timeout, returns
    /// `default`.
    pub fn timeout_or(&self, name: &str, default: Delay) -> Delay {
        let set = self.timeouts.iter().find(|(set, _)| set == name);
        set.map_or(default, |(_, delay)| *delay)
    }

    /// Returns the timeout with this name that the user has set, in ticks. Without such a timeout,
    /// returns `default`.
    ///
    /// # Errors
    ///
    /// [`CatalogueError::TimeoutRange`] if the user has set a range instead of one duration.
    pub fn single_timeout_or(
        &self,
        name: &'static str,
        default: u64,
    ) -> Result<u64, CatalogueError> {
        match self.timeout_or(name, Delay::ticks(default)) {
            Delay { min, max } if min == max => Ok(max),
            Delay { .. } => Err(CatalogueError::TimeoutRange { name }),
        }
    }

    /// Returns how many ticks the fastest clock advances while the slowest clock advances by
    /// `ticks`, rounded up. Clocks drift by at most [`Parameters::drift_ppm`].
    pub fn ticks_on_fastest_clock(&self, ticks: u64) -> u64 {
        drift::ticks_on_fastest_clock(ticks, self.drift_ppm)
    }

    /// Checks that no variant is switched on, for an algorithm that declares no variants.
    ///
    /// # Errors
    ///
    /// Returns an error for the first variant that is switched on.
    pub fn reject_variants(&self) -> Result<(), UnknownVariant> {
        match self.variants.first() {
            Some(name) => Err(UnknownVariant { name: name.clone(), known: Vec::new() }),
            None => Ok(()),
        }
    }

    /// Returns parameters for an algorithm that runs over a reliable channel. The new message delay
    /// includes three retransmission timeouts on the slowest clock, so that the channel may send a
    /// message up to three more times.
    pub(crate) fn with_retransmission_delay(&self) -> Self {
        let repeats =
            self.ticks_on_fastest_clock(self.retransmission_timeout().max).saturating_mul(3);
        Parameters { delay: self.delay.saturating_add(repeats), ..self.clone() }
    }

    /// Returns the retransmission timeout that the user has set. The default is three message
    /// delays, because a message and its acknowledgement arrive within this time.
    pub(crate) fn retransmission_timeout(&self) -> Delay {
        self.timeout_or(RESEND_TIMEOUT_NAME, Delay::ticks(3 * self.delay))
    }
}

/// A configuration of an algorithm that can be created from [`Parameters`].
pub trait FromParameters: Sized {
    /// Returns the configuration for the parameters.
    ///
    /// # Errors
    ///
    /// Returns an error for a variant that the algorithm does not declare, and for quorums, trees
    /// or graphs that do not fit the group. Also returns an error for other parameters that the
    /// algorithm does not support.
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError>;
}

/// Configuration of an algorithm whose only parameter is the set of its variants.
impl<S: VariantId> FromParameters for Variants<S> {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(parameters.variants()?)
    }
}

/// Configuration of an algorithm without parameters and variants.
impl FromParameters for () {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(parameters.reject_variants()?)
    }
}
