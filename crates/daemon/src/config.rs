//! The configuration of a node: a TOML file, or a value that is built in code.

use std::io;
use std::net::SocketAddr;
#[cfg(feature = "file")]
use std::path::Path;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenure_algorithms::catalogue::{self, Parameters, Unknown};
use tenure_core::ProcessId;
use thiserror::Error;

use crate::builder::Builder;

/// The version of the format that this release reads and writes.
pub const VERSION: u32 = 1;

/// The longest time of a detector: a day.
const LONGEST_MS: u64 = 86_400_000;

/// Everything a node needs to know. `tenure node --example` prints a commented file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The version of this format: 1.
    pub version: u32,
    /// Who the nodes are, and which of them this is.
    pub cluster: Cluster,
    /// What they run.
    #[serde(default)]
    pub service: Service,
    /// How crashes are noticed.
    #[serde(default)]
    pub detector: Detector,
    /// What lies between the algorithm and the sockets.
    #[serde(default)]
    pub channel: Channel,
    /// What survives a crash, and where.
    pub store: Store,
    /// The record of what happened; none is written without it.
    pub trace: Option<Trace>,
    /// A page on which a browser shows what the node does; none is served without it.
    pub page: Option<Page>,
    /// The work to do under the lock; without it the node only serves.
    pub work: Option<Work>,
    /// A log to keep, in place of a lock: what `tenure run --log` writes for its nodes.
    pub log: Option<Log>,
}

/// Who the nodes are, and which of them this is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// The cluster's name; nodes of another cluster are refused.
    pub name: String,
    /// The number of this node's process, from 1.
    pub me: u32,
    /// `host:port` of every node, the first process's first: where the others reach it.
    pub addresses: Vec<String>,
    /// `host:port` at which this node listens, where that is not its own of `addresses`: in a
    /// container, or behind a router, the others may know it by another.
    pub listen: Option<String>,
    /// The file with this node's private key, which nobody else may read; `tenure keys new` makes
    /// it. Needed, with `public_keys`, unless this node listens on loopback.
    pub private_key: Option<PathBuf>,
    /// The file with the public keys of all nodes, by which they know each other.
    pub public_keys: Option<PathBuf>,
    /// Whether a node without keys may listen beyond loopback: then whoever reaches it, or is on
    /// the way, can be any node, and read and change everything.
    #[serde(default)]
    pub insecure: bool,
}

/// What the nodes run; the same on all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Service {
    /// The mutual exclusion algorithm.
    pub mutex: String,
    /// The election algorithm.
    pub election: String,
    /// The variants of the mutual exclusion algorithm that are switched on.
    pub variants: Vec<String>,
    /// How quorums are built, for a lock that needs them: the name of one of
    /// [`QUORUMS`](tenure_algorithms::catalogue::QUORUMS).
    pub quorums: String,
    /// The shape of the tree, for a lock that needs one: the name of one of
    /// [`TREES`](tenure_algorithms::catalogue::TREES).
    pub tree: String,
    /// Whether there are many locks, each by its name, all of them at one leader: for a lock that
    /// follows one, such as `coordinated:raft`.
    pub named: bool,
}

/// How crashes are noticed: heartbeats with adaptive timeouts, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Detector {
    /// How often a heartbeat is sent.
    pub period_ms: u64,
    /// How long a peer may be silent at first.
    pub timeout_ms: u64,
    /// How much a wrong suspicion adds to that.
    pub increment_ms: u64,
    /// How long a peer may ever be silent.
    pub longest_ms: u64,
    /// The longest that a message may take: what the election's own timeouts are made of.
    pub message_ms: u64,
}

/// What lies between the algorithm and the sockets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Channel {
    /// Whether the reliable-channel adapter runs over the sockets.
    pub fifo: bool,
    /// How likely a message is dropped before it reaches a socket, 0 to 1: to try the adapter.
    pub lose: f64,
    /// How likely a message is sent twice, 0 to 1.
    pub duplicate: f64,
    /// How long a peer's machine may take to answer when it is dialed, in milliseconds; without
    /// it, 400 or four times `message_ms`, whichever is more. Twice that long it may confirm
    /// nothing, at least a second, until a connection is given up.
    pub connect_ms: Option<u64>,
}

