//! `tenure serve`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tenure_server::{ClusterState, Config, ServeError, Server, Standing};
use tokio::signal::unix::SignalKind;
use tracing::warn;
use tracing_subscriber::filter::LevelFilter;

use super::etcd_flags::{self, EtcdFlags};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::node::{self, interrupted};
use crate::cmd::notify::Manager;

/// A lock and election server that clients of etcd talk to
///
/// Without options it is one durable member at http://127.0.0.1:2379, with its data in
/// default.tenure: `etcdctl lock jobs/nightly ./report.sh` works, and so does any client of etcd
/// 3.4 or later. Three members that know each other by --initial-cluster go on when one of them is
/// gone. On standard output it says where it serves and who leads, a line each time; its log goes
/// to standard error (RUST_LOG filters it). Interrupted or sent TERM it hands over the lead and
/// ends. A service manager is told that it is ready, and stops (sd_notify). Options are named as
/// etcd names them; --config reads them from a TOML file, and those given besides count more.
/// Without --config, variables ETCD_… set options that are not given (ETCD_NAME is --name). Other
/// flags of etcd are accepted where that is safe: docs/etcd-flags.md lists all of them.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A TOML file with these options, as in `name = "a"`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What this member is called
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The folder of its data [default: NAME.tenure]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Where clients are served [default: http://127.0.0.1:2379]
    #[arg(long, value_name = "URL,…")]
    listen_client_urls: Option<String>,
    /// Where clients reach this member [default: where they are served]
    #[arg(long, value_name = "URL,…")]
    advertise_client_urls: Option<String>,
    /// Where it listens for the other members [default: its own of --initial-cluster]
    #[arg(long, value_name = "URL")]
    listen_peer_urls: Option<String>,
    /// The URL that other members are told for this one; the same as in --initial-cluster
    #[arg(long, value_name = "URL")]
    initial_advertise_peer_urls: Option<String>,
    /// Serve /metrics and /health at these URLs as well, and nothing else there
    #[arg(long, value_name = "URL,…")]
    listen_metrics_urls: Option<String>,
    /// All members, the same on each of them [default: this one alone]
    #[arg(long, value_name = "NAME=URL,…")]
    initial_cluster: Option<String>,
    /// Where to dial others, if not at their URLs
    #[arg(long, value_name = "NAME=HOST:PORT,…", hide = true)]
    dial_peers: Option<String>,
    /// What the cluster is called: members of another are refused [default: tenure]
    #[arg(long, value_name = "TOKEN")]
    initial_cluster_token: Option<String>,
    /// `existing` for a member with an empty folder that takes the place of one that was removed
    /// [default: new]
    #[arg(long, value_name = "STATE", value_parser = cluster_state)]
    initial_cluster_state: Option<ClusterState>,
    /// How often a leader says that it is there, in milliseconds [default: 50]
    #[arg(long, value_name = "MS")]
    heartbeat_interval: Option<u64>,
    /// How long a leader may be silent at least, in milliseconds; half as long again at most
    /// [default: 250]
    #[arg(long, value_name = "MS")]
    election_timeout: Option<u64>,
    /// After how many entries the log is replaced by a snapshot [default: 10000]
    #[arg(long, value_name = "N")]
    snapshot_count: Option<u64>,
    /// How many entries before a snapshot are kept for members that are a little behind
    /// [default: 1024]
    #[arg(long, value_name = "N", alias = "experimental-snapshot-catchup-entries")]
    snapshot_catchup_entries: Option<u64>,
    /// The certificate that clients are shown at https, and those that vouch for it (PEM)
    #[arg(long, value_name = "FILE")]
    cert_file: Option<PathBuf>,
    /// The private key of that certificate (PEM)
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Who vouches for the certificates that clients have to show then (PEM)
    #[arg(long, value_name = "FILE")]
    trusted_ca_file: Option<PathBuf>,
    /// Clients have to show a certificate, as they do if --trusted-ca-file is given
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    client_cert_auth: Option<bool>,
    /// The key by which the other members know this one, as `tenure keys new` makes it
    #[arg(long, value_name = "FILE")]
    peer_private_key: Option<PathBuf>,
    /// The keys of all members, P1 being the first of their names
    #[arg(long, value_name = "FILE")]
    peer_public_keys: Option<PathBuf>,
    /// For how many seconds a token counts that a user gets for a password [default: 300]
    #[arg(long, value_name = "SECONDS")]
    auth_token_ttl: Option<u64>,
    /// Origins whose web pages may read responses over HTTP, `*` for all [default: *]
    #[arg(long, value_name = "ORIGIN,…")]
    cors: Option<String>,
    /// Reject puts and grants, and raise the alarm NOSPACE, when the store has this many bytes;
    /// 0 for 2 GiB, negative for no quota [default: 0]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    quota_backend_bytes: Option<i64>,
    /// Largest request of a client, up to 10485760 [default: 1572864]
    #[arg(long, value_name = "BYTES")]
    max_request_bytes: Option<u64>,
    /// Most operations of a transaction, up to 16384 [default: 128]
    #[arg(long, value_name = "N")]
    max_txn_ops: Option<usize>,
    /// Send a progress notification to idle watchers that ask for it this often [default: 10m]
    #[arg(long, value_name = "DURATION", alias = "watch-progress-notify-interval")]
    experimental_watch_progress_notify_interval: Option<String>,
    /// Log from this level on: debug, info, warn or error; RUST_LOG counts more [default: info]
    #[arg(long, value_name = "LEVEL", value_parser = log_level)]
    log_level: Option<LevelFilter>,
    /// Listen beyond this machine, though nobody proves there who they are
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    etcd: EtcdFlags,
}

