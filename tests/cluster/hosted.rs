//! A cluster of five, each node on a host of its own.

use std::process::Command;

use serde_json::Value;

use crate::hosts::Hosts;
use crate::nodes::{Node, Nodes};

/// How many nodes there are.
pub(crate) const SIZE: u32 = 5;

/// What the cut of a host stops.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    Both,
    Outgoing,
    Incoming,
}

pub(crate) const CUTS: [Cut; 3] = [Cut::Both, Cut::Outgoing, Cut::Incoming];

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
        Some(Cluster::at(Hosts::new(SIZE)?, election, |_| sections.to_owned()))
    }

    /// The same at hosts that are there, with sections that may differ from host to host.
    pub(crate) fn at(
        hosts: Hosts,
        election: &'static str,
        sections: impl Fn(u32) -> String,
    ) -> Cluster {
        let addresses = hosts.all().map(|host| hosts.address(host) + ":7101").collect();
        let nodes = Nodes::at(addresses).electing(election);
        hosts.all().for_each(|host| nodes.configure(host, &sections(host)));
        let running = hosts.all().map(|host| nodes.start(host, &hosts.at(host))).collect();
        Cluster { hosts, nodes, running }
    }

    /// Cuts a host off from all others, in these directions.
    pub(crate) fn cut_off(&self, host: u32, cut: Cut) {
        self.change(host, cut, Hosts::cut);
    }

    /// Takes back such a cut.
    pub(crate) fn mend(&self, host: u32, cut: Cut) {
        self.change(host, cut, Hosts::mend);
    }

    fn change(&self, host: u32, cut: Cut, change: fn(&Hosts, u32, u32)) {
        for other in self.hosts.all().filter(|other| *other != host) {
            if !matches!(cut, Cut::Incoming) {
                change(&self.hosts, host, other);
            }
            if !matches!(cut, Cut::Outgoing) {
                change(&self.hosts, other, host);
            }
        }
    }

    /// Ends all, and says what became of a property in what they wrote down.
    pub(crate) fn verdict(mut self, property: &str) -> Value {
        self.running.clear();
        let traces = self.hosts.all().map(|host| self.nodes.trace(host));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["trace", "verify", "--format", "json"]).args(traces);
        let judged: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        judged["properties"][property].clone()
    }
}
