//! Configuration of a node, from a TOML file or built in code.

mod validation;

use std::io;
use std::net::SocketAddr;
#[cfg(feature = "file")]
use std::path::Path;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenure_algorithms::catalogue::{self, CatalogueError, Parameters};
use tenure_core::{Card, ProcessId, Variant};
use thiserror::Error;

use crate::builder::ConfigBuilder;

/// Version of the configuration format that this release reads and writes.
pub const CONFIG_FORMAT_VERSION: u32 = 1;

/// Configuration of a node. `tenure node --example` prints a commented file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Version of the configuration format: 1.
    pub version: u32,
    /// Addresses of the cluster's nodes, and the number of this node.
    pub cluster: ClusterConfig,
    /// Algorithms of lock and election that the nodes run.
    #[serde(default)]
    pub service: AlgorithmConfig,
    /// Settings of the failure detector.
    #[serde(default)]
    pub detector: FailureDetectorConfig,
    /// Faults to inject, and the adapter for reliable channels.
    #[serde(default)]
    pub channel: ChannelConfig,
    /// Directory with the state that survives a crash.
    pub store: DataDirectoryConfig,
    /// Settings of the trace; `None`: the node writes no trace.
    pub trace: Option<TraceConfig>,
    /// Settings of the live page; `None`: the node serves no page.
    pub page: Option<PageConfig>,
    /// Workload that uses the lock; `None`: the node only participates in the algorithms.
    pub work: Option<WorkloadConfig>,
}

/// Addresses of the cluster's nodes, and the number of this node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// Name of the cluster. Nodes of another cluster are rejected.
    pub name: String,
    /// Number of this node, from 1.
    pub me: u32,
    /// Addresses of all nodes as `host:port`, in the order of their numbers.
    pub addresses: Vec<String>,
    /// Address at which this node listens, as `host:port`. `None`: the node listens at its own
    /// entry in `addresses`. A node in a container or behind a router may need a different address.
    pub listen: Option<String>,
    /// File with the private key of this node, as `tenure keys new` writes it. Only its owner may
    /// read this file. Both `private_key` and `public_keys` are required, unless this node listens
    /// on loopback or `insecure` is true.
    pub private_key: Option<PathBuf>,
    /// File with the public keys of all nodes. It must be set if and only if `private_key` is set.
    pub public_keys: Option<PathBuf>,
    /// True if this node may listen beyond loopback without keys. Anyone who can reach the node, or
    /// intercept its traffic, can then impersonate any node, and read and change all messages.
    #[serde(default)]
    pub insecure: bool,
}

/// Algorithms that the nodes run. Must be the same on all nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlgorithmConfig {
    /// Name of the mutual exclusion algorithm. With `coordinated:ELECTION`, the leader that the
    /// algorithm `ELECTION` elects grants the lock.
    pub mutex: String,
    /// Name of the election algorithm. It must be `ELECTION` if `mutex` is `coordinated:ELECTION`.
    /// If `named` is true, `mutex` alone determines the election, and this field has no effect.
    pub election: String,
    /// Enabled variants of the mutual exclusion algorithm. With `coordinated:ELECTION`, also
    /// variants of the election algorithm.
    pub variants: Vec<String>,
    /// True if `variants` may contain variants with deliberate mistakes, which exist for
    /// demonstrations. Such a variant can break any property of the algorithm.
    pub allow_mistakes: bool,
    /// Quorums that replace those of the algorithm: lists such as `1,2/2,3/1,3`, or a name in
    /// [`QUORUM_KINDS`](tenure_algorithms::catalogue::QUORUM_KINDS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorums: Option<String>,
    /// Tree, for a lock that needs one: edges such as `1-2,1-3`, or a name in
    /// [`TREE_SHAPES`](tenure_algorithms::catalogue::TREE_SHAPES).
    pub tree: String,
    /// Edges of the network, such as `1-2,2-3,3-1`, for an algorithm whose processes send only to
    /// neighbours; `None` for a ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<String>,
    /// True if the nodes have many locks with names, and one leader grants all of them. This option
    /// requires an algorithm such as `coordinated:raft`, in which the leader grants the lock.
    pub named: bool,
}