/// What is to be run, and what is to be said about it.
struct Settings {
    config: Config,
    log_level: LevelFilter,
    /// Options without effect, each with the reason.
    ignored: Vec<(&'static str, &'static str)>,
    /// Variables that have no effect.
    variables: Vec<String>,
}

impl Options {
    /// Combines arguments, environment and file. An argument counts more than a variable. With a
    /// file, variables do not count, as for etcd.
    fn settings(mut self) -> Result<Settings, Failure> {
        let said = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let said = etcd_flags::environment(said);
        let mut variables = said.unknown;
        let base = match self.config.as_deref() {
            Some(file) => {
                variables.extend(said.arguments);
                Config::read(file).map_err(Failure::usage)?
            }
            None => {
                let said = of_environment(said.arguments)?;
                self.log_level = self.log_level.or(said.log_level);
                self.etcd = self.etcd.or(said.etcd.clone());
                said.over(Config::default())
            }
        };
        let (log_level, etcd) = (self.log_level.unwrap_or(LevelFilter::INFO), self.etcd.clone());
        let config = self.over(base);
        let is_safe = config.is_alone() || config.peer_private_key.is_some();
        let ignored = etcd.check(is_safe)?;
        Ok(Settings { config, log_level, ignored, variables })
    }

    /// The configuration that these options make of another one.
    fn over(self, of_file: Config) -> Config {
        Config {
            name: self.name.unwrap_or(of_file.name),
            data_dir: self.data_dir.or(of_file.data_dir),
            listen_client_urls: self.listen_client_urls.unwrap_or(of_file.listen_client_urls),
            advertise_client_urls: self.advertise_client_urls.or(of_file.advertise_client_urls),
            listen_peer_urls: self.listen_peer_urls.or(of_file.listen_peer_urls),
            initial_advertise_peer_urls: self
                .initial_advertise_peer_urls
                .or(of_file.initial_advertise_peer_urls),
            listen_metrics_urls: self.listen_metrics_urls.or(of_file.listen_metrics_urls),
            initial_cluster: self.initial_cluster.or(of_file.initial_cluster),
            dial_peers: self.dial_peers.or(of_file.dial_peers),
            initial_cluster_token: self
                .initial_cluster_token
                .unwrap_or(of_file.initial_cluster_token),
            initial_cluster_state: self
                .initial_cluster_state
                .unwrap_or(of_file.initial_cluster_state),
            heartbeat_interval: self.heartbeat_interval.unwrap_or(of_file.heartbeat_interval),
            election_timeout: self.election_timeout.unwrap_or(of_file.election_timeout),
            snapshot_count: self.snapshot_count.unwrap_or(of_file.snapshot_count),
            snapshot_catchup_entries: self
                .snapshot_catchup_entries
                .unwrap_or(of_file.snapshot_catchup_entries),
            cert_file: self.cert_file.or(of_file.cert_file),
            key_file: self.key_file.or(of_file.key_file),
            trusted_ca_file: self.trusted_ca_file.or(of_file.trusted_ca_file),
            client_cert_auth: self.client_cert_auth.unwrap_or(of_file.client_cert_auth),
            peer_private_key: self.peer_private_key.or(of_file.peer_private_key),
            peer_public_keys: self.peer_public_keys.or(of_file.peer_public_keys),
            auth_token_ttl: self.auth_token_ttl.unwrap_or(of_file.auth_token_ttl),
            cors: self.cors.unwrap_or(of_file.cors),
            quota_backend_bytes: self.quota_backend_bytes.unwrap_or(of_file.quota_backend_bytes),
            max_request_bytes: self.max_request_bytes.unwrap_or(of_file.max_request_bytes),
            max_txn_ops: self.max_txn_ops.unwrap_or(of_file.max_txn_ops),
            watch_progress_notify_interval: self
                .experimental_watch_progress_notify_interval
                .unwrap_or(of_file.watch_progress_notify_interval),
            insecure: self.insecure || of_file.insecure,
        }
    }
}

