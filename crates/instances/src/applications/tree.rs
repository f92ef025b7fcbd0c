//! Construction of a spanning tree whose root is the leader.

use std::collections::BTreeMap;

use tenure_algorithms::application::{SpanningTree, spanning_tree};
use tenure_core::service::leader_tree::Event;
use tenure_core::{Graph, ProcessId};
use tenure_sim::{Distribution, RunError, Settings};

use super::{ELECTION_START, first_process_wins, max_latency, run, simulation};

/// Graph and network of a tree construction.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanningTreeScenario {
    /// Number of processes. The first process becomes the root.
    pub size: u32,
    /// Edges of the graph, each listed once.
    pub edges: Vec<(ProcessId, ProcessId)>,
    /// True if processes send echoes: each process reports the size of its subtree to its parent.
    pub has_echoes: bool,
    /// Latency of each message, in ticks.
    pub latency: Distribution,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl SpanningTreeScenario {
    /// Creates a scenario with these edges. Each process reports the size of its subtree to its
    /// parent. Latencies are 1 to 3 units.
    pub fn with_edges(size: u32, edges: impl Into<Vec<(ProcessId, ProcessId)>>) -> Self {
        let latency = Distribution::between_time_units(1, 3);
        SpanningTreeScenario { size, edges: edges.into(), has_echoes: true, latency, seed: 1 }
    }

    /// Creates a scenario on a connected graph. The weights of its edges are ignored.
    pub fn on_graph(graph: &Graph) -> Self {
        let edges: Vec<_> = graph.edges().map(|(one, other, _)| (one, other)).collect();
        SpanningTreeScenario::with_edges(graph.vertex_count(), edges)
    }

    /// Creates a scenario on the complete graph.
    pub fn on_complete_graph(size: u32) -> Self {
        SpanningTreeScenario::on_graph(&Graph::complete(size))
    }
}

/// Result of a tree construction.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanningTreeOutcome {
    /// For each process, by index: its parent in the tree. `None` if the process is the root or is
    /// not in the tree.
    pub parents: Vec<Option<ProcessId>>,
    /// Processes of the tree, in the order in which they joined.
    pub joined: Vec<ProcessId>,
    /// Number of processes that the root counted. `None` if the construction was not completed.
    pub counted: Option<u32>,
    /// Number of messages that the application sent, by kind. Messages of the election do not
    /// count.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Elects the root and constructs a tree.
///
/// # Errors
///
/// [`RunError`] if the scenario is invalid. Nothing was run.
///
/// # Panics
///
/// If an edge connects a process with itself or with a process outside of the group.
///
/// ```
/// use tenure_instances::applications::tree::{SpanningTreeScenario, build_spanning_tree};
///
/// let outcome = build_spanning_tree(&SpanningTreeScenario::on_complete_graph(5)).unwrap();
/// let (edges, size) = (10, 5);
/// assert_eq!(outcome.messages["explore"], 2 * edges - (size - 1));
/// assert_eq!(outcome.messages["explore"] + outcome.messages["echo"], 2 * edges);
/// assert_eq!(outcome.counted, Some(5));
/// ```
pub fn build_spanning_tree(
    scenario: &SpanningTreeScenario,
) -> Result<SpanningTreeOutcome, RunError> {
    let size = scenario.size;
    let mut settings = Settings::new(size);
    settings.network.latency = scenario.latency.into();
    settings.seed = scenario.seed;
    let delay = max_latency(scenario.latency);
    settings.limits.until = Some(ELECTION_START + 40 * delay * u64::from(size));
    let plain = spanning_tree::Config::with_edges_and_echoes(size, scenario.edges.iter().copied());
    let config = spanning_tree::Config { sends_echoes: scenario.has_echoes, ..plain };
    let run = run(&simulation::<SpanningTree>(config, first_process_wins(size, delay), settings))?;
    let mut outcome = SpanningTreeOutcome {
        parents: vec![None; size as usize],
        joined: Vec::new(),
        counted: None,
        messages: run.messages(),
    };
    for (_, process, event) in run.application_events() {
        match event {
            Event::Joined { parent, .. } => {
                outcome.parents[process.index()] = *parent;
                outcome.joined.push(process);
            }
            Event::Completed { size, .. } => outcome.counted = Some(*size),
        }
    }
    Ok(outcome)
}
