//! Builder of a node's configuration, for programs.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{
    AlgorithmConfig, CONFIG_FORMAT_VERSION, ChannelConfig, ClusterConfig, Config, ConfigError,
    DataDirectoryConfig, FailureDetectorConfig, TraceConfig,
};

/// Builder of a [`Config`]. Some methods set a value that must be the same on all nodes of a
/// cluster, and say so. Nodes with different values cannot work together.
///
/// ```
/// use tenure_daemon::Config;
///
/// let machines = ["127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"];
/// let config = Config::builder("billing")
///     .cluster_addresses(1, machines)
///     .directory("state/1")
///     .build()?;
/// assert_eq!(config.listen_address(), "127.0.0.1:7101");
///
/// let invalid =
///     Config::builder("billing").cluster_addresses(4, machines).directory("state/4").build();
/// let reason = invalid.unwrap_err().to_string();
/// assert_eq!(reason, "invalid value 4 for cluster.me: expected 1 to 3, the number of addresses");
/// # Ok::<(), tenure_daemon::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct ConfigBuilder {
    cluster: ClusterConfig,
    service: AlgorithmConfig,
    detector: FailureDetectorConfig,
    directory: Option<PathBuf>,
    trace: Option<TraceConfig>,
}

impl ConfigBuilder {
    pub(crate) fn new(name: String) -> Self {
        let cluster = ClusterConfig {
            name,
            me: 0,
            addresses: Vec::new(),
            listen: None,
            private_key: None,
            public_keys: None,
            insecure: false,
        };
        let service = AlgorithmConfig { named: true, ..AlgorithmConfig::default() };
        ConfigBuilder {
            cluster,
            service,
            detector: FailureDetectorConfig::default(),
            directory: None,
            trace: None,
        }
    }

    /// Sets the number of this node, from 1, and the addresses of all nodes as `host:port`, in the
    /// order of their numbers. The addresses must be the same on all nodes. The number of nodes
    /// never changes.
    pub fn cluster_addresses<A: Into<String>>(
        mut self,
        me: u32,
        addresses: impl IntoIterator<Item = A>,
    ) -> Self {
        self.cluster.me = me;
        self.cluster.addresses = addresses.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the address at which this node listens, as `host:port`. By default the node listens at
    /// its own entry in the list of addresses. A node in a container or behind a router may need a
    /// different address.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.cluster.listen = Some(address.into());
        self
    }

    /// Sets the directory with the state of this node. No other node may use this directory. If the
    /// directory is missing, it is created. There is no default, because peers reject a node that
    /// lost its state.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets the key files. The file `private` contains the private key of this node, and only its
    /// owner may read this file. The file `public` contains the public keys of all nodes. `tenure
    /// keys new --nodes 3` creates such files.
    ///
    /// Keys are required unless this node listens on loopback. They need the feature `keys`.
    pub fn key_files(mut self, private: impl Into<PathBuf>, public: impl Into<PathBuf>) -> Self {
        self.cluster.private_key = Some(private.into());
        self.cluster.public_keys = Some(public.into());
        self
    }

    /// Allows this node to listen beyond loopback without keys. Anyone who can reach the node, or
    /// intercept its traffic, can then impersonate any node, and read and change all messages.
    pub fn insecure(mut self) -> Self {
        self.cluster.insecure = true;
        self
    }

    /// Selects named locks, which the elected leader grants. `election` is the name of the election
    /// algorithm in `tenure list`. The default is `raft`. The algorithm must be the same on all
    /// nodes.
    pub fn named_locks(mut self, election: impl Into<String>) -> Self {
        self.service.election = election.into();
        self.service.mutex = format!("coordinated:{}", self.service.election);
        self.service.named = true;
        self
    }

    /// Selects a single lock without a name, instead of named locks. `mutex` is any mutual
    /// exclusion algorithm of `tenure list` that does not depend on a leader. `election` is the
    /// election algorithm, which is independent of the lock. Both algorithms must be the same on
    /// all nodes.
    pub fn single_lock(mut self, mutex: impl Into<String>, election: impl Into<String>) -> Self {
        let (mutex, election) = (mutex.into(), election.into());
        self.service = AlgorithmConfig { mutex, election, named: false, ..self.service };
        self
    }

