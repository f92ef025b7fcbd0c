//! Simulates separate hosts on this machine, and partitions between them, by network namespaces
//! around a router.
//!
//! Every host has an address that only the other hosts of its group reach. All packets pass the
//! router. For each direction of a link, the router can drop the packets, as a broken cable or a
//! firewall would.
//!
//! The simulation requires the program `ip` and the right to create namespaces. Without them,
//! [`Hosts::new`] prints that the test is skipped, and returns `None`. Any later failure is a
//! failure of the test. The hosts are removed on drop.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::skipped::report_skip;

/// A group of simulated hosts, numbered from 1.
pub(crate) struct Hosts {
    prefix: String,
    size: u32,
}

impl Hosts {
    /// Creates `size` connected hosts. If this is impossible on this machine, prints a message and
    /// returns `None`.
    pub(crate) fn new(size: u32) -> Option<Hosts> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let hosts = Hosts { prefix: format!("tenure-{}-{number}", std::process::id()), size };
        match ip(&["netns", "add", &hosts.router()]) {
            Ok(()) => {}
            Err(IpError::NotInstalled) => {
                report_skip("ip (Debian: iproute2)");
                return None;
            }
            Err(IpError::Failed(message)) => {
                report_skip(&format!("the right to create network namespaces: {message}"));
                return None;
            }
        }
        let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
        run_ip(&["netns", "exec", &hosts.router(), "sh", "-c", forward]);
        hosts.all().for_each(|host| hosts.connect(host));
        Some(hosts)
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
        self.rule("add", from, to);
    }

    pub(crate) fn mend(&self, from: u32, to: u32) {
        self.rule("del", from, to);
    }

    fn name(&self, host: u32) -> String {
        format!("{}-{host}", self.prefix)
    }

    /// Returns the name of the router's network namespace. No host has a namespace of this name.
    fn router(&self) -> String {
        self.name(0)
    }

    fn connect(&self, host: u32) {
        let (name, router, line) = (self.name(host), self.router(), format!("line{host}"));
        let (address, gateway) = (self.address(host), format!("198.18.{host}.1"));
        let (ours, theirs) = (format!("{address}/30"), format!("{gateway}/30"));
        let pair = ["link", "add", "line", "netns", &name, "type", "veth"];
        let peer = ["peer", "name", &line, "netns", &router];
        run_ip(&["netns", "add", &name]);
        run_ip(&[&pair[..], &peer[..]].concat());
        run_ip(&["-n", &name, "link", "set", "lo", "up"]);
        run_ip(&["-n", &name, "address", "add", &ours, "dev", "line"]);
        run_ip(&["-n", &name, "link", "set", "line", "up"]);
        run_ip(&["-n", &router, "address", "add", &theirs, "dev", &line]);
        run_ip(&["-n", &router, "link", "set", &line, "up"]);
        run_ip(&["-n", &name, "route", "add", "default", "via", &gateway]);
    }

    fn rule(&self, change: &str, from: u32, to: u32) {
        let (router, from, to) = (self.router(), self.address(from), self.address(to));
        run_ip(&["-n", &router, "rule", change, "from", &from, "to", &to, "blackhole"]);
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..=self.size {
            // Only some of the namespaces exist if the constructor has failed.
            let _ = ip(&["netns", "delete", &self.name(host)]);
        }
    }
}

/// Reason why the program `ip` did not succeed.
#[derive(Debug)]
enum IpError {
    NotInstalled,
    /// The program ended with an error. The value is its message.
    Failed(String),
}

/// Runs the program `ip` with these arguments.
fn ip(arguments: &[&str]) -> Result<(), IpError> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|_| IpError::NotInstalled)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(IpError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// Runs the program `ip`, which must succeed.
#[track_caller]
fn run_ip(arguments: &[&str]) {
    ip(arguments).unwrap_or_else(|error| panic!("ip {}: {error:?}", arguments.join(" ")));
}