/// Reads variables, written as arguments, as options.
fn of_environment(arguments: Vec<String>) -> Result<Options, Failure> {
    let command = Options::augment_args(clap::Command::new("ETCD_…").no_binary_name(true));
    let read = command.try_get_matches_from(arguments);
    let read = read.and_then(|matches| Options::from_arg_matches(&matches));
    read.map_err(|error| {
        let says = error.to_string();
        let says = says.lines().next().unwrap_or_default().trim_start_matches("error: ");
        Failure::usage(format!("a variable ETCD_… of the environment: {says}"))
    })
}

fn log_level(text: &str) -> Result<LevelFilter, String> {
    match text {
        "debug" => Ok(LevelFilter::DEBUG),
        "info" => Ok(LevelFilter::INFO),
        "warn" => Ok(LevelFilter::WARN),
        "error" | "dpanic" | "panic" | "fatal" => Ok(LevelFilter::ERROR),
        _ => Err("expected debug, info, warn or error".into()),
    }
}

/// What to do with a member that its peers refuse for good.
const REPLACED: &str = "a member whose data directory was lost has to be removed, and added again \
                        with an empty one (`tenure member --help`)";

fn cluster_state(text: &str) -> Result<ClusterState, String> {
    match text {
        "new" => Ok(ClusterState::New),
        "existing" => Ok(ClusterState::Existing),
        _ => Err("say new or existing".into()),
    }
}

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    let Settings { config, log_level, ignored, variables } = options.settings()?;
    node::log_from(log_level);
    for (option, reason) in ignored {
        warn!(option = format!("--{option}"), reason, "option has no effect");
    }
    for variable in variables {
        warn!(variable, "environment variable has no effect");
    }
    take_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
        .map_err(|error| Failure::environment(format!("cannot start: {error}")))?;
    let served = runtime.block_on(serve(&config));
    served.map(|()| Status::Held).map_err(|error| match () {
        () if error.is_misconfiguration() => Failure::usage(error),
        () if matches!(error, ServeError::Failure(_)) && error.is_expulsion() => {
            Failure::expelled(format!("{error}; {REPLACED}"))
        }
        () if error.is_expulsion() => Failure::expelled(error),
        () => Failure::environment(error),
    })
}

/// How many threads serve: half as many as there are processors. What is asked is handed from one
/// task to the next, and those that wake each other cost more than they do; the disk, and what is
/// long, have threads of their own.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

async fn serve(config: &Config) -> Result<(), ServeError> {
    let manager = Manager::of_environment();
    // A file that may not grow any more is an error that says so, and not an end without a word.
    let too_large = SignalKind::from_raw(Signal::XFSZ.as_raw());
    let _too_large = tokio::signal::unix::signal(too_large);
    let server = Server::start(config).await?;
    let addresses = server.urls().join(", ");
    say(&format!("{} serves clients at {addresses}", config.name));
    let mut standings = server.standings();
    let told = manager.as_ref();
    let watch = async {
        let mut is_ready = false;
        while let Some(Standing { leader, term }) = standings.next().await {
            let line = match leader {
                Some(leader) => format!("{leader} leads in term {term}"),
                None => format!("nobody leads in term {term}"),
            };
            say(&line);
            let ready = if is_ready { "" } else { "READY=1\n" };
            is_ready = true;
            tell(told, &format!("{ready}STATUS={line}"));
        }
        std::future::pending().await
    };
    let stop = async {
        tokio::select! {
            () = interrupted() => {}
            () = watch => {}
        }
        tell(told, "STOPPING=1");
    };
    server.run(stop).await
}

fn tell(manager: Option<&Manager>, state: &str) {
    if let Some(manager) = manager {
        manager.tell(state);
    }
}

/// Lets this process have as many descriptors as the system allows: what most are given is meant
/// for programs that few connect to.
fn take_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Who may not goes on with fewer.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// A line on standard output. If nobody reads it any more, there is nobody to tell.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