    /// Sets the upper bound on the delay of a message, rounded up to milliseconds. The default is
    /// 40 ms. The bound must be the same on all nodes.
    ///
    /// Election timeouts and leases are multiples of this bound. If messages take longer than the
    /// bound, nodes hold unnecessary elections and lose locks.
    pub fn max_message_delay(mut self, delay: Duration) -> Self {
        self.detector.message_ms = milliseconds(delay);
        self
    }

    /// Sets the heartbeat interval, and the initial timeout: the time of silence after which a peer
    /// is suspected. Raises the upper bound on the timeout to `timeout` if necessary. Both times
    /// are rounded up to milliseconds. The defaults are 50 ms and 400 ms.
    pub fn failure_detector(mut self, heartbeat_interval: Duration, timeout: Duration) -> Self {
        self.detector.period_ms = milliseconds(heartbeat_interval);
        self.detector.timeout_ms = milliseconds(timeout);
        self.detector.longest_ms = self.detector.longest_ms.max(self.detector.timeout_ms);
        self
    }

    /// Sets the file for the trace, with one JSON line per event. A restarted node appends to this
    /// file. By default the node writes no trace.
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        self.trace = Some(TraceConfig { file, clocks: false, states: false, segment_kib: None });
        self
    }

    /// Returns the configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError::InvalidValue`] if a value is invalid or missing. The error contains the name
    /// of the field in [`Config`], and the remedy. Errors in key files are found only when the node
    /// starts.
    pub fn build(self) -> Result<Config, ConfigError> {
        let invalid = |reason| ConfigError::InvalidValue { reason };
        let directory = self.directory.ok_or_else(|| {
            invalid("missing store.directory: set a directory for this node alone".into())
        })?;
        let config = Config {
            version: CONFIG_FORMAT_VERSION,
            cluster: self.cluster,
            service: self.service,
            detector: self.detector,
            channel: ChannelConfig::default(),
            store: DataDirectoryConfig { directory },
            trace: self.trace,
            page: None,
            work: None,
        };
        config.check()?;
        Ok(config)
    }
}

/// Converts a duration to milliseconds, rounded up.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> ConfigBuilder {
        Config::builder("demo")
            .cluster_addresses(2, ["127.0.0.1:7101", "127.0.0.1:7102"])
            .directory("state")
    }

    #[test]
    fn defaults_match_files_except_for_named_locks() {
        let config = builder().build().unwrap();
        assert!(config.service.named);
        let nameless = AlgorithmConfig { named: false, ..config.service.clone() };
        assert_eq!(nameless, AlgorithmConfig::default());
        assert_eq!(config.detector, FailureDetectorConfig::default());
        assert_eq!((config.me().display_number(), config.node_count()), (2, 2));
    }

    #[test]
    fn durations_round_up() {
        let builder = builder().max_message_delay(Duration::from_micros(1));
        let builder =
            builder.failure_detector(Duration::from_millis(5), Duration::from_micros(10_001));
        let detector = builder.build().unwrap().detector;
        assert_eq!((detector.message_ms, detector.period_ms, detector.timeout_ms), (1, 5, 11));
    }

    #[test]
    fn every_error_names_the_mistake_on_one_line() {
        let empty = || Config::builder("demo").directory("state");
        let mistakes = [
            (empty(), "missing cluster.addresses"),
            (
                Config::builder("demo").cluster_addresses(1, ["127.0.0.1:1"]),
                "missing store.directory",
            ),
            (empty().cluster_addresses(0, ["127.0.0.1:1"]), "expected 1 to 1"),
            (empty().cluster_addresses(1, ["127.0.0.1"]), "host:port"),
            (builder().listen("7101"), "cluster.listen"),
            (builder().insecure().key_files("a", "b"), "has no effect"),
            (
                builder().failure_detector(Duration::from_millis(9), Duration::from_millis(9)),
                "timeout_ms",
            ),
            (builder().max_message_delay(Duration::MAX), "at most 86400000"),
        ];
        for (builder, expected) in mistakes {
            let reason = builder.build().unwrap_err().to_string();
            assert!(reason.contains(expected) && !reason.contains('\n'), "{expected}: {reason}");
        }
    }
}
