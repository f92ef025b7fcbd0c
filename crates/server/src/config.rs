//! Configuration of a member, and the validated configuration that results from it.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

pub use limits::ConfiguredLimits;
use url::parse_urls;
pub use url::{Url, UrlError};

pub(crate) mod limits;
pub(crate) mod url;

/// Configuration of a member, with the option names of etcd. By default the cluster has one member,
/// which only clients on the same machine can reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Name of this member in `initial_cluster`.
    pub name: String,
    /// Data directory; `NAME.tenure` if none is given.
    pub data_dir: Option<PathBuf>,
    /// URLs at which clients are served, separated by commas.
    pub listen_client_urls: String,
    /// Client URLs that the cluster publishes for this member, separated by commas. `None`: the
    /// cluster publishes `listen_client_urls`.
    pub advertise_client_urls: Option<String>,
    /// URL at which this member listens for the other members. Of several URLs, only the first one
    /// is used. `None`: the URL of this member in `initial_cluster`.
    pub listen_peer_urls: Option<String>,
    /// Peer URLs of this member. If `initial_cluster` is given, they must contain the URL of this
    /// member there. Otherwise the cluster publishes the first of them.
    pub initial_advertise_peer_urls: Option<String>,
    /// Additional URLs that serve only metrics, health, the version, and the page for operators.
    pub listen_metrics_urls: Option<String>,
    /// All members as `NAME=URL,…`, the same list on all members. `None`: only this member.
    pub initial_cluster: Option<String>,
    /// Lowest level of log events: `debug`, `info`, `warn` or `error`. The server ignores this
    /// option. The program that embeds the server writes the events and applies the option.
    pub log_level: Option<String>,
    /// Format of log events: `text` or `json`. The server ignores this option. The program that
    /// embeds the server writes the events and applies the option.
    pub log_format: Option<String>,
    /// Addresses at which this member dials other members, instead of their peer URLs:
    /// `NAME=HOST:PORT`, separated by commas. Tests put proxies there. Configuration files cannot
    /// set this option.
    #[serde(skip)]
    pub dial_peers: Option<String>,
    /// Name of the cluster. Members of another cluster are rejected.
    pub initial_cluster_token: String,
    /// State of the cluster at the first start of this member. Either the cluster is new, or this
    /// member replaces a removed member of an existing cluster.
    pub initial_cluster_state: InitialClusterState,
    /// Time between two heartbeats of a leader, in milliseconds.
    pub heartbeat_interval: u64,
    /// Shortest time without a heartbeat after which a member starts an election, in milliseconds.
    /// Each timeout is drawn at random, from this value to 1.5 times this value.
    pub election_timeout: u64,
    /// Number of log entries after which the member makes a snapshot that replaces these entries.
    /// The member skips a snapshot if the entries have less than half as many bytes as the last
    /// one. It also makes a snapshot when the entries have 64 MiB; if the number is 0, only then.
    pub snapshot_count: u64,
    /// Number of entries that the log keeps although the snapshot includes them, up to 16 MiB in
    /// total. A member that lacks only these entries needs no snapshot.
    #[serde(alias = "experimental-snapshot-catchup-entries")]
    pub snapshot_catchup_entries: u64,
    /// PEM file with the certificate chain for `https`. Requires `key_file`.
    pub cert_file: Option<PathBuf>,
    /// PEM file with the private key of the certificate. Requires `cert_file`.
    pub key_file: Option<PathBuf>,
    /// PEM file with the certificate authorities that issue client certificates. If given, clients
    /// must present a certificate.
    pub trusted_ca_file: Option<PathBuf>,
    /// True if clients must present a certificate. Requires `trusted_ca_file`, which implies this.
    pub client_cert_auth: bool,
    /// File with the private key of this member, as `tenure keys new` writes it. The member
    /// authenticates itself to the other members with this key.
    pub peer_private_key: Option<PathBuf>,
    /// File with the public keys of all members, in the order of the names of the members.
    pub peer_public_keys: Option<PathBuf>,
    /// Time for which an unused token is valid, in seconds; at least 1.
    pub auth_token_ttl: u64,
    /// Origins whose web pages may read responses over HTTP, separated by commas; `*` for all.
    pub cors: String,
    /// Quota of the store, in bytes; 0 means 2 GiB, and a negative value means no quota. A command
    /// that would exceed the quota raises the alarm NOSPACE. Puts and grants are then rejected.
    pub quota_backend_bytes: i64,
    /// Upper bound on the command of a client, in bytes; from 1 byte to 10 MiB.
    pub max_request_bytes: u64,
    /// Upper bound on the operations of a transaction; from 1 to 16,384.
    pub max_txn_ops: usize,
    /// Interval at which each watch stream sends progress notifications to the watchers that have
    /// requested them. The format is that of durations in Go: `10m`.
    #[serde(alias = "experimental-watch-progress-notify-interval")]
    pub watch_progress_notify_interval: String,
    /// True if the server may listen beyond this machine without authentication.
    pub insecure: bool,
}

