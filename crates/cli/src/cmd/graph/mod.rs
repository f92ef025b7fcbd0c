//! Graphs, trees and quorums that the user selects by name, or defines.

mod builder;
mod dot;
mod edge_list;
mod file;
mod graphml;
mod quorums_option;
mod topology;
mod tree_option;
mod words;

pub(crate) use quorums_option::QuorumsOption;
pub(crate) use topology::{COMPLETION_NAMES as TOPOLOGIES, TopologyOption};
pub(crate) use tree_option::TreeOption;
pub(crate) use words::{inline_files, option_naming_file};
