//! What a member is told when it starts: names, addresses, and where its data lie.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::bounds::Bounds;
use crate::url::{Url, UrlError, urls};

/// What a member is told when it starts, under the names that etcd has for it. What is left out is
/// as it is for one member on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The name of this member, by which `initial_cluster` knows it.
    pub name: String,
    /// The folder of its data; `NAME.tenure` where none is given.
    pub data_dir: Option<PathBuf>,
    /// Where clients are served: URLs with commas between them.
    pub listen_client_urls: String,
    /// Where clients reach this member, as other members tell them; `listen_client_urls` where
    /// nothing is given.
    pub advertise_client_urls: Option<String>,
    /// Where the other members reach this one; the URL of `initial_cluster` where none is given.
    pub listen_peer_urls: Option<String>,
    /// URL that other members are told for this one. It is the one of `initial_cluster`, if that is
    /// given.
    pub initial_advertise_peer_urls: Option<String>,
    /// Additional URLs at which only metrics and health are served.
    pub listen_metrics_urls: Option<String>,
    /// The members: `NAME=URL` of each, with commas between them, the same on all.
    pub initial_cluster: Option<String>,
    /// Where this member dials others if not at their URLs: `NAME=HOST:PORT` with commas between
    /// them. Somebody stands between members then, and may cut them off from each other: for tests,
    /// and nothing that a file says.
    #[serde(skip)]
    pub dial_peers: Option<String>,
    /// What the cluster is called: members of another are refused.
    pub initial_cluster_token: String,
    /// Whether this member begins with the others, or takes the place of one that was removed.
    pub initial_cluster_state: ClusterState,
    /// How often a leader says that it is there, in milliseconds.
    pub heartbeat_interval: u64,
    /// How long a leader may be silent at least before the others elect one, in milliseconds; they
    /// wait at most twice as long.
    pub election_timeout: u64,
    /// After how many entries the log is replaced by a snapshot of the store; 0 for however many,
    /// until they have 64 MiB.
    pub snapshot_count: u64,
    /// How many entries before a snapshot are kept, for members that are a little behind.
    pub snapshot_catchup_entries: u64,
    /// The certificate that clients are shown at `https`, and those that vouch for it: a PEM file.
    pub cert_file: Option<PathBuf>,
    /// The private key of that certificate: a PEM file.
    pub key_file: Option<PathBuf>,
    /// Who vouches for the certificates of clients, which they have to show then: a PEM file.
    pub trusted_ca_file: Option<PathBuf>,
    /// Whether clients have to show a certificate; so they do if `trusted_ca_file` is given.
    pub client_cert_auth: bool,
    /// The key by which the other members know this one: a file that `tenure keys new` makes.
    pub peer_private_key: Option<PathBuf>,
    /// The keys by which it knows them, in the order of their names.
    pub peer_public_keys: Option<PathBuf>,
    /// For how many seconds a token counts that a user is given for their password.
    pub auth_token_ttl: u64,
    /// Origins whose web pages may read responses over HTTP, with commas between them; `*` for all.
    pub cors: String,
    /// Size of the store, in bytes, at which puts and grants are rejected and the alarm NOSPACE is
    /// raised; 0 for 2 GiB, negative for no quota.
    pub quota_backend_bytes: i64,
    /// Largest command of a client, in bytes.
    pub max_request_bytes: u64,
    /// Most operations of a transaction.
    pub max_txn_ops: usize,
    /// Time after which an idle watcher that asks for progress notifications receives one, as Go
    /// writes durations: `10m`.
    #[serde(alias = "experimental-watch-progress-notify-interval")]
    pub watch_progress_notify_interval: String,
    /// Whether to listen beyond this machine though nobody proves there who they are.
    pub insecure: bool,
}

/// Peer URL of a member that is alone and was given none. It never listens there.
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
            initial_cluster_state: ClusterState::New,
            heartbeat_interval: 50,
            election_timeout: 250,
            snapshot_count: 10_000,
            snapshot_catchup_entries: 1024,
            cert_file: None,
            key_file: None,
            trusted_ca_file: None,
            client_cert_auth: false,
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

/// What a member without data comes into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClusterState {
    /// A cluster that begins with it.
    #[default]
    New,
    /// A cluster that has removed the member of this name, and is to take it in again.
    Existing,
}