/// Default peer URL of a member that is alone in its cluster. The member does not listen at this
/// URL.
const DEFAULT_PEER_URL: &str = "http://127.0.0.1:2380";

impl Default for Config {
    fn default() -> Self {
        Config {
            name: "default".into(),
            data_dir: None,
            listen_client_urls: "http://127.0.0.1:2379".into(),
            advertise_client_urls: None,
            listen_peer_urls: None,
            initial_advertise_peer_urls: None,
            listen_metrics_urls: None,
            initial_cluster: None,
            dial_peers: None,
            initial_cluster_token: "tenure".into(),
            initial_cluster_state: InitialClusterState::New,
            heartbeat_interval: 50,
            election_timeout: 250,
            snapshot_count: 10_000,
            snapshot_catchup_entries: 1024,
            cert_file: None,
            key_file: None,
            trusted_ca_file: None,
            client_cert_auth: false,
            log_level: None,
            log_format: None,
            peer_private_key: None,
            peer_public_keys: None,
            auth_token_ttl: 300,
            cors: "*".into(),
            quota_backend_bytes: 0,
            max_request_bytes: (3 << 20) / 2,
            max_txn_ops: 128,
            watch_progress_notify_interval: "10m".into(),
            insecure: false,
        }
    }
}

/// State of the cluster that a member without data joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InitialClusterState {
    /// A new cluster.
    #[default]
    New,
    /// An existing cluster. This member replaces a member of the same name, which the cluster has
    /// removed. The member waits until an operator adds it to the cluster.
    Existing,
}

