//! Simulates separate hosts on this machine, and partitions between them, by network namespaces
//! around a router.
//!
//! Every host has an address that only the other hosts of its group reach. All packets pass the
//! router. For each direction of a link, the router can drop the packets, as a broken cable or a
//! firewall would.
//!
//! The simulation requires the program `ip` and root. Without them, [`Hosts::new`] returns `None`
//! and the test prints `skipped: needs root`. The hosts are removed on drop.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A group of simulated hosts, numbered from 1.
pub(crate) struct Hosts {
    prefix: String,
    size: u32,
}

impl Hosts {
    /// Creates `size` connected hosts. Returns `None` if network namespaces are unavailable.
    pub(crate) fn new(size: u32) -> Option<Hosts> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let hosts = Hosts { prefix: format!("tenure-{}-{number}", std::process::id()), size };
        hosts.make().then_some(hosts)
    }

    pub(crate) fn say_skipped() {
        eprintln!("skipped: needs root");
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = u32> + use<> {
        1..=self.size
    }

    /// Returns the IP address of a host, in a range that is reserved for tests of networks.
    pub(crate) fn address(&self, host: u32) -> String {
        format!("198.18.{host}.2")
    }

    /// Returns the start of a command line that runs a program at a host.
    pub(crate) fn at(&self, host: u32) -> Vec<String> {
        ["ip", "netns", "exec", &self.name(host)].map(str::to_owned).into()
    }

    pub(crate) fn cut(&self, from: u32, to: u32) {
        assert!(self.rule("add", from, to), "the router takes a rule");
    }

    pub(crate) fn mend(&self, from: u32, to: u32) {
        assert!(self.rule("del", from, to), "the router forgets a rule");
    }

    fn name(&self, host: u32) -> String {
        format!("{}-{host}", self.prefix)
    }

    /// Returns the name of the router's network namespace. No host has a namespace of this name.
    fn router(&self) -> String {
        self.name(0)
    }

    fn make(&self) -> bool {
        let router = self.router();
        let forward = ["netns", "exec", &router, "sysctl", "-qw", "net.ipv4.ip_forward=1"];
        ip(&["netns", "add", &router]) && ip(&forward) && self.all().all(|host| self.connect(host))
    }

    fn connect(&self, host: u32) -> bool {
        let (name, router, line) = (self.name(host), self.router(), format!("line{host}"));
        let (address, gateway) = (self.address(host), format!("198.18.{host}.1"));
        let (ours, theirs) = (format!("{address}/30"), format!("{gateway}/30"));
        let pair = ["link", "add", "line", "netns", &name, "type", "veth"];
        let peer = ["peer", "name", &line, "netns", &router];
        ip(&["netns", "add", &name])
            && ip(&[&pair[..], &peer[..]].concat())
            && ip(&["-n", &name, "link", "set", "lo", "up"])
            && ip(&["-n", &name, "address", "add", &ours, "dev", "line"])
            && ip(&["-n", &name, "link", "set", "line", "up"])
            && ip(&["-n", &router, "address", "add", &theirs, "dev", &line])
            && ip(&["-n", &router, "link", "set", &line, "up"])
            && ip(&["-n", &name, "route", "add", "default", "via", &gateway])
    }

    fn rule(&self, change: &str, from: u32, to: u32) -> bool {
        let (router, from, to) = (self.router(), self.address(from), self.address(to));
        ip(&["-n", &router, "rule", change, "from", &from, "to", &to, "blackhole"])
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..=self.size {
            ip(&["netns", "delete", &self.name(host)]);
        }
    }
}

/// Runs the program `ip` with these arguments. Returns true if it is installed and succeeds.
fn ip(arguments: &[&str]) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
