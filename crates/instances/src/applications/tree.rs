//! A spanning tree that grows from the leader.

use std::collections::BTreeMap;

use tenure_algorithms::application::{SpanningTree, spanning_tree};
use tenure_core::ProcessId;
use tenure_core::service::tree::Event;
use tenure_sim::{RunError, Settings, Span};

use super::{ELECTION, first_wins, longest, run, simulation};

/// A graph, and how messages travel on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// How many processes. The first is the root.
    pub size: u32,
    /// The edges, each once.
    pub edges: Vec<(ProcessId, ProcessId)>,
    /// Whether processes echo.
    pub echoes: bool,
    /// How long a message takes.
    pub latency: Span,
    /// What decides every draw.
    pub seed: u64,
}

impl Graph {
    /// With echoes; a message takes 1 to 3 units.
    pub fn of(size: u32, edges: impl Into<Vec<(ProcessId, ProcessId)>>) -> Self {
        let latency = Span::between_units(1, 3);
        Graph { size, edges: edges.into(), echoes: true, latency, seed: 1 }
    }

    /// Everybody a neighbour of everybody.
    pub fn complete(size: u32) -> Self {
        let edges = (0..size).flat_map(|one| (0..one).map(move |other| (one, other)));
        let edges: Vec<_> = edges.map(|(one, other)| (ProcessId(one), ProcessId(other))).collect();
        Graph::of(size, edges)
    }
}

/// The tree that grew.
#[derive(Clone, Debug, PartialEq)]
pub struct Grown {
    /// By process: its parent; `None` at the root, and outside of the tree.
    pub parents: Vec<Option<ProcessId>>,
    /// Who is in the tree, in the order in which they joined.
    pub joined: Vec<ProcessId>,
    /// How many the root counts, if it was told that the tree is complete.
    pub counted: Option<u32>,
    /// How many messages of each kind were sent.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Elects the root, and grows a tree.
///
/// # Errors
///
/// [`RunError`] when the parameters make no sense.
///
/// # Panics
///
/// When an edge leads to itself or to nobody.
///
/// ```
/// use tenure_instances::applications::tree::{Graph, grow};
///
/// let grown = grow(&Graph::complete(5)).unwrap();
/// let (edges, size) = (10, 5);
/// assert_eq!(grown.messages["explore"], 2 * edges - (size - 1));
/// assert_eq!(grown.messages["explore"] + grown.messages["echo"], 2 * edges);
/// assert_eq!(grown.counted, Some(5));
/// ```
pub fn grow(graph: &Graph) -> Result<Grown, RunError> {
    let size = graph.size;
    let mut settings = Settings::new(size);
    settings.network.latency = graph.latency.into();
    settings.seed = graph.seed;
    let delay = longest(graph.latency);
    settings.limits.until = Some(ELECTION + 40 * delay * u64::from(size));
    let plain = spanning_tree::Config::of(size, graph.edges.iter().copied());
    let config = spanning_tree::Config { echoes: graph.echoes, ..plain };
    let run = run(&simulation::<SpanningTree>(config, first_wins(size, delay), settings))?;
    let mut grown = Grown {
        parents: vec![None; size as usize],
        joined: Vec::new(),
        counted: None,
        messages: run.messages(),
    };
    for (_, process, event) in run.told() {
        match event {
            Event::Joined { parent, .. } => {
                grown.parents[process.index()] = *parent;
                grown.joined.push(process);
            }
            Event::Completed { size, .. } => grown.counted = Some(*size),
        }
    }
    Ok(grown)
}