/// Error in a configuration. The server reports it before it starts anything.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A URL is invalid or unsupported.
    #[error("{option}: {why}")]
    Url {
        /// Option that contains the URL.
        option: &'static str,
        /// Reason why the URL is invalid.
        why: UrlError,
    },
    /// The list of members is malformed.
    #[error("invalid member '{item}' in --initial-cluster: expected NAME=URL")]
    Member {
        /// Malformed item of the list.
        item: String,
    },
    /// The name of this member cannot be the name of a directory, and `--data-dir` is not set.
    #[error(
        "--name '{0}' is not usable as a directory name: set --data-dir, or choose another name"
    )]
    UnusableName(String),
    /// Two members have the same name.
    #[error("--initial-cluster has two members named '{0}': names must be unique")]
    DuplicateName(String),
    /// The peer URLs of two members have the same host and port.
    #[error("--initial-cluster has two members at '{0}': peer URLs must be unique")]
    DuplicatePeerUrl(String),
    /// The list of members does not contain this member.
    #[error("--initial-cluster has no member '{name}': expected --name to be one of {members}")]
    UnknownMember {
        /// Name of this member, which the list does not contain.
        name: String,
        /// Names of the members that the list contains.
        members: String,
    },
    /// A listener would serve other machines without the required protection.
    #[error(
        "{option}: {url} is reachable from other machines without authentication: listen on \
         127.0.0.1, {remedy}, or set --insecure if all who can reach it are trusted"
    )]
    Exposed {
        /// Option that contains the URL.
        option: &'static str,
        /// URL that other machines can reach.
        url: String,
        /// Options that protect the listener.
        remedy: &'static str,
    },
    /// An option is missing, invalid, or not supported by this build. The text states the problem.
    #[error("{0}")]
    OptionProblem(&'static str),
    /// A certificate or key cannot be used.
    #[error("{option}: {path}: {reason}")]
    Certificate {
        /// Option that names the file.
        option: &'static str,
        /// Path of the unusable file.
        path: String,
        /// Reason why the certificate or key is unusable.
        reason: String,
    },
    /// The election timeout is too short for the heartbeat interval, or this interval is 0.
    #[error(
        "invalid --election-timeout {election}: expected at least 3 times --heartbeat-interval \
         {heartbeat}, which must be at least 1"
    )]
    Timeouts {
        /// Heartbeat interval, in milliseconds.
        heartbeat: u64,
        /// Election timeout, in milliseconds.
        election: u64,
    },
    /// The value of an option is invalid.
    #[error("invalid value '{value}' for {option}: expected {expected}")]
    Invalid {
        /// Option, with its dashes.
        option: &'static str,
        /// Value that the user gave for the option.
        value: String,
        /// Values that the option allows.
        expected: &'static str,
    },
    /// A configuration file, a key file or the data directory cannot be read or is invalid.
    #[error("{path}: {reason}")]
    File {
        /// Path of the unusable file or directory.
        path: String,
        /// Reason why the file is unusable, with the number of the line if it is known.
        reason: String,
    },
}

/// Validated configuration. The fields `cluster_id` and `members` are the same on all members of
/// the cluster, except for the addresses in `members`. All other fields concern this member only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatedConfig {
    /// All members that the configuration names, ordered by name. The index of a member is the
    /// index of its process.
    pub members: Vec<ConfiguredMember>,
    /// Index of this member in `members`.
    pub me: usize,
    /// ID of the cluster: a hash of its token, and of the names and peer URLs of its members.
    pub cluster_id: u64,
    /// Listeners for clients.
    pub client_listeners: Vec<ListenAddress>,
    /// Listeners for metrics, health, the version, and the page for operators only.
    pub metrics_listeners: Vec<ListenAddress>,
    /// Certificate files for `https`. `None`: all listeners serve without TLS.
    pub certificates: Option<TlsFiles>,
    /// Address at which this member listens for the other members, if there are any.
    pub peer_address: SocketAddr,
    /// Data directory.
    pub directory: PathBuf,
    /// Client URLs that the cluster publishes for this member.
    pub client_urls: Vec<String>,
    /// Origins whose web pages may read responses over HTTP. The origin `*` means all origins.
    pub cors_origins: Vec<String>,
    /// Limits of the store and of requests.
    pub limits: ConfiguredLimits,
}

/// Address of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// Address to bind.
    pub address: SocketAddr,
    /// True if clients must use TLS.
    pub is_tls: bool,
}

/// Certificate files in PEM format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate chain of the server.
    pub cert: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
    /// Certificate authorities that issue client certificates; `None` if clients need no
    /// certificate.
    pub client_ca: Option<PathBuf>,
}

/// A member that the configuration names. The cluster may have removed this member in the meantime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredMember {
    /// ID of the member: a hash of the token of the cluster, the name of the member, and the URL of
    /// the member.
    pub id: u64,
    /// Name of the member.
    pub name: String,
    /// Peer URL of the member. Empty without `initial_cluster` and a peer URL of this member.
    pub peer_url: String,
    /// Address at which this process dials the member, as `host:port`.
    pub dial_address: String,
}