/// Settings of the failure detector. All times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FailureDetectorConfig {
    /// Heartbeat interval.
    pub period_ms: u64,
    /// Initial timeout: the time of silence after which a peer is suspected.
    pub timeout_ms: u64,
    /// Increase of the timeout for a peer after each wrong suspicion of this peer.
    pub increment_ms: u64,
    /// Upper bound on the timeout of the failure detector. A smaller value than `timeout_ms` counts
    /// as `timeout_ms`.
    pub longest_ms: u64,
    /// Upper bound on the delay of a message. Election timeouts and leases are multiples of this
    /// bound.
    pub message_ms: u64,
}

/// Settings of the channels between nodes: injected faults, and an adapter for reliability.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelConfig {
    /// True if an adapter makes channels reliable: it repeats lost messages and drops duplicates.
    pub fifo: bool,
    /// Probability that a message is dropped, to test the adapter: at least 0, below 1. A value
    /// above 0 requires `fifo`.
    pub lose: f64,
    /// Probability that a message is sent twice: at least 0, below 1. A value above 0 requires
    /// `fifo`.
    pub duplicate: f64,
    /// Time limit for connecting to a peer, in milliseconds. The default is 400, or four times
    /// `message_ms` if that is longer.
    ///
    /// On Linux, a connection is closed if the host of the peer confirms nothing for twice this
    /// time, or for one second if that is longer.
    pub connect_ms: Option<u64>,
}

/// Directory with the state that survives a crash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataDirectoryConfig {
    /// Directory with the state of this node only. It is created if it is missing.
    pub directory: PathBuf,
}

/// Settings of the trace of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// File for the trace. A restarted node appends to this file.
    pub file: PathBuf,
    /// True if every line of the trace contains a vector clock.
    #[serde(default)]
    pub clocks: bool,
    /// True if the trace contains the state of the process after each step that changed it.
    #[serde(default)]
    pub states: bool,
    /// Size in KiB at which a file of the trace is full. The trace then continues in `NAME-2`,
    /// `NAME-3` and so on. `None`: no limit. The node deletes none of these files.
    pub segment_kib: Option<u64>,
}

/// Settings of the live page of this node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageConfig {
    /// Address of the page. If the port is 0, the system chooses a free port. If the address is not
    /// on loopback, a visitor needs the token in the URL that the node reports.
    pub listen: SocketAddr,
    /// Addresses of the pages of all nodes as `host:port`, in the order of their numbers. `tenure
    /// status` uses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// Workload that uses the lock: it repeatedly reads a counter, adds one, and writes the new value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    /// Address of the resource server with the counter.
    pub resource: SocketAddr,
    /// True if the workload takes the lock for each update. Without the lock, updates may be lost.
    #[serde(default = "default_true")]
    pub lock: bool,
    /// Maximum number of entries into the critical section. `None`: only `duration_ms` limits the
    /// workload. At least one of the two fields is required.
    pub entries: Option<u64>,
    /// Maximum duration of the workload in milliseconds. `None`: only `entries` limits the
    /// workload.
    pub duration_ms: Option<u64>,
    /// Time between the read and the write of the counter, in the critical section, in
    /// microseconds.
    #[serde(default)]
    pub hold_us: u64,
    /// Upper bound on the random pause between entries, in microseconds.
    #[serde(default)]
    pub think_us: u64,
    /// Seed of the random pauses in the workload, and of the injected faults.
    #[serde(default)]
    pub seed: u64,
}

const fn default_true() -> bool {
    true
}

impl AlgorithmConfig {
    /// Returns the parameters of the lock and election algorithms for a group of `size` processes.
    /// `max_delay` is the upper bound on message delays, in ticks.
    ///
    /// # Errors
    ///
    /// [`CatalogueError`] if the text of the quorums, the tree or the network is invalid.
    pub fn algorithm_parameters(
        &self,
        size: u32,
        max_delay: u64,
    ) -> Result<Parameters, CatalogueError> {
        let (tree, user_tree) = catalogue::parse_tree_or_shape(&self.tree)?;
        let quorums = self.quorums.as_deref().map(catalogue::parse_quorums_or_kind).transpose()?;
        let (quorums, user_quorums) = quorums.unwrap_or_default();
        Ok(Parameters {
            delay: max_delay,
            quorum_kind: quorums,
            user_quorums,
            tree_shape: tree,
            user_tree,
            graph: self.topology.as_deref().map(catalogue::parse_graph).transpose()?,
            variants: self.variants.clone(),
            ..Parameters::with_defaults(size)
        })
    }

