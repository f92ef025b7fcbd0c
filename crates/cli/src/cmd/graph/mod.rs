//! Graphs, trees and quorums that the user selects by name, or defines.

mod builder;
mod dot;
mod edge_list;
mod file;
mod graphml;
mod own_quorums;
mod own_tree;
mod topology;
mod words;

pub(crate) use own_quorums::QuorumsOption;
pub(crate) use own_tree::TreeOption;
pub(crate) use topology::{NAMES as TOPOLOGIES, TopologyOption};
pub(crate) use words::{option_with_file, without_files};