impl Config {
    /// Reads a TOML file whose keys are the names of options, without leading dashes.
    ///
    /// # Errors
    ///
    /// [`ConfigError::File`] if the file cannot be read or parsed.
    pub fn read(path: &std::path::Path) -> Result<Config, ConfigError> {
        let failed = |reason| ConfigError::File { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(path)
            .map_err(|error| failed(format!("cannot read the file: {error}")))?;
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|it| text[..it.start].matches('\n').count() + 1);
            let reason = error.message().replace('\n', " ");
            failed(format!("line {}: {reason}", line.unwrap_or(1)))
        })
    }

    /// Validates the configuration. Resolves the host names of listeners, which blocks the thread.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the invalid option and the remedy.
    pub fn validate(&self) -> Result<ValidatedConfig, ConfigError> {
        self.check()?;
        let clients = self.urls("--listen-client-urls", &self.listen_client_urls)?;
        let advertised = match &self.advertise_client_urls {
            None => clients.clone(),
            Some(given) => self.urls("--advertise-client-urls", given)?,
        };
        let members = self.members()?;
        let me = members.iter().position(|it| it.name == self.name);
        let me = me.ok_or_else(|| {
            let names: Vec<&str> = members.iter().map(|it| it.name.as_str()).collect();
            ConfigError::UnknownMember { name: self.name.clone(), members: names.join(", ") }
        })?;
        let peers = match (&self.listen_peer_urls, &self.initial_cluster) {
            (Some(given), _) => given,
            (None, Some(_)) => &members[me].peer_url,
            (None, None) => DEFAULT_PEER_URL,
        };
        let peers = self.peer_urls("--listen-peer-urls", peers)?;
        let metrics = self.listen_metrics_urls.as_deref();
        let metrics = metrics.map(|given| self.urls("--listen-metrics-urls", given));
        let metrics = metrics.transpose()?.unwrap_or_default();
        let certificates = self.certificates_for(&clients, &metrics)?;
        let is_single_member = members.len() == 1;
        let has_keys = self.has_peer_keys()?;
        let directory = self.data_dir.clone();
        let cors = self.cors.split(',');
        Ok(ValidatedConfig {
            client_listeners: self.listen_addresses("--listen-client-urls", &clients, false)?,
            // These listeners need no authentication: metrics reveal no keys or values, and clients
            // cannot change anything there.
            metrics_listeners: self.listen_addresses("--listen-metrics-urls", &metrics, true)?,
            certificates,
            peer_address: self.listen_addresses(
                "--listen-peer-urls",
                &peers[..1],
                is_single_member || has_keys,
            )?[0]
                .address,
            cluster_id: self.cluster_id(&members),
            members,
            me,
            directory: directory.unwrap_or_else(|| format!("{}.tenure", self.name).into()),
            client_urls: advertised.iter().map(Url::to_string).collect(),
            cors_origins: cors.filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            limits: self.limits()?,
        })
    }

    /// Checks the timeouts, the name, and the lifetime of tokens.
    fn check(&self) -> Result<(), ConfigError> {
        self.check_cluster_token()?;
        let (heartbeat, election) = (self.heartbeat_interval, self.election_timeout);
        if heartbeat == 0 || election < heartbeat.saturating_mul(3) {
            return Err(ConfigError::Timeouts { heartbeat, election });
        }
        if self.name.is_empty() {
            return Err(ConfigError::OptionProblem("--name must not be empty"));
        }
        if self.data_dir.is_none() && !is_directory_name(&self.name) {
            return Err(ConfigError::UnusableName(self.name.clone()));
        }
        if self.auth_token_ttl == 0 {
            let reason = "invalid value '0' for --auth-token-ttl: expected at least 1 second";
            return Err(ConfigError::OptionProblem(reason));
        }
        Ok(())
    }

    fn urls(&self, option: &'static str, text: &str) -> Result<Vec<Url>, ConfigError> {
        parse_urls(text).map_err(|why| ConfigError::Url { option, why })
    }

    /// Parses peer URLs. Accepts `https` only if there are peer keys or the cluster has one member,
    /// because members authenticate each other by these keys and not by certificates.
    fn peer_urls(&self, option: &'static str, text: &str) -> Result<Vec<Url>, ConfigError> {
        let urls = self.urls(option, text)?;
        if urls.iter().any(Url::is_tls) && !self.is_single_member() && !self.has_peer_keys()? {
            let reason = "peer URLs with https require keys, not certificates: set \
                          --peer-private-key and --peer-public-keys on all members (tenure keys \
                          new)";
            return Err(ConfigError::OptionProblem(reason));
        }
        Ok(urls)
    }

    /// Returns true if `initial_cluster` is not set or names at most one member.
    pub fn is_single_member(&self) -> bool {
        let others = self.initial_cluster.iter().flat_map(|all| all.split(','));
        others.filter(|item| !item.trim().is_empty()).count() <= 1
    }

    /// Returns the certificate files. Rejects URLs with `https` if there are none.
    fn certificates_for(
        &self,
        clients: &[Url],
        metrics: &[Url],
    ) -> Result<Option<TlsFiles>, ConfigError> {
        let certificates = self.certificates()?;
        let lacks = |urls: &[Url]| certificates.is_none() && urls.iter().any(Url::is_tls);
        Err(ConfigError::OptionProblem(if lacks(clients) {
            "--listen-client-urls with https requires --cert-file and --key-file"
        } else if lacks(metrics) {
            "--listen-metrics-urls with https requires --cert-file and --key-file"
        } else {
            return Ok(certificates);
        }))
    }

    fn certificates(&self) -> Result<Option<TlsFiles>, ConfigError> {
        let incomplete = |reason| Err(ConfigError::OptionProblem(reason));
        if self.client_cert_auth && self.trusted_ca_file.is_none() {
            return incomplete("--client-cert-auth requires --trusted-ca-file");
        }
        match (&self.cert_file, &self.key_file) {
            (Some(cert), Some(key)) => {
                let client_ca = self.trusted_ca_file.clone();
                Ok(Some(TlsFiles { cert: cert.clone(), key: key.clone(), client_ca }))
            }
            (None, None) if self.trusted_ca_file.is_none() => Ok(None),
            (None, None) => incomplete("--trusted-ca-file requires --cert-file and --key-file"),
            _ => incomplete("--cert-file and --key-file must be given together"),
        }
    }

    fn has_peer_keys(&self) -> Result<bool, ConfigError> {
        match (&self.peer_private_key, &self.peer_public_keys) {
            (Some(_), Some(_)) => Ok(true),
            (None, None) => Ok(false),
            _ => {
                let reason = "--peer-private-key and --peer-public-keys must be given together";
                Err(ConfigError::OptionProblem(reason))
            }
        }
    }

    /// Resolves the addresses of listeners. Rejects a URL without TLS that other machines can
    /// reach, unless `is_safe` is true or the option `insecure` is set.
    fn listen_addresses(
        &self,
        option: &'static str,
        urls: &[Url],
        is_safe: bool,
    ) -> Result<Vec<ListenAddress>, ConfigError> {
        let remedy = match option {
            "--listen-peer-urls" => "set --peer-private-key and --peer-public-keys",
            _ => "use https with --cert-file and --key-file",
        };
        let address = |url: &Url| {
            let why = |reason: String| UrlError::Unresolved { url: url.to_string(), reason };
            let found = url.address().to_socket_addrs().map_err(|it| why(it.to_string()));
            let found =
                found.and_then(|mut it| it.next().ok_or_else(|| why("no address found".into())));
            let found = found.map_err(|why| ConfigError::Url { option, why })?;
            let is_tls = url.is_tls();
            let is_allowed = self.insecure || is_safe || is_tls || found.ip().is_loopback();
            let exposed = || ConfigError::Exposed { option, url: url.to_string(), remedy };
            is_allowed.then_some(ListenAddress { address: found, is_tls }).ok_or_else(exposed)
        };
        urls.iter().map(address).collect()
    }

    fn members(&self) -> Result<Vec<ConfiguredMember>, ConfigError> {
        let advertised = self.initial_advertise_peer_urls.as_deref();
        let advertised = advertised.map(|given| self.advertised_peer_urls(given)).transpose()?;
        let mut members = Vec::new();
        for (name, url) in self.names_and_urls()? {
            let url = self.peer_urls("--initial-cluster", url)?.remove(0);
            let address = self.dial_address(name)?.unwrap_or_else(|| url.address());
            members.push(ConfiguredMember {
                id: hash_id(&[&self.initial_cluster_token, name, &url.to_string()]),
                name: name.to_owned(),
                peer_url: url.to_string(),
                dial_address: address,
            });
        }
        if self.initial_cluster.is_none() {
            // The IDs of the cluster and of its single member are computed from the default URL, so
            // that they stay the same if the URL of the member changes.
            members[0].peer_url =
                advertised.and_then(|all| all.into_iter().next()).unwrap_or_default();
        } else if let Some(advertised) = advertised
            && let Some(own) = members.iter().find(|it| it.name == self.name)
            && !advertised.contains(&own.peer_url)
        {
            return Err(ConfigError::Invalid {
                option: "--initial-advertise-peer-urls",
                value: advertised.join(","),
                expected: "the URL of this member in --initial-cluster",
            });
        }
        members.sort_by(|one, other| one.name.cmp(&other.name));
        let same = members.windows(2).find(|pair| pair[0].name == pair[1].name);
        if let Some(pair) = same {
            return Err(ConfigError::DuplicateName(pair[0].name.clone()));
        }
        let address = |it: &ConfiguredMember| {
            it.peer_url.split_once("://").map(|(_, address)| address.to_owned())
        };
        let mut addresses: Vec<String> = members.iter().filter_map(address).collect();
        addresses.sort_unstable();
        if let Some(pair) = addresses.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ConfigError::DuplicatePeerUrl(pair[0].clone()));
        }
        Ok(members)
    }

    /// Returns the name and the peer URL of each member in `initial_cluster`. Without this option,
    /// returns the name of this member and the default URL.
    fn names_and_urls(&self) -> Result<Vec<(&str, &str)>, ConfigError> {
        let Some(text) = &self.initial_cluster else {
            return Ok(vec![(&self.name, DEFAULT_PEER_URL)]);
        };
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let wrong = |item: &str| ConfigError::Member { item: item.to_owned() };
        items.map(|item| item.split_once('=').ok_or_else(|| wrong(item))).collect()
    }

    fn advertised_peer_urls(&self, given: &str) -> Result<Vec<String>, ConfigError> {
        let urls = self.peer_urls("--initial-advertise-peer-urls", given)?;
        Ok(urls.iter().map(Url::to_string).collect())
    }

    /// Returns the address of the member `name` in the option `dial_peers`. Returns `None` if the
    /// option does not name this member. The caller then dials the peer URL of the member.
    fn dial_address(&self, name: &str) -> Result<Option<String>, ConfigError> {
        for item in self.dial_peers.iter().flat_map(|all| all.split(',')) {
            let reason = "invalid --dial-peers: expected NAME=HOST:PORT, separated by commas";
            let (peer, address) = item.split_once('=').ok_or(ConfigError::OptionProblem(reason))?;
            if peer == name {
                return Ok(Some(address.to_owned()));
            }
        }
        Ok(None)
    }

    fn cluster_id(&self, members: &[ConfiguredMember]) -> u64 {
        let mut parts = vec![self.initial_cluster_token.clone()];
        match self.initial_cluster {
            Some(_) => {
                parts.extend(members.iter().map(|it| format!("{}={}", it.name, it.peer_url)));
            }
            None => parts.push(format!("{}={DEFAULT_PEER_URL}", self.name)),
        }
        hash_id(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Returns a hash of `words` as an ID: 64 bits that are never all 0.
fn hash_id(words: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for word in words {
        hash.update((word.len() as u64).to_be_bytes());
        hash.update(word);
    }
    let first: [u8; 8] = hash.finalize()[..8].try_into().expect("a hash is longer than 8 bytes");
    u64::from_be_bytes(first).max(1)
}

/// Returns true if `name`, followed by a suffix, can be the name of a directory.
fn is_directory_name(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests;