/// Why a configuration cannot be used. Nothing was started.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A URL means nothing, or cannot be served.
    #[error("{option}: {why}")]
    Url {
        /// Which option it is in.
        option: &'static str,
        /// What is wrong with it.
        why: UrlError,
    },
    /// The list of members is not one.
    #[error("--initial-cluster: `{item}` is not NAME=URL")]
    Member {
        /// The part that is wrong.
        item: String,
    },
    /// The name cannot be that of a folder, and no other was given.
    #[error("--name {0}: no folder can be called so; say --data-dir, or another name")]
    Folder(String),
    /// Two members have one name.
    #[error("--initial-cluster: two members are called `{0}`; each needs a name of its own")]
    Twice(String),
    /// This member is none of the cluster's.
    #[error("--initial-cluster has no member `{name}`; its members are {members}")]
    Stranger {
        /// What this member is called.
        name: String,
        /// Who is there.
        members: String,
    },
    /// Anybody could come in.
    #[error(
        "{option}: {url} can be reached from other machines, and nobody proves there who they are; \
         listen on 127.0.0.1, {remedy}, or say --insecure if everybody who can reach it is trusted"
    )]
    Exposed {
        /// Which option it is in.
        option: &'static str,
        /// What can be reached.
        url: String,
        /// What would be right.
        remedy: &'static str,
    },
    /// An option needs another one.
    #[error("{0}")]
    Incomplete(&'static str),
    /// A certificate or a key cannot be used.
    #[error("{option}: {path}: {says}")]
    Certificate {
        /// Which option names it.
        option: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        says: String,
    },
    /// Times that make no sense together.
    #[error(
        "--election-timeout {election} must be at least 3 times --heartbeat-interval {heartbeat}, \
         and that at least 1"
    )]
    Times {
        /// In milliseconds.
        heartbeat: u64,
        /// In milliseconds.
        election: u64,
    },
    /// The value of an option cannot be used.
    #[error("invalid value '{value}' for {option}: expected {expected}")]
    Invalid {
        /// Option, with its dashes.
        option: &'static str,
        /// Value as given.
        value: String,
        /// Values that are allowed.
        expected: &'static str,
    },
    /// A file is not what it should be.
    #[error("{path}: {says}")]
    File {
        /// Which.
        path: String,
        /// What is wrong, with the line where it is known.
        says: String,
    },
}

/// Who the members are and what follows from that: the same on all of them but for `me`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// All members, in the order of their names: the order of their processes.
    pub members: Vec<Member>,
    /// Which of them this is.
    pub me: usize,
    /// What tells this cluster from others.
    pub cluster_id: u64,
    /// Where clients are served.
    pub clients: Vec<Place>,
    /// Where only metrics and health are served.
    pub metrics: Vec<Place>,
    /// What clients are shown at `https`.
    pub certificates: Option<Certificates>,
    /// Where this member listens for the others.
    pub peers: SocketAddr,
    /// Where its data lie.
    pub directory: PathBuf,
    /// Where clients reach this member.
    pub client_urls: Vec<String>,
    /// Origins whose web pages may read responses over HTTP.
    pub origins: Vec<String>,
    /// Limits of the store and of requests.
    pub bounds: Bounds,
}

/// Where clients are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address to listen at.
    pub address: SocketAddr,
    /// Whether they speak TLS.
    pub is_sealed: bool,
}

/// The files of certificates, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificates {
    /// The one that clients are shown, and those that vouch for it.
    pub own: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Those that vouch for the ones that clients have to show; they show none, if nothing.
    pub of_clients: Option<PathBuf>,
}

/// One member, as all know it from the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What tells it from the others for ever.
    pub id: u64,
    /// What it is called.
    pub name: String,
    /// Where the others reach it; empty for a member that is alone and was given none.
    pub peer_url: String,
    /// The same as `host:port`.
    pub address: String,
}

