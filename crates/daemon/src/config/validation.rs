//! Validation of a configuration. An error contains the reason and the remedy, in one line.

use tenure_runtime::transport::MAX_CLUSTER_NAME_BYTES;

use super::{CONFIG_FORMAT_VERSION, ClusterConfig, Config, ConfigError, FailureDetectorConfig};

/// Upper bound on the timeouts in a configuration, in milliseconds: a day.
const MAX_TIMEOUT_MS: u64 = 86_400_000;

impl Config {
    fn validate_network(&self) -> Result<(), String> {
        let pages = self.page.iter().flat_map(|page| &page.addresses);
        let listen = self.cluster.listen.iter().map(|it| ("cluster.listen", it));
        let all = self.cluster.addresses.iter().map(|it| ("cluster.addresses", it));
        for (name, address) in all.chain(listen).chain(pages.map(|it| ("page.addresses", it))) {
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            if port.is_none_or(|port| port == 0) {
                return Err(format!(
                    "invalid value '{address}' for {name}: expected host:port with a port above 0"
                ));
            }
        }
        let addresses = &self.cluster.addresses;
        let duplicate = addresses.iter().enumerate().find_map(|(place, address)| {
            let first = addresses[..place].iter().position(|it| it == address)?;
            Some((first + 1, place + 1, address))
        });
        if let Some((first, second, address)) = duplicate {
            return Err(format!(
                "duplicate address '{address}' in cluster.addresses for nodes {first} and \
                 {second}: addresses must be unique"
            ));
        }
        let (nodes, pages) =
            (self.node_count() as usize, self.page.as_ref().map(|it| &it.addresses));
        if let Some(pages) = pages.filter(|it| !it.is_empty() && it.len() != nodes) {
            return Err(format!(
                "page.addresses has {} pages, but cluster.addresses has {nodes} nodes: list the \
                 page of every node, or none",
                pages.len()
            ));
        }
        let (connect, least) = (self.connect_timeout_ms(), (2 * self.detector.message_ms).max(1));
        if connect < least {
            return Err(format!(
                "invalid value {connect} for channel.connect_ms: expected at least {least}, twice \
                 detector.message_ms"
            ));
        }
        Ok(())
    }

    fn validate_times(&self) -> Result<(), String> {
        let FailureDetectorConfig { period_ms, timeout_ms, increment_ms, longest_ms, message_ms } =
            self.detector;
        let times = [
            ("detector.period_ms", period_ms),
            ("detector.timeout_ms", timeout_ms),
            ("detector.increment_ms", increment_ms),
            ("detector.longest_ms", longest_ms),
            ("detector.message_ms", message_ms),
        ];
        let connect = self.channel.connect_ms.map(|ms| ("channel.connect_ms", ms));
        let long = times.into_iter().chain(connect).find(|(_, ms)| *ms > MAX_TIMEOUT_MS);
        if let Some((name, ms)) = long {
            return Err(format!(
                "invalid value {ms} for {name}: expected at most {MAX_TIMEOUT_MS}, a day"
            ));
        }
        if message_ms == 0 {
            return Err("invalid value 0 for detector.message_ms: expected at least 1".into());
        }
        if period_ms == 0 || timeout_ms <= period_ms {
            return Err(format!(
                "invalid value {timeout_ms} for detector.timeout_ms: expected more than \
                 detector.period_ms = {period_ms}, which must be above 0"
            ));
        }
        Ok(())
    }

    fn validate_names(&self) -> Result<(), String> {
        if !self.service.named {
            return Ok(());
        }
        let mutex = &self.service.mutex;
        if !mutex.starts_with("coordinated") {
            return Err(format!(
                "service.named = true requires a lock that follows a leader, such as \
                 coordinated:raft, but service.mutex is {mutex}"
            ));
        }
        if self.channel.fifo {
            return Err("service.named = true runs over plain TCP: remove channel.fifo".into());
        }
        if self.work.is_some() {
            return Err("[work] requires a single lock: remove service.named".into());
        }
        Ok(())
    }

    /// Validates the configuration of a program.
    ///
    /// # Errors
    ///
    /// [`ConfigError::InvalidValue`].
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.validate().map_err(|reason| ConfigError::InvalidValue { reason })
    }

    /// Validates the configuration. The error contains the reason and the remedy.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let n = self.cluster.addresses.len();
        let require = |holds: bool, reason: String| if holds { Ok(()) } else { Err(reason) };
        require(
            self.version == CONFIG_FORMAT_VERSION,
            format!("unsupported version = {}: this release reads version = 1", self.version),
        )?;
        let name_bytes = self.cluster.name.len();
        require(
            (1..=MAX_CLUSTER_NAME_BYTES).contains(&name_bytes),
            format!(
                "invalid value of {name_bytes} bytes for cluster.name: expected 1 to \
                 {MAX_CLUSTER_NAME_BYTES} bytes"
            ),
        )?;
        require(n > 0, "missing cluster.addresses: list every node, including this one".into())?;
        require(
            (1..=n).contains(&(self.cluster.me as usize)),
            format!(
                "invalid value {} for cluster.me: expected 1 to {n}, the number of addresses",
                self.cluster.me
            ),
        )?;
        let ClusterConfig { private_key, public_keys, insecure, .. } = &self.cluster;
        require(
            private_key.is_some() == public_keys.is_some(),
            "cluster.private_key and cluster.public_keys must be given together".into(),
        )?;
        require(
            !insecure || private_key.is_none(),
            "cluster.insecure = true has no effect with keys: remove it".into(),
        )?;
        self.validate_times()?;
        self.validate_network()?;
        self.validate_names()?;
        for (name, chance) in [("lose", self.channel.lose), ("duplicate", self.channel.duplicate)] {
            require(
                (0.0..1.0).contains(&chance),
                format!(
                    "invalid value {chance} for channel.{name}: expected a probability from 0 to \
                     below 1"
                ),
            )?;
            require(
                chance == 0.0 || self.channel.fifo,
                format!("channel.{name} requires channel.fifo = true, which repeats lost messages"),
            )?;
        }
        if let Some(work) = &self.work {
            require(
                work.entries.is_some() || work.duration_ms.is_some(),
                "[work] requires entries or duration_ms".into(),
            )?;
        }
        Ok(())
    }
}
