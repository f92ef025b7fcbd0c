//! Names of quorum systems and tree shapes, and parsers for quorums, trees and graphs.

use alloc::string::ToString;
use alloc::sync::Arc;

use tenure_core::Graph;
use tenure_core::quorum::{QuorumKind, QuorumSystem};
use tenure_core::tree::{RootedTree, TreeShape};

use crate::catalogue_error::CatalogueError;

/// The kinds of quorum systems, each with its name on the command line.
pub const QUORUM_KINDS: &[(&str, QuorumKind)] = &[
    ("pairs", QuorumKind::Pairs),
    ("fpp", QuorumKind::Plane),
    ("grid", QuorumKind::Grid),
    ("majority", QuorumKind::Majority),
    ("tree", QuorumKind::Tree),
];

/// Returns the kind of quorum system with this name.
///
/// # Errors
///
/// Returns an error if the name is unknown.
pub fn parse_quorum_kind(name: &str) -> Result<QuorumKind, CatalogueError> {
    let found = QUORUM_KINDS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| CatalogueError::UnknownQuorumKind {
        name: name.to_string(),
        known: QUORUM_KINDS.iter().map(|(known, _)| *known).collect(),
    })
}

/// Parses the name of a kind of quorum system, or a list of quorums such as `1,2/2,3/1,3`. A list
/// begins with a digit. If `text` is a name, returns the kind and no quorums. If `text` is a list,
/// returns no kind and the listed quorums.
///
/// # Errors
///
/// Returns an error if the name is unknown, or if the list is not a valid quorum system.
pub fn parse_quorums_or_kind(
    text: &str,
) -> Result<(Option<QuorumKind>, Option<Arc<QuorumSystem>>), CatalogueError> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok((Some(parse_quorum_kind(text)?), None));
    }
    let listed: QuorumSystem = text.parse()?;
    Ok((None, Some(Arc::new(listed))))
}

/// The tree shapes, each with its name on the command line.
pub const TREE_SHAPES: &[(&str, TreeShape)] =
    &[("star", TreeShape::Star), ("path", TreeShape::Path), ("heap", TreeShape::Heap)];

/// Returns the tree shape with this name.
///
/// # Errors
///
/// Returns an error if the name is unknown.
pub fn parse_tree_shape(name: &str) -> Result<TreeShape, CatalogueError> {
    let found = TREE_SHAPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, shape)| *shape).ok_or_else(|| CatalogueError::UnknownTreeShape {
        name: name.to_string(),
        known: TREE_SHAPES.iter().map(|(known, _)| *known).collect(),
    })
}

/// Parses the name of a tree shape, or a list of edges such as `1-2,1-3`. A list begins with a
/// digit. If `text` is a name, returns the shape and no tree. If `text` is a list, returns the tree
/// with these edges, and a shape without meaning.
///
/// # Errors
///
/// Returns an error if the name is unknown, if the list is not valid, or if the edges do not form a
/// tree.
pub fn parse_tree_or_shape(
    text: &str,
) -> Result<(TreeShape, Option<Arc<RootedTree>>), CatalogueError> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok((parse_tree_shape(text)?, None));
    }
    let edges: Graph = text.parse()?;
    let tree = edges.to_tree().map_err(CatalogueError::Tree)?;
    Ok((TreeShape::Star, Some(Arc::new(tree))))
}

/// Returns the graph with the edges and vertices in `text`. For example, `1-2,2-3:7,4` lists two
/// edges and the vertex 4, which has no edge. A number after a colon is the weight of the edge. The
/// largest process number is the number of vertices. The graph may be disconnected.
///
/// # Errors
///
/// Returns an error if the text is not a list of edges and vertices, or if the edges do not form a
/// graph.
pub fn parse_graph(text: &str) -> Result<Arc<Graph>, CatalogueError> {
    Ok(Arc::new(text.parse()?))
}