/// What survives a crash, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// A directory that belongs to this node alone; it is made if it is missing.
    pub directory: PathBuf,
}

/// The record of what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The file; a node that comes back appends to it.
    pub file: PathBuf,
    /// Whether every line carries a vector clock.
    #[serde(default)]
    pub clocks: bool,
    /// Whether what the process holds is written after every step that changed it.
    #[serde(default)]
    pub states: bool,
    /// How long a file may be, in KiB, before the trace goes on in another one, `NAME-2`, `NAME-3`
    /// and so on; without it, it never does. The node deletes none of them.
    pub segment_kib: Option<u64>,
}

/// A page on which a browser shows what the node does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Where it is served; port 0 is any that is free. Beyond this machine, whoever looks must
    /// know the token that is part of the address which the node reports.
    pub listen: SocketAddr,
    /// `host:port` of the page of every node, the first process's first: whom `tenure status` asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// The work to do under the lock: read a counter, add one, write it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Where the counter's resource server is.
    pub resource: SocketAddr,
    /// Whether to take the lock at all; without it updates get lost.
    #[serde(default = "yes")]
    pub lock: bool,
    /// How often to enter; without it, until `duration_ms` is over.
    pub entries: Option<u64>,
    /// How long to go on entering, in milliseconds; without it, until `entries` are done.
    pub duration_ms: Option<u64>,
    /// How long to stay inside between read and write, in microseconds.
    #[serde(default)]
    pub hold_us: u64,
    /// The longest pause between entries, in microseconds; each is drawn.
    #[serde(default)]
    pub think_us: u64,
    /// What the pauses are drawn from, and what faults are injected by.
    #[serde(default)]
    pub seed: u64,
}

/// A log to keep in place of a lock: of a counter and a register, for clients on this machine. The
/// same on all nodes but for `clients`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The algorithm: `raft-log`.
    pub algorithm: String,
    /// The variants of it that are switched on.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Where clients ask, on loopback: anybody on this machine may.
    pub clients: SocketAddr,
    /// The shortest and the longest election timeout, in ms; else by `detector.message_ms`.
    pub election_ms: Option<(u64, u64)>,
    /// After how many entries a snapshot stands for them; after 1,000, without it.
    pub snapshot_after: Option<std::num::NonZeroU64>,
}

const fn yes() -> bool {
    true
}

impl Service {
    /// What the configurations of lock and election depend on, in a group of `size` processes
    /// whose messages take `delay` ticks at most.
    ///
    /// # Errors
    ///
    /// When there are no such quorums or no such tree.
    pub fn parameters(&self, size: u32, delay: u64) -> Result<Parameters, Unknown> {
        Ok(Parameters {
            delay,
            quorums: catalogue::quorums(&self.quorums)?,
            tree: catalogue::tree(&self.tree)?,
            variants: self.variants.clone(),
            ..Parameters::plain(size)
        })
    }
}

impl Default for Service {
    fn default() -> Self {
        Service {
            mutex: "coordinated:raft".into(),
            election: "raft".into(),
            variants: Vec::new(),
            quorums: "grid".into(),
            tree: "star".into(),
            named: false,
        }
    }
}

impl Default for Detector {
    fn default() -> Self {
        Detector {
            period_ms: 50,
            timeout_ms: 400,
            increment_ms: 200,
            longest_ms: 5_000,
            message_ms: 40,
        }
    }
}

impl Default for Channel {
    fn default() -> Self {
        Channel { fifo: false, lose: 0.0, duplicate: 0.0, connect_ms: None }
    }
}