    /// Checks the selected variants. Returns an error if a variant is a deliberate mistake and
    /// [`AlgorithmConfig::allow_mistakes`] is false. `card` is the [`Card`] of the configured
    /// algorithm.
    ///
    /// # Errors
    ///
    /// [`UnsoundVariantError`] with the first mistake.
    pub fn ensure_variants_allowed(&self, card: &Card) -> Result<(), UnsoundVariantError> {
        let is_enabled = |variant: &&Variant| self.variants.iter().any(|it| it == variant.name);
        let mut mistakes = card.variants.iter().filter(|it| !it.sound).filter(is_enabled);
        match mistakes.next().filter(|_| !self.allow_mistakes) {
            None => Ok(()),
            Some(Variant { name, description, .. }) => {
                Err(UnsoundVariantError { algorithm: self.mutex.clone(), name, description })
            }
        }
    }
}

/// Error: a variant with a deliberate mistake is selected, but no option permits such variants.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "variant '{name}' of {algorithm} is a deliberate mistake ({description}): remove it, or allow \
     it by --allow-mistakes or service.allow_mistakes = true"
)]
pub struct UnsoundVariantError {
    /// Name of the configured algorithm.
    pub algorithm: String,
    /// Name of the variant.
    pub name: &'static str,
    /// Description of the mistake: how the variant differs from the algorithm.
    pub description: &'static str,
}

impl Default for AlgorithmConfig {
    fn default() -> Self {
        AlgorithmConfig {
            mutex: "coordinated:raft".into(),
            election: "raft".into(),
            variants: Vec::new(),
            allow_mistakes: false,
            quorums: None,
            tree: "star".into(),
            topology: None,
            named: false,
        }
    }
}

impl Default for FailureDetectorConfig {
    fn default() -> Self {
        FailureDetectorConfig {
            period_ms: 50,
            timeout_ms: 400,
            increment_ms: 200,
            longest_ms: 5_000,
            message_ms: 40,
        }
    }
}

/// Error in a configuration. The node was not started.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The configuration file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Path of the configuration file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The configuration file is not valid TOML, or has an unknown field, a missing field or a
    /// wrong type.
    #[error("{}:{line}: {reason}", path.display())]
    Malformed {
        /// Path of the configuration file.
        path: PathBuf,
        /// Line of the error, from 1.
        line: usize,
        /// Reason why the configuration is invalid, and how to correct it.
        reason: String,
    },
    /// A value that the program passed to a [`ConfigBuilder`] is invalid or
    /// missing.
    #[error("{reason}")]
    InvalidValue {
        /// Reason why the configuration is invalid, and how to correct it.
        reason: String,
    },
    /// A value in the configuration file is invalid.
    #[error("{}: {reason}", path.display())]
    Invalid {
        /// Path of the configuration file.
        path: PathBuf,
        /// Reason why the configuration is invalid, and how to correct it.
        reason: String,
    },
}

impl Config {
    /// Begins a configuration for a node of the cluster with this name.
    pub fn builder(cluster: impl Into<String>) -> ConfigBuilder {
        ConfigBuilder::new(cluster.into())
    }