impl Config {
    /// Reads a TOML file whose keys are the options without their dashes in front.
    ///
    /// # Errors
    ///
    /// [`ConfigError::File`].
    pub fn read(path: &std::path::Path) -> Result<Config, ConfigError> {
        let failed = |says| ConfigError::File { path: path.display().to_string(), says };
        let text = std::fs::read_to_string(path)
            .map_err(|error| failed(format!("cannot be read: {error}")))?;
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|it| text[..it.start].matches('\n').count() + 1);
            let says = error.message().replace('\n', " ");
            failed(format!("line {}: {says}", line.unwrap_or(1)))
        })
    }

    /// What follows from it.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] says which option cannot be, and what would be right.
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        self.check()?;
        let clients = self.urls("--listen-client-urls", &self.listen_client_urls)?;
        let client_urls = match &self.advertise_client_urls {
            None => clients.iter().map(Url::to_string).collect(),
            Some(given) => {
                let given = self.urls("--advertise-client-urls", given)?;
                given.iter().map(Url::to_string).collect()
            }
        };
        let members = self.members()?;
        let me = members.iter().position(|it| it.name == self.name);
        let me = me.ok_or_else(|| {
            let names: Vec<&str> = members.iter().map(|it| it.name.as_str()).collect();
            ConfigError::Stranger { name: self.name.clone(), members: names.join(", ") }
        })?;
        let peers = match (&self.listen_peer_urls, &self.initial_cluster) {
            (Some(given), _) => given,
            (None, Some(_)) => &members[me].peer_url,
            (None, None) => DEFAULT_PEER_URL,
        };
        let peers = self.urls_of_peers("--listen-peer-urls", peers)?;
        let metrics = self.listen_metrics_urls.as_deref();
        let metrics = metrics.map(|given| self.urls("--listen-metrics-urls", given));
        let metrics = metrics.transpose()?.unwrap_or_default();
        let certificates = self.certificates()?;
        if certificates.is_none() && clients.iter().chain(&metrics).any(Url::is_sealed) {
            let says = "--listen-client-urls: https needs --cert-file and --key-file";
            return Err(ConfigError::Incomplete(says));
        }
        let is_alone = members.len() == 1;
        let has_keys = self.has_peer_keys()?;
        let directory = self.data_dir.clone();
        Ok(Plan {
            clients: self.places("--listen-client-urls", &clients, false)?,
            // Nothing can be changed there, nor are keys or values told.
            metrics: self.places("--listen-metrics-urls", &metrics, true)?,
            certificates,
            peers: self.places("--listen-peer-urls", &peers[..1], is_alone || has_keys)?[0].address,
            cluster_id: self.cluster_id(&members),
            members,
            me,
            directory: directory.unwrap_or_else(|| format!("{}.tenure", self.name).into()),
            client_urls,
            origins: self.cors.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            bounds: self.bounds()?,
        })
    }

    /// Checks the options that stand alone.
    fn check(&self) -> Result<(), ConfigError> {
        let (heartbeat, election) = (self.heartbeat_interval, self.election_timeout);
        if heartbeat == 0 || election < heartbeat.saturating_mul(3) {
            return Err(ConfigError::Times { heartbeat, election });
        }
        if self.name.is_empty() {
            return Err(ConfigError::Incomplete("--name is empty"));
        }
        if self.data_dir.is_none() && !is_folder(&self.name) {
            return Err(ConfigError::Folder(self.name.clone()));
        }
        if self.auth_token_ttl == 0 {
            let says =
                "--auth-token-ttl 0: no token would ever count; say how many seconds one does";
            return Err(ConfigError::Incomplete(says));
        }
        Ok(())
    }

    fn urls(&self, option: &'static str, text: &str) -> Result<Vec<Url>, ConfigError> {
        urls(text).map_err(|why| ConfigError::Url { option, why })
    }

    /// The same of members, who seal what they say by keys of their own.
    fn urls_of_peers(&self, option: &'static str, text: &str) -> Result<Vec<Url>, ConfigError> {
        let urls = self.urls(option, text)?;
        if urls.iter().any(Url::is_sealed) && !self.is_alone() && !self.has_peer_keys()? {
            let says = "peer URLs with https: members authenticate each other by keys, not by \
                        certificates; give all of them --peer-private-key and --peer-public-keys \
                        (tenure keys new)";
            return Err(ConfigError::Incomplete(says));
        }
        Ok(urls)
    }

    /// True if no other member is named.
    pub fn is_alone(&self) -> bool {
        let others = self.initial_cluster.iter().flat_map(|all| all.split(','));
        others.filter(|item| !item.trim().is_empty()).count() <= 1
    }

    fn certificates(&self) -> Result<Option<Certificates>, ConfigError> {
        let incomplete = |says| Err(ConfigError::Incomplete(says));
        if self.client_cert_auth && self.trusted_ca_file.is_none() {
            return incomplete("--client-cert-auth needs --trusted-ca-file");
        }
        match (&self.cert_file, &self.key_file) {
            (Some(own), Some(key)) => {
                let of_clients = self.trusted_ca_file.clone();
                Ok(Some(Certificates { own: own.clone(), key: key.clone(), of_clients }))
            }
            (None, None) if self.trusted_ca_file.is_none() => Ok(None),
            (None, None) => incomplete("--trusted-ca-file needs --cert-file and --key-file"),
            _ => incomplete("--cert-file and --key-file need each other"),
        }
    }

    fn has_peer_keys(&self) -> Result<bool, ConfigError> {
        match (&self.peer_private_key, &self.peer_public_keys) {
            (Some(_), Some(_)) => Ok(true),
            (None, None) => Ok(false),
            _ => {
                let says = "--peer-private-key and --peer-public-keys need each other";
                Err(ConfigError::Incomplete(says))
            }
        }
    }

    /// Where to listen, if that may be.
    fn places(
        &self,
        option: &'static str,
        urls: &[Url],
        is_safe: bool,
    ) -> Result<Vec<Place>, ConfigError> {
        let remedy = match option {
            "--listen-peer-urls" => "give members keys (--peer-private-key)",
            _ => "say https and give it a certificate (--cert-file)",
        };
        let address = |url: &Url| {
            let why = |says: String| UrlError::Unresolved { url: url.to_string(), says };
            let found = url.address().to_socket_addrs().map_err(|it| why(it.to_string()));
            let found = found.and_then(|mut it| it.next().ok_or_else(|| why("no address".into())));
            let found = found.map_err(|why| ConfigError::Url { option, why })?;
            let is_sealed = url.is_sealed();
            let may_be = self.insecure || is_safe || is_sealed || is_here(found.ip());
            let exposed = || ConfigError::Exposed { option, url: url.to_string(), remedy };
            may_be.then_some(Place { address: found, is_sealed }).ok_or_else(exposed)
        };
        urls.iter().map(address).collect()
    }

    fn members(&self) -> Result<Vec<Member>, ConfigError> {
        let alone = format!("{}={DEFAULT_PEER_URL}", self.name);
        let text = self.initial_cluster.as_deref().unwrap_or(&alone);
        let advertised = self.initial_advertise_peer_urls.as_deref();
        let advertised = advertised.map(|given| self.advertised(given)).transpose()?;
        let mut members = Vec::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let wrong = || ConfigError::Member { item: item.to_owned() };
            let (name, url) = item.split_once('=').ok_or_else(wrong)?;
            let url = self.urls_of_peers("--initial-cluster", url)?.remove(0);
            let address = self.dialed(name)?.unwrap_or_else(|| url.address());
            members.push(Member {
                id: number(&[&self.initial_cluster_token, name, &url.to_string()]),
                name: name.to_owned(),
                peer_url: url.to_string(),
                address,
            });
        }
        if self.initial_cluster.is_none() {
            // Its number is made of the default URL, as that of all its data is, whichever it has.
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
            return Err(ConfigError::Twice(pair[0].name.clone()));
        }
        Ok(members)
    }

    fn advertised(&self, given: &str) -> Result<Vec<String>, ConfigError> {
        let urls = self.urls_of_peers("--initial-advertise-peer-urls", given)?;
        Ok(urls.iter().map(Url::to_string).collect())
    }

    /// Where to dial a member, if not at its URL.
    fn dialed(&self, name: &str) -> Result<Option<String>, ConfigError> {
        for item in self.dial_peers.iter().flat_map(|all| all.split(',')) {
            let says = "--dial-peers: say NAME=HOST:PORT, with commas between them";
            let (whom, address) = item.split_once('=').ok_or(ConfigError::Incomplete(says))?;
            if whom == name {
                return Ok(Some(address.to_owned()));
            }
        }
        Ok(None)
    }

    fn cluster_id(&self, members: &[Member]) -> u64 {
        let mut parts = vec![self.initial_cluster_token.clone()];
        match self.initial_cluster {
            Some(_) => {
                parts.extend(members.iter().map(|it| format!("{}={}", it.name, it.peer_url)));
            }
            None => parts.push(format!("{}={DEFAULT_PEER_URL}", self.name)),
        }
        number(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// A number that is made of some words, and is not 0.
fn number(words: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for word in words {
        hash.update((word.len() as u64).to_be_bytes());
        hash.update(word);
    }
    let first: [u8; 8] = hash.finalize()[..8].try_into().expect("a hash is longer than 8 bytes");
    u64::from_be_bytes(first).max(1)
}

/// Whether an address can be reached from this machine alone.
fn is_here(address: IpAddr) -> bool {
    address.is_loopback()
}

/// Whether a folder beside others can be called so, with an ending.
fn is_folder(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests;