/// Why a configuration cannot be used. Nothing was started.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("{}:{line}: {says}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        says: String,
    },
    /// A value that a [`Builder`](crate::Builder) was given is out of its range, or is missing.
    #[error("{says}")]
    Unbuilt {
        /// What is wrong, and what would be right.
        says: String,
    },
    /// A value is out of its range.
    #[error("{}: {says}", path.display())]
    Unfit {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and what would be right.
        says: String,
    },
}

impl Config {
    /// Begins a configuration in code, of a node of the cluster of this name.
    pub fn builder(cluster: impl Into<String>) -> Builder {
        Builder::of(cluster.into())
    }

    /// Reads a file: what it says in TOML is what the fields here say.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], with the place of the mistake and what would be right.
    #[cfg(feature = "file")]
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.into(), source })?;
        let config = Config::parse(&text).map_err(|(line, says)| match line {
            Some(line) => ConfigError::Malformed { path: path.into(), line, says },
            None => ConfigError::Unfit { path: path.into(), says },
        })?;
        Ok(config)
    }

    /// Reads the text of a file; an error has its line, where it has one.
    #[cfg(feature = "file")]
    fn parse(text: &str) -> Result<Config, (Option<usize>, String)> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            (Some(line.unwrap_or(1)), error.message().replace('\n', " "))
        })?;
        config.validate().map_err(|says| (None, says))?;
        Ok(config)
    }

    /// The text of the file that says the same.
    ///
    /// # Panics
    ///
    /// Never: every value of this type has a text.
    #[cfg(feature = "file")]
    pub fn text(&self) -> String {
        toml::to_string(self).expect("a configuration can be written as TOML")
    }

    /// This node's process.
    pub fn me(&self) -> ProcessId {
        ProcessId(self.cluster.me - 1)
    }

    /// How many nodes there are.
    pub fn size(&self) -> u32 {
        ProcessId::at(self.cluster.addresses.len()).0
    }

    /// `host:port` at which this node listens.
    pub fn listen(&self) -> &str {
        let own = &self.cluster.addresses[self.me().index()];
        self.cluster.listen.as_ref().unwrap_or(own)
    }

    /// How long a peer's machine may take to answer when it is dialed, in milliseconds.
    pub(crate) fn connect_ms(&self) -> u64 {
        self.channel.connect_ms.unwrap_or((4 * self.detector.message_ms).max(400))
    }

    /// Whether what is said of the way to the peers makes sense.
    fn validate_network(&self) -> Result<(), String> {
        let pages = self.page.iter().flat_map(|page| &page.addresses);
        let listen = self.cluster.listen.iter().map(|it| ("cluster.listen", it));
        let all = self.cluster.addresses.iter().map(|it| ("cluster.addresses", it));
        for (name, address) in all.chain(listen).chain(pages.map(|it| ("page.addresses", it))) {
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            if port.is_none_or(|port| port == 0) {
                return Err(format!("{name} has `{address}`; write host:port with a port above 0"));
            }
        }
        let addresses = &self.cluster.addresses;
        let twice = addresses.iter().enumerate().find_map(|(place, address)| {
            let first = addresses[..place].iter().position(|it| it == address)?;
            Some((first + 1, place + 1, address))
        });
        if let Some((first, second, address)) = twice {
            return Err(format!(
                "cluster.addresses has `{address}` for nodes {first} and {second}; each node needs \
                 an address of its own"
            ));
        }
        let (nodes, pages) = (self.size() as usize, self.page.as_ref().map(|it| &it.addresses));
        if let Some(pages) = pages.filter(|it| !it.is_empty() && it.len() != nodes) {
            return Err(format!(
                "page.addresses names {} pages and cluster.addresses {nodes} nodes; name the page \
                 of every node, or none",
                pages.len()
            ));
        }
        let (connect, least) = (self.connect_ms(), (2 * self.detector.message_ms).max(1));
        if connect < least {
            return Err(format!(
                "channel.connect_ms = {connect} is too short: there and back, twice \
                 detector.message_ms, is {least}"
            ));
        }
        Ok(())
    }

    /// Whether every time is one that can be counted with.
    fn validate_times(&self) -> Result<(), String> {
        let Detector { period_ms, timeout_ms, increment_ms, longest_ms, message_ms } =
            self.detector;
        let times = [
            ("period_ms", period_ms),
            ("timeout_ms", timeout_ms),
            ("increment_ms", increment_ms),
            ("longest_ms", longest_ms),
            ("message_ms", message_ms),
        ];
        let times = times.map(|(name, ms)| (format!("detector.{name}"), ms));
        let connect = self.channel.connect_ms.map(|ms| ("channel.connect_ms".to_owned(), ms));
        let long = times.into_iter().chain(connect).find(|(_, ms)| *ms > LONGEST_MS);
        long.map_or(Ok(()), |(name, ms)| {
            Err(format!("{name} = {ms} is more than a day, {LONGEST_MS}"))
        })
    }

    /// Whether many locks by name are possible here.
    fn validate_names(&self) -> Result<(), String> {
        if !self.service.named {
            return Ok(());
        }
        let mutex = &self.service.mutex;
        if !mutex.starts_with("coordinated") {
            return Err(format!(
                "service.named = true needs a lock that follows a leader, such as \
                 coordinated:raft; `{mutex}` is one lock"
            ));
        }
        if self.channel.fifo {
            return Err("service.named = true runs over TCP alone; leave channel.fifo out".into());
        }
        if self.work.is_some() {
            return Err(
                "[work] is done under the only lock of a node; leave service.named out".into()
            );
        }
        Ok(())
    }

    /// Whether a log can be kept here.
    fn validate_log(&self) -> Result<(), String> {
        let Some(log) = &self.log else { return Ok(()) };
        if log.algorithm != "raft-log" {
            return Err(format!("log.algorithm = `{}` is not that: raft-log is", log.algorithm));
        }
        if !log.clients.ip().is_loopback() {
            return Err(format!(
                "log.clients = {} is not on this machine; whoever asks there is believed, so write \
                 127.0.0.1 with a port",
                log.clients
            ));
        }
        if self.work.is_some() || self.page.is_some() || self.channel.fifo {
            return Err("a node with [log] has no [work], no [page] and no channel.fifo".into());
        }
        match log.election_ms {
            Some((least, most)) if least == 0 || most < least || most > LONGEST_MS => Err(format!(
                "log.election_ms = [{least}, {most}]; the shortest first, above 0 and at most a day"
            )),
            _ => Ok(()),
        }
    }

    /// Whether all of this can be meant. The error says what is wrong, and what would be right.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let n = self.cluster.addresses.len();
        let require = |holds: bool, says: String| if holds { Ok(()) } else { Err(says) };
        require(
            self.version == VERSION,
            format!("version = {} is not known; this release reads version = 1", self.version),
        )?;
        require(n > 0, "cluster.addresses is empty; name every node, this one included".into())?;
        require(
            (1..=n).contains(&(self.cluster.me as usize)),
            format!("cluster.me = {}; with {n} addresses it is one of 1 to {n}", self.cluster.me),
        )?;
        let Cluster { private_key, public_keys, insecure, .. } = &self.cluster;
        require(
            private_key.is_some() == public_keys.is_some(),
            "cluster.private_key and cluster.public_keys go together; name both".into(),
        )?;
        require(
            !insecure || private_key.is_none(),
            "cluster.insecure = true makes no difference where there are keys; remove it".into(),
        )?;
        self.validate_times()?;
        self.validate_network()?;
        self.validate_names()?;
        self.validate_log()?;
        for (name, chance) in [("lose", self.channel.lose), ("duplicate", self.channel.duplicate)] {
            require(
                (0.0..1.0).contains(&chance),
                format!("channel.{name} = {chance}; a probability from 0 to below 1 is needed"),
            )?;
            require(
                chance == 0.0 || self.channel.fifo || self.log.is_some(),
                format!("channel.{name} needs channel.fifo = true, or messages stay lost"),
            )?;
        }
        let detector = &self.detector;
        require(
            detector.period_ms > 0 && detector.timeout_ms > detector.period_ms,
            format!(
                "detector.timeout_ms = {} must be above detector.period_ms = {}, and that above 0",
                detector.timeout_ms, detector.period_ms
            ),
        )?;
        if let Some(work) = &self.work {
            require(
                work.entries.is_some() || work.duration_ms.is_some(),
                "[work] needs entries or duration_ms, to know when it is done".into(),
            )?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        version = 1
        [cluster]
        name = "demo"
        me = 2
        addresses = ["127.0.0.1:7101", "127.0.0.1:7102"]
        [store]
        directory = "state"
    "#;

    #[test]
    fn a_configuration_survives_being_written_and_read() {
        let mut config = Config::parse(GOOD).unwrap();
        assert_eq!(config.me(), ProcessId(1));
        assert_eq!((config.listen(), config.connect_ms()), ("127.0.0.1:7102", 400));
        config.cluster.listen = Some("0.0.0.0:7102".to_owned());
        config.detector.message_ms = 150;
        assert_eq!((config.listen(), config.connect_ms()), ("0.0.0.0:7102", 600));
        config.channel.fifo = true;
        config.channel.lose = 0.1;
        assert_eq!(Config::parse(&config.text()).unwrap(), config);
    }

    #[test]
    fn a_mistake_is_at_the_line_where_it_stands() {
        let text = "version = 1\n[cluster]\nname = 5\n";
        assert_eq!(Config::parse(text).unwrap_err().0, Some(3));
        assert_eq!(Config::parse("nonsense = 1\nversion = 1\n").unwrap_err().0, Some(1));
    }

    #[test]
    fn every_mistake_is_one_line_that_names_it() {
        for (from, to, names) in [
            ("version = 1", "version = 2", "version = 2"),
            ("me = 2", "me = 3", "1 to 2"),
            ("me = 2", "me = 0", "1 to 2"),
            ("me = 2", "me = \"two\"", "expected u32"),
            ("7102", "port", "host:port"),
            ("7102", "0", "host:port"),
            ("[store]", "listen = \"7101\"\n[store]", "cluster.listen"),
            ("7102", "7101", "for nodes 1 and 2"),
            (
                "[store]",
                "[log]\nalgorithm = \"bully\"\nclients = \"127.0.0.1:1\"\n[store]",
                "raft-log",
            ),
            (
                "[store]",
                "[log]\nalgorithm = \"raft-log\"\nclients = \"10.0.0.1:1\"\n[store]",
                "not on this machine",
            ),
            ("[store]", "[channel]\nconnect_ms = 79\n[store]", "is 80"),
            ("[store]", "[channel]\nconnect_ms = 86400001\n[store]", "a day"),
            ("[store]", "private_key = \"p2.key\"\n[store]", "go together"),
            ("directory", "folder", "folder"),
            ("[store]", "[channel]\nlose = 0.5\n[store]", "channel.fifo"),
            ("[store]", "[channel]\nfifo = true\nlose = 1.5\n[store]", "from 0 to below 1"),
            ("[store]", "[detector]\ntimeout_ms = 5\n[store]", "timeout_ms"),
            ("[store]", "[detector]\nmessage_ms = 9223372036854775807\n[store]", "a day"),
            (
                "[store]",
                "[service]\nnamed = true\nmutex = \"lamport\"\n[store]",
                "follows a leader",
            ),
            ("[store]", "[service]\nnamed = true\n[channel]\nfifo = true\n[store]", "TCP alone"),
            ("[store]", "[work]\nresource = \"127.0.0.1:1\"\n[store]", "entries or duration_ms"),
        ] {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD, "{from}");
            let (_, says) = Config::parse(&text).unwrap_err();
            assert!(says.contains(names), "{from} → {to}: {says}");
            assert!(!says.contains('\n'), "{says}");
        }
    }
}
