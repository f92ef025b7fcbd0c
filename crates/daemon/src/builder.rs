//! A configuration that is made in code.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{
    Channel, Cluster, Config, ConfigError, Detector, Service, Store, Trace, VERSION,
};

/// Makes a [`Config`] step by step. What is the same on all nodes of a cluster is marked so below;
/// nodes that differ there do not understand each other.
///
/// ```
/// use tenure_daemon::Config;
///
/// let machines = ["127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"];
/// let config = Config::builder("billing").node(1, machines).directory("state/1").build()?;
/// assert_eq!(config.listen(), "127.0.0.1:7101");
///
/// let mistaken = Config::builder("billing").node(4, machines).directory("state/4").build();
/// let says = mistaken.unwrap_err().to_string();
/// assert_eq!(says, "cluster.me = 4; with 3 addresses it is one of 1 to 3");
/// # Ok::<(), tenure_daemon::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it does nothing until `build` makes a configuration of it"]
pub struct Builder {
    cluster: Cluster,
    service: Service,
    detector: Detector,
    directory: Option<PathBuf>,
    trace: Option<Trace>,
}

impl Builder {
    pub(crate) fn of(name: String) -> Self {
        let cluster = Cluster {
            name,
            me: 0,
            addresses: Vec::new(),
            listen: None,
            private_key: None,
            public_keys: None,
            insecure: false,
        };
        let service = Service { named: true, ..Service::default() };
        Builder { cluster, service, detector: Detector::default(), directory: None, trace: None }
    }

    /// Which node this is, from 1, and `host:port` of every node, the first node's first, this one
    /// included: where the others reach it. The addresses are the same on all nodes, and how many
    /// there are never changes.
    pub fn node<A: Into<String>>(
        mut self,
        me: u32,
        addresses: impl IntoIterator<Item = A>,
    ) -> Self {
        self.cluster.me = me;
        self.cluster.addresses = addresses.into_iter().map(Into::into).collect();
        self
    }

    /// `host:port` at which this node listens, where that is not its own address: in a container,
    /// or behind a router, the others may know it by another.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.cluster.listen = Some(address.into());
        self
    }

    /// The directory that belongs to this node alone, for what it must find again after a crash. It
    /// is made if it is missing. There is no default: a node that comes back without what it saved
    /// is refused by its peers.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// The file with this node's private key, which nobody else may read, and the file with the
    /// public keys of all nodes: `tenure keys new --nodes 3` makes them. Needed unless this node
    /// listens on loopback; for programs that are built with the feature `keys`.
    pub fn keys(mut self, private: impl Into<PathBuf>, public: impl Into<PathBuf>) -> Self {
        self.cluster.private_key = Some(private.into());
        self.cluster.public_keys = Some(public.into());
        self
    }

    /// Lets a node without keys listen beyond loopback: then whoever reaches it, or is on the way,
    /// can be any node, and read and change everything.
    pub fn insecure(mut self) -> Self {
        self.cluster.insecure = true;
        self
    }

    /// Whom the locks follow: an election of `tenure list`, `raft` unless something is said. The
    /// same on all nodes.
    pub fn election(mut self, election: impl Into<String>) -> Self {
        self.service.election = election.into();
        self.service.mutex = format!("coordinated:{}", self.service.election);
        self.service.named = true;
        self
    }

    /// One lock without a name instead of many by name: any algorithm of `tenure list`, which does
    /// not follow a leader, with this election beside it. The same on all nodes.
    pub fn one_lock(mut self, mutex: impl Into<String>, election: impl Into<String>) -> Self {
        let (mutex, election) = (mutex.into(), election.into());
        self.service = Service { mutex, election, named: false, ..self.service };
        self
    }

    /// The longest that a message may take, rounded up to milliseconds; 40 ms unless something is
    /// said. Elections and leases last multiples of it: where messages take longer, leaders and
    /// entries end that need not. The same on all nodes.
    pub fn message_time(mut self, longest: Duration) -> Self {
        self.detector.message_ms = milliseconds(longest);
        self
    }

    /// How often a node says that it is there, and how long it may be silent at first until it is
    /// suspected, rounded up to milliseconds; 50 ms and 400 ms unless something is said.
    pub fn suspects(mut self, period: Duration, after: Duration) -> Self {
        self.detector.period_ms = milliseconds(period);
        self.detector.timeout_ms = milliseconds(after);
        self.detector.longest_ms = self.detector.longest_ms.max(self.detector.timeout_ms);
        self
    }

    /// Writes down what happens, a line of JSON per event; a node that comes back appends to it.
    /// Nothing is written unless this is said.
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        self.trace = Some(Trace { file, clocks: false, states: false, segment_kib: None });
        self
    }

    /// The configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Unbuilt`], with what is wrong or missing, and what would be right. Fields are
    /// called what they are called in a [`Config`]. Nothing was started, and no file was looked at.
    pub fn build(self) -> Result<Config, ConfigError> {
        let unbuilt = |says| ConfigError::Unbuilt { says };
        let directory = self.directory.ok_or_else(|| {
            unbuilt("store.directory is missing; name one that belongs to this node alone".into())
        })?;
        let config = Config {
            version: VERSION,
            cluster: self.cluster,
            service: self.service,
            detector: self.detector,
            channel: Channel::default(),
            store: Store { directory },
            trace: self.trace,
            page: None,
            work: None,
            log: None,
        };
        config.validate().map_err(unbuilt)?;
        Ok(config)
    }
}

/// Rounded up.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> Builder {
        Config::builder("demo").node(2, ["127.0.0.1:7101", "127.0.0.1:7102"]).directory("state")
    }

    #[test]
    fn what_is_left_out_is_as_in_a_file_but_that_locks_have_names() {
        let config = builder().build().unwrap();
        assert!(config.service.named);
        let nameless = Service { named: false, ..config.service.clone() };
        assert_eq!(nameless, Service::default());
        assert_eq!(config.detector, Detector::default());
        assert_eq!((config.me().number(), config.size()), (2, 2));
    }

    #[test]
    fn times_are_rounded_up() {
        let builder = builder().message_time(Duration::from_micros(1));
        let builder = builder.suspects(Duration::from_millis(5), Duration::from_micros(10_001));
        let detector = builder.build().unwrap().detector;
        assert_eq!((detector.message_ms, detector.period_ms, detector.timeout_ms), (1, 5, 11));
    }

    #[test]
    fn every_mistake_is_a_sentence_that_names_it() {
        let plain = || Config::builder("demo").directory("state");
        let mistakes = [
            (plain(), "cluster.addresses is empty"),
            (Config::builder("demo").node(1, ["127.0.0.1:1"]), "store.directory is missing"),
            (plain().node(0, ["127.0.0.1:1"]), "it is one of 1 to 1"),
            (plain().node(1, ["127.0.0.1"]), "host:port"),
            (builder().listen("7101"), "cluster.listen"),
            (builder().insecure().keys("a", "b"), "remove it"),
            (builder().suspects(Duration::from_millis(9), Duration::from_millis(9)), "timeout_ms"),
            (builder().message_time(Duration::MAX), "a day"),
        ];
        for (builder, names) in mistakes {
            let says = builder.build().unwrap_err().to_string();
            assert!(says.contains(names) && !says.contains('\n'), "{names}: {says}");
        }
    }
}
