//! The value of `--tree`: a list of edges, a file, or the name of a shape.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use tenure_algorithms::catalogue::{self, TREE_SHAPES};
use tenure_core::Graph;
use tenure_core::tree::{RootedTree, TreeShape};

use super::{edge_list, file};
use crate::cmd::program::quote_shell_word;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeOption {
    /// One of the named shapes, for any number of processes.
    Shape(TreeShape),
    Custom {
        text: String,
        tree: Arc<RootedTree>,
        graph: Arc<Graph>,
    },
}

impl TreeOption {
    /// Returns the number of processes of a tree that the user defines. Returns `None` for a named
    /// shape, which exists for any number of processes.
    pub(crate) fn fixed_size(&self) -> Option<u32> {
        self.custom_tree().map(|tree| tree.size())
    }

    /// Returns the named shape; `None` for a tree that the user defines.
    pub(crate) fn shape(&self) -> Option<TreeShape> {
        match self {
            TreeOption::Shape(shape) => Some(*shape),
            TreeOption::Custom { .. } => None,
        }
    }

    /// Returns the tree that the user defines; `None` for a named shape.
    pub(crate) fn custom_tree(&self) -> Option<&Arc<RootedTree>> {
        match self {
            TreeOption::Shape(_) => None,
            TreeOption::Custom { tree, .. } => Some(tree),
        }
    }

    pub(crate) fn shell_word(&self) -> String {
        match self {
            TreeOption::Shape(_) => self.inlined(),
            TreeOption::Custom { text, .. } => quote_shell_word(text),
        }
    }

    /// Returns this value, with the edges themselves in place of the name of a file. Traces contain
    /// the result.
    pub(crate) fn inlined(&self) -> String {
        match self {
            TreeOption::Shape(shape) => {
                let name = TREE_SHAPES.iter().find(|(_, known)| known == shape);
                name.map_or(String::new(), |(name, _)| (*name).to_owned())
            }
            TreeOption::Custom { graph, .. } => graph.to_string(),
        }
    }
}

impl FromStr for TreeOption {
    type Err = String;

    /// Parses a value. If the value is the path of a file, reads the file.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(shape) = catalogue::parse_tree_shape(text) {
            return Ok(TreeOption::Shape(shape));
        }
        let named = match edge_list::parse_inline_edges(text) {
            Some(named) => named?,
            None if file::is_path(text) => file::read_graph(Path::new(text))?,
            None => {
                let names: Vec<&str> = TREE_SHAPES.iter().map(|(name, _)| *name).collect();
                let names = names.join(", ");
                return Err(format!("expected {names}, edges such as 1-2,2-3, or a file"));
            }
        };
        named.check_connected()?;
        let tree = named.graph.to_tree().map_err(|_| {
            let (edges, size) = (named.graph.edge_count(), named.size());
            let tree = size - 1;
            format!("the graph is no tree: {edges} edges join {size} vertices, expected {tree}")
        })?;
        let (text, tree) = (text.to_owned(), Arc::new(tree));
        Ok(TreeOption::Custom { text, tree, graph: named.graph })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_shapes_or_edges() {
        let heap: TreeOption = "heap".parse().unwrap();
        assert_eq!(
            (heap.shape(), heap.fixed_size(), heap.inlined()),
            (Some(TreeShape::Heap), None, "heap".to_owned())
        );
        let custom: TreeOption = "1-2,1-3,3-4".parse().unwrap();
        assert_eq!(custom.custom_tree().map(|tree| tree.diameter()), Some(3));
        assert_eq!((custom.fixed_size(), custom.inlined()), (Some(4), "1-2,1-3,3-4".to_owned()));
        let error = |text: &str| text.parse::<TreeOption>().unwrap_err();
        assert_eq!(
            error("1-2,2-3,3-1"),
            "the graph is no tree: 3 edges join 3 vertices, expected 2"
        );
        assert_eq!(error("1-2,3-4"), "the graph is not connected: no path joins P1 and P3");
        assert_eq!(error("round"), "expected star, path, heap, edges such as 1-2,2-3, or a file");
    }
}
