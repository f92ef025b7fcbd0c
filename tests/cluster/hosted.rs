//! A cluster of five, each node on a host of its own.

use crate::hosts::Hosts;
use crate::nodes::{Node, Nodes};

/// How many nodes there are.
const SIZE: u32 = 5;

/// Its hosts, its files, and its nodes in the order of their numbers.
pub(crate) struct Cluster {
    pub(crate) hosts: Hosts,
    pub(crate) nodes: Nodes,
    pub(crate) running: Vec<Node>,
}

impl Cluster {
    /// One whose leader is elected so, with these sections in everybody's configuration; nothing
    /// where there can be no hosts.
    pub(crate) fn start(election: &'static str, sections: &str) -> Option<Cluster> {
        let hosts = Hosts::new(SIZE)?;
        let addresses = hosts.all().map(|host| hosts.address(host) + ":7101").collect();
        let nodes = Nodes::at(addresses).electing(election);
        hosts.all().for_each(|host| nodes.configure(host, sections));
        let running = hosts.all().map(|host| nodes.start(host, &hosts.at(host))).collect();
        Some(Cluster { hosts, nodes, running })
    }
}
