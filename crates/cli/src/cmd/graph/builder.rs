//! Builds a graph from the named vertices and the edges in a file.

use std::collections::{HashMap, HashSet};

use std::sync::Arc;

use tenure_core::{Graph, ProcessId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedGraph {
    pub(crate) graph: Arc<Graph>,
    names: Vec<String>,
}

/// A graph under construction: its vertices and edges, in the order in which a file contains them.
#[derive(Debug, Default)]
pub(super) struct GraphBuilder {
    names: Vec<String>,
    /// Index in `names` of each vertex, by its name.
    places: HashMap<String, usize>,
    /// The two vertices of each edge, as indices in `names`, and the weight of the edge.
    edges: Vec<(usize, usize, u64)>,
    /// Index in `edges` of each edge, by its [`edge_key`].
    edge_places: HashMap<(usize, usize), usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineError {
    /// Number of the line, from 1; 0 if the error concerns the whole graph.
    pub(super) line: usize,
    pub(super) message: String,
}

impl LineError {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        LineError { line, message: message.into() }
    }
}

impl GraphBuilder {
    /// Returns the index of the vertex with this name. Adds the vertex if the name is new.
    pub(super) fn add_vertex(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.names.len();
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Adds an edge between two vertices, which are given by their indices. Returns an error
    /// message for a self loop, for the weight 0, and for an edge that already exists.
    pub(super) fn add_edge(&mut self, ends: (usize, usize), weight: u64) -> Result<(), String> {
        let (one, other) = ends;
        let described = || format!("edge {} – {}", self.names[one], self.names[other]);
        if one == other {
            return Err(format!("{} joins a vertex with itself", described()));
        }
        if weight == 0 {
            return Err(format!("{} has the weight 0: expected at least 1", described()));
        }
        if self.has_edge(ends) {
            return Err(format!("{} occurs twice", described()));
        }
        self.edge_places.insert(edge_key(ends), self.edges.len());
        self.edges.push((one, other, weight));
        Ok(())
    }

    pub(super) fn has_edge(&self, ends: (usize, usize)) -> bool {
        self.edge_places.contains_key(&edge_key(ends))
    }

    /// Changes the weight of an edge, if the edge exists.
    pub(super) fn set_weight(&mut self, ends: (usize, usize), weight: u64) {
        if let Some(place) = self.edge_places.get(&edge_key(ends)) {
            self.edges[*place].2 = weight;
        }
    }

    /// Builds the graph. If the names of the vertices are `1` to `n` or `P1` to `Pn`, the number in
    /// a name becomes the number of the process. Otherwise, the vertices are numbered in the order
    /// of their appearance. Returns an error message if there are no vertices, or too many
    /// vertices.
    pub(super) fn build(self) -> Result<NamedGraph, String> {
        if self.names.is_empty() {
            return Err("the graph has no vertices: expected at least one".to_owned());
        }
        let size = self.names.len();
        let places = numbers(&self.names).unwrap_or_else(|| (0..size).collect());
        let process = |vertex: usize| ProcessId::from_index(places[vertex]);
        let edges = self.edges.iter();
        let edges = edges.map(|(one, other, weight)| (process(*one), process(*other), *weight));
        let vertices = u32::try_from(size).map_err(|_| format!("{size} vertices are too many"))?;
        let graph = Graph::new(vertices, edges).map_err(|error| error.to_string())?;
        let mut names = vec![String::new(); size];
        for (name, place) in self.names.into_iter().zip(places) {
            names[place] = name;
        }
        Ok(NamedGraph { graph: Arc::new(graph), names })
    }
}

/// Returns the index of each vertex, from 0, if the names are the numbers 1 to n in any order, with
/// or without a leading `P`. Returns `None` for other names.
fn numbers(names: &[String]) -> Option<Vec<usize>> {
    let number = |name: &String| {
        let digits = name.strip_prefix('P').unwrap_or(name);
        let number: usize = digits.parse().ok()?;
        (digits == number.to_string()).then_some(number)
    };
    let numbers: Vec<usize> = names.iter().map(number).collect::<Option<_>>()?;
    let distinct: HashSet<usize> = numbers.iter().copied().collect();
    let is_dense = distinct.len() == names.len()
        && numbers.iter().all(|number| (1..=names.len()).contains(number));
    is_dense.then(|| numbers.into_iter().map(|number| number - 1).collect())
}

impl NamedGraph {
    pub(super) fn numbered(graph: Graph) -> Self {
        let names = (1..=graph.vertex_count()).map(|number| number.to_string()).collect();
        NamedGraph { graph: Arc::new(graph), names }
    }

    pub(crate) fn size(&self) -> u32 {
        self.graph.vertex_count()
    }

    /// Returns text that names a process: the name of its vertex in the file, and its number, as in
    /// `oslo (P4)`. If the names of all vertices are numbers, returns only the number, such as
    /// `P4`.
    pub(crate) fn vertex_label(&self, process: ProcessId) -> String {
        match self.names.get(process.index()) {
            Some(name) if !self.is_numbered() => format!("{name} ({process})"),
            _ => process.to_string(),
        }
    }

    /// Returns the names of the vertices in the order of the processes. Returns an empty list if
    /// the names are only numbers.
    pub(crate) fn vertex_names(&self) -> &[String] {
        if self.is_numbered() { &[] } else { &self.names }
    }

    fn is_numbered(&self) -> bool {
        numbers(&self.names).is_some()
    }

    pub(crate) fn check_connected(&self) -> Result<(), String> {
        let distances = self.graph.distances_from(ProcessId(0));
        let Some(apart) = distances.iter().position(Option::is_none) else { return Ok(()) };
        let (first, apart) =
            (self.vertex_label(ProcessId(0)), self.vertex_label(ProcessId::from_index(apart)));
        Err(format!("the graph is not connected: no path joins {first} and {apart}"))
    }
}

/// Returns the vertices of an edge, with the smaller index first.
fn edge_key((one, other): (usize, usize)) -> (usize, usize) {
    (one.min(other), one.max(other))
}

pub(super) fn parse_weight(text: &str) -> Result<u64, String> {
    let weight = text.parse().ok().filter(|weight| *weight > 0);
    weight.ok_or_else(|| format!("invalid weight '{text}': expected a whole number from 1"))
}
