//! Names of quorum systems and tree shapes.

use alloc::string::ToString;
use alloc::sync::Arc;

use tenure_core::Graph;
use tenure_core::quorum::{Kind, Quorums};
use tenure_core::tree::{Shape, Tree};

use crate::catalogue_error::CatalogueError;

/// Names of the kinds of quorum systems.
pub const QUORUMS: &[(&str, Kind)] = &[
    ("pairs", Kind::Pairs),
    ("fpp", Kind::Plane),
    ("grid", Kind::Grid),
    ("majority", Kind::Majority),
    ("tree", Kind::Tree),
];

/// Returns the kind of quorum system with this name.
///
/// # Errors
///
/// Returns an error if the name is unknown.
pub fn quorums(name: &str) -> Result<Kind, CatalogueError> {
    let found = QUORUMS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| CatalogueError::Kind {
        name: name.to_string(),
        known: QUORUMS.iter().map(|(known, _)| *known).collect(),
    })
}

/// Returns the kind of quorum system with this name, or the quorums of a list such as
/// `1,2/2,3/1,3`. If the text is a list, the returned kind has no meaning.
///
/// # Errors
///
/// Returns an error for an unknown name, and for a list that is no quorum system.
pub fn quorums_or_lists(text: &str) -> Result<(Kind, Option<Arc<Quorums>>), CatalogueError> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok((quorums(text)?, None));
    }
    let listed: Quorums = text.parse()?;
    Ok((Kind::Grid, Some(Arc::new(listed))))
}

/// Names of the tree shapes.
pub const TREES: &[(&str, Shape)] =
    &[("star", Shape::Star), ("path", Shape::Path), ("heap", Shape::Heap)];

/// Returns the tree shape with this name.
///
/// # Errors
///
/// Returns an error if the name is unknown.
pub fn tree(name: &str) -> Result<Shape, CatalogueError> {
    let found = TREES.iter().find(|(known, _)| *known == name);
    found.map(|(_, shape)| *shape).ok_or_else(|| CatalogueError::Shape {
        name: name.to_string(),
        known: TREES.iter().map(|(known, _)| *known).collect(),
    })
}

/// Returns the shape with this name, or the tree of edges such as `1-2,1-3`. If the text is a list
/// of edges, the returned shape has no meaning.
///
/// # Errors
///
/// Returns an error for an unknown name, and for edges that form no tree.
pub fn tree_or_edges(text: &str) -> Result<(Shape, Option<Arc<Tree>>), CatalogueError> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok((tree(text)?, None));
    }
    let edges: Graph = text.parse()?;
    let tree = edges.to_tree().map_err(CatalogueError::Tree)?;
    Ok((Shape::Star, Some(Arc::new(tree))))
}

/// Returns the graph whose edges `text` lists, such as `1-2,2-3:7`. A number after a colon is the
/// weight of the edge.
///
/// # Errors
///
/// Returns an error for edges that form no graph.
pub fn network(text: &str) -> Result<Arc<Graph>, CatalogueError> {
    Ok(Arc::new(text.parse()?))
}