    /// Reads a configuration file in TOML, which has the fields of this type.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the place of the error and the remedy.
    #[cfg(feature = "file")]
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.into(), source })?;
        Config::parse(&text).map_err(|(line, reason)| match line {
            Some(line) => ConfigError::Malformed { path: path.into(), line, reason },
            None => ConfigError::Invalid { path: path.into(), reason },
        })
    }

    /// Parses the text of a file. The error contains the line, if it is known.
    #[cfg(feature = "file")]
    fn parse(text: &str) -> Result<Config, (Option<usize>, String)> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            (Some(line.unwrap_or(1)), error.message().replace('\n', " "))
        })?;
        config.validate().map(|()| config).map_err(|reason| (None, reason))
    }

    /// Returns the configuration as the text of a TOML file.
    ///
    /// # Panics
    ///
    /// Never: every value of this type has a text.
    #[cfg(feature = "file")]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration has a text in TOML")
    }

    /// Returns the name of the election algorithm that the node runs.
    pub(crate) fn election_name(&self) -> &str {
        let coordinated = self.service.mutex.strip_prefix("coordinated:");
        coordinated.filter(|_| self.service.named).unwrap_or(&self.service.election)
    }

    /// Returns the process ID of this node. The configuration must be valid.
    pub fn me(&self) -> ProcessId {
        ProcessId(self.cluster.me - 1)
    }

    /// Returns the number of nodes in the cluster.
    pub fn node_count(&self) -> u32 {
        ProcessId::from_index(self.cluster.addresses.len()).0
    }

    /// Returns the address at which this node listens, as `host:port`. The configuration must be
    /// valid.
    pub fn listen_address(&self) -> &str {
        let own = &self.cluster.addresses[self.me().index()];
        self.cluster.listen.as_ref().unwrap_or(own)
    }

    pub(crate) fn connect_timeout_ms(&self) -> u64 {
        self.channel.connect_ms.unwrap_or((4 * self.detector.message_ms).max(400))
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
    fn configuration_round_trips_as_toml() {
        let mut config = Config::parse(GOOD).unwrap();
        assert_eq!(config.me(), ProcessId(1));
        assert_eq!((config.listen_address(), config.connect_timeout_ms()), ("127.0.0.1:7102", 400));
        config.cluster.listen = Some("0.0.0.0:7102".to_owned());
        config.detector.message_ms = 150;
        assert_eq!((config.listen_address(), config.connect_timeout_ms()), ("0.0.0.0:7102", 600));
        config.channel.fifo = true;
        config.channel.lose = 0.1;
        assert_eq!(Config::parse(&config.to_toml()).unwrap(), config);
    }

    #[test]
    fn lock_determines_the_election_of_named_locks() {
        let mut config = Config::parse(GOOD).unwrap();
        config.service.mutex = "coordinated:bully".to_owned();
        assert_eq!(config.election_name(), "raft");
        config.service.named = true;
        assert_eq!(config.election_name(), "bully");
    }

    #[test]
    fn error_reports_the_line_of_the_mistake() {
        let text = "version = 1\n[cluster]\nname = 5\n";
        assert_eq!(Config::parse(text).unwrap_err().0, Some(3));
        assert_eq!(Config::parse("nonsense = 1\nversion = 1\n").unwrap_err().0, Some(1));
    }

    #[test]
    fn every_error_names_the_mistake_on_one_line() {
        for (from, to, expected) in [
            ("version = 1", "version = 2", "version = 2"),
            ("\"demo\"", "\"\"", "1 to 128 bytes"),
            ("me = 2", "me = 3", "1 to 2"),
            ("me = 2", "me = 0", "1 to 2"),
            ("me = 2", "me = \"two\"", "expected u32"),
            ("7102", "port", "host:port"),
            ("7102", "0", "host:port"),
            ("[store]", "listen = \"7101\"\n[store]", "cluster.listen"),
            ("7102", "7101", "for nodes 1 and 2"),
            ("[store]", "[channel]\nconnect_ms = 79\n[store]", "at least 80"),
            ("[store]", "[channel]\nconnect_ms = 86400001\n[store]", "at most 86400000"),
            ("[store]", "private_key = \"p2.key\"\n[store]", "given together"),
            ("directory", "folder", "folder"),
            ("[store]", "[channel]\nlose = 0.5\n[store]", "channel.fifo"),
            ("[store]", "[channel]\nfifo = true\nlose = 1.5\n[store]", "from 0 to below 1"),
            ("[store]", "[detector]\ntimeout_ms = 5\n[store]", "timeout_ms"),
            ("[store]", "[detector]\nmessage_ms = 0\n[store]", "at least 1"),
            (
                "[store]",
                "[detector]\nmessage_ms = 9223372036854775807\n[store]",
                "at most 86400000",
            ),
            (
                "[store]",
                "[service]\nnamed = true\nmutex = \"lamport\"\n[store]",
                "follows a leader",
            ),
            ("[store]", "[service]\nnamed = true\n[channel]\nfifo = true\n[store]", "plain TCP"),
            ("[store]", "[work]\nresource = \"127.0.0.1:1\"\n[store]", "entries or duration_ms"),
        ] {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD, "{from}");
            let (_, reason) = Config::parse(&text).unwrap_err();
            assert!(reason.contains(expected), "{from} → {to}: {reason}");
            assert!(!reason.contains('\n'), "{reason}");
        }
    }
}
