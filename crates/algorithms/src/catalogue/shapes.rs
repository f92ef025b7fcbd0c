//! Names of quorum systems and tree shapes.

use alloc::string::ToString;

use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;

use crate::catalogue_error::CatalogueError;

/// Names of the ways to build quorums.
pub const QUORUMS: &[(&str, Kind)] = &[
    ("pairs", Kind::Pairs),
    ("fpp", Kind::Plane),
    ("grid", Kind::Grid),
    ("majority", Kind::Majority),
    ("tree", Kind::Tree),
];

/// Returns the way to build quorums with this name.
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
