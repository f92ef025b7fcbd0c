//! `tenure serve`: runs a member of a lock service.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rustix::process::{self, Resource, Rlimit, getrlimit, setrlimit};
use tenure_server::{Config, InitialClusterState, LeaderStatus, PeerKeys, ServeError, Server};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::warn;
use tracing_subscriber::filter::LevelFilter;

use super::etcd_flags::{self, GivenEtcdFlags};
use super::span_export::SpanExport;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::node::{LogFormat, wait_for_interrupt};
use crate::cmd::notify::{ServiceManager, notify_service_manager};
use crate::cmd::output::print_flushed_line;
use crate::cmd::{parse_options, usage_error};

/// Run a lock and election server for clients of etcd
///
/// Without options the server is a single durable member at http://127.0.0.1:2379, with its data in
/// default.tenure. Clients of etcd 3.4 or later can use it, as in `etcdctl lock jobs/nightly
/// ./report.sh`. A cluster of three members, configured by --initial-cluster, tolerates the failure
/// of one. The server prints its URLs and each change of the leader to standard output. The log
/// goes to standard error; RUST_LOG filters it. On SIGINT or SIGTERM the server transfers
/// leadership and exits. On SIGHUP it reads the keys of the members again. It notifies a service
/// manager when it serves clients and when it stops (sd_notify).
///
/// Options have the names of etcd's flags. --config reads them from a TOML file; options on the
/// command line take precedence. Without --config, variables ETCD_… set options that are not given
/// and that etcd 3.5 has (ETCD_NAME sets --name). Other flags of etcd are accepted if that is safe:
/// see docs/etcd-flags.md.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure serve
  tenure serve --config a.toml
  tenure serve --name a --data-dir /var/lib/tenure/a")]
pub(crate) struct Options {
    /// TOML file with these options, as in `name = "a"`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of this member [default: default]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Data directory [default: NAME.tenure]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// URLs at which to serve clients [default: http://127.0.0.1:2379]
    #[arg(long, value_name = "URL,…")]
    listen_client_urls: Option<String>,
    /// URLs at which clients reach this member [default: --listen-client-urls]
    #[arg(long, value_name = "URL,…")]
    advertise_client_urls: Option<String>,
    /// URL at which to listen for other members [default: its URL in --initial-cluster]
    #[arg(long, value_name = "URL")]
    listen_peer_urls: Option<String>,
    /// Peer URL of this member; must equal its URL in --initial-cluster
    #[arg(long, value_name = "URL")]
    initial_advertise_peer_urls: Option<String>,
    /// Also serve /metrics, health probes, /version and /dashboard (without names of locks) here
    #[arg(long, value_name = "URL,…")]
    listen_metrics_urls: Option<String>,
    /// All members of the cluster; the same on each member [default: this member only]
    #[arg(long, value_name = "NAME=URL,…")]
    initial_cluster: Option<String>,
    /// Addresses at which to dial other members, if not at their URLs
    #[arg(long, value_name = "NAME=HOST:PORT,…", hide = true)]
    dial_peers: Option<String>,
    /// Name of the cluster; members with another name are rejected [default: tenure]
    #[arg(long, value_name = "TOKEN")]
    initial_cluster_token: Option<String>,
    /// `existing` for a member that joins with an empty data directory in place of a removed one
    /// [default: new]
    #[arg(long, value_name = "STATE", value_parser = cluster_state)]
    initial_cluster_state: Option<InitialClusterState>,
    /// Heartbeat interval of the leader, in milliseconds [default: 50]
    #[arg(long, value_name = "MS")]
    heartbeat_interval: Option<u64>,
    /// Minimum election timeout, in milliseconds; the maximum is 1.5 times as long [default: 250]
    #[arg(long, value_name = "MS")]
    election_timeout: Option<u64>,
    /// Number of log entries after which a snapshot is taken [default: 10000]
    #[arg(long, value_name = "N")]
    snapshot_count: Option<u64>,
    /// Number of log entries before a snapshot to keep for slow members [default: 1024]
    #[arg(long, value_name = "N", alias = "experimental-snapshot-catchup-entries")]
    snapshot_catchup_entries: Option<u64>,
    /// Certificate chain for https URLs (PEM)
    #[arg(long, value_name = "FILE")]
    cert_file: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// CA certificates that client certificates must be signed by (PEM)
    #[arg(long, value_name = "FILE")]
    trusted_ca_file: Option<PathBuf>,
    /// Require client certificates; implied by --trusted-ca-file
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    client_cert_auth: Option<bool>,
    /// Private key of this member for peer connections, as made by `tenure keys new`
    #[arg(long, value_name = "FILE")]
    peer_private_key: Option<PathBuf>,
    /// Public keys of all members; P1 is the first member by name
    #[arg(long, value_name = "FILE")]
    peer_public_keys: Option<PathBuf>,
    /// Lifetime of an authentication token, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS")]
    auth_token_ttl: Option<u64>,
    /// Origins that may read responses over HTTP (CORS); `*` for all [default: *]
    #[arg(long, value_name = "ORIGIN,…")]
    cors: Option<String>,
    /// Size of the store in bytes from which puts and grants are rejected and the alarm NOSPACE is
    /// raised; 0 for 2 GiB, negative for no quota [default: 0]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    quota_backend_bytes: Option<i64>,
    /// Maximum size of a request in bytes, up to 10485760 [default: 1572864]
    #[arg(long, value_name = "BYTES")]
    max_request_bytes: Option<u64>,
    /// Maximum number of operations in a transaction, up to 16384 [default: 128]
    #[arg(long, value_name = "N")]
    max_txn_ops: Option<usize>,
    /// Interval of progress notifications to idle watchers that request them [default: 10m]
    #[arg(long, value_name = "DURATION", alias = "watch-progress-notify-interval")]
    experimental_watch_progress_notify_interval: Option<String>,
    /// Log level: debug, info, warn or error; RUST_LOG takes precedence [default: info]
    #[arg(long, value_name = "LEVEL", value_parser = log_level)]
    log_level: Option<LevelFilter>,
    /// Format of the log [default: text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// Allow listening beyond loopback without authentication of members and clients
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    etcd: GivenEtcdFlags,
}

/// Upper bound on `--election-timeout`, in milliseconds. etcd has the same bound. With a longer
/// timeout, a cluster would appear to have stopped after the failure of its leader.
const MAX_ELECTION_TIMEOUT: u64 = 50_000;

/// Settings of a member and of its diagnostic log, and the warnings to print at the start.
struct Settings {
    config: Config,
    log_level: LevelFilter,
    log_format: LogFormat,
    /// Flags of etcd that the user gave and that have no effect. Each pair contains the name of the
    /// flag and the reason.
    ignored: Vec<(&'static str, &'static str)>,
    /// Names of the given environment variables `ETCD_…` that have no effect.
    variables: Vec<String>,
}

impl Options {
    /// Combines arguments, environment variables and the configuration file. Arguments take
    /// precedence over the file and over variables. If there is a file, variables are ignored, as
    /// in etcd.
    fn settings(mut self) -> Result<Settings, Failure> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let environment = etcd_flags::arguments_from_environment(variables);
        let mut variables = environment.unknown;
        let base = match self.config.take() {
            Some(file) => {
                variables.extend(environment.known);
                let config = Config::read(&file).map_err(Failure::usage)?;
                self.apply_log_options(&file, &config)?;
                config
            }
            None => {
                let environment = options_from(environment.arguments)?;
                self.log_level = self.log_level.or(environment.log_level);
                self.log_format = self.log_format.or(environment.log_format);
                self.etcd = self.etcd.with_fallback(environment.etcd.clone());
                environment.apply_to(Config::default())
            }
        };
        let log_level = self.log_level.unwrap_or(LevelFilter::INFO);
        let (log_format, etcd) = (self.log_format.unwrap_or_default(), self.etcd.clone());
        let config = self.apply_to(base);
        if config.election_timeout > MAX_ELECTION_TIMEOUT {
            let election = config.election_timeout;
            return Err(Failure::usage(format!(
                "invalid value '{election}' for --election-timeout: expected at most \
                 {MAX_ELECTION_TIMEOUT} ms"
            )));
        }
        let is_safe = config.is_single_member() || config.peer_private_key.is_some();
        let ignored = etcd.check_and_list_ignored(is_safe)?;
        Ok(Settings { config, log_level, log_format, ignored, variables })
    }

    /// Takes the options of the log from `config`, which was read from `file`, unless arguments
    /// have set them. Returns an error if `config` contains an invalid value for such an option.
    fn apply_log_options(&mut self, file: &Path, config: &Config) -> Result<(), Failure> {
        let invalid = |option: &str, value: &str, reason: String| {
            let file = file.display();
            Failure::usage(format!("{file}: invalid value '{value}' for '{option}': {reason}"))
        };
        if let Some(value) = &config.log_level {
            let level = log_level(value).map_err(|reason| invalid("log-level", value, reason))?;
            self.log_level = self.log_level.or(Some(level));
        }
        if let Some(value) = &config.log_format {
            let format = LogFormat::from_str(value, false)
                .map_err(|_| invalid("log-format", value, "expected text or json".into()))?;
            self.log_format = self.log_format.or(Some(format));
        }
        Ok(())
    }

    fn apply_to(self, base: Config) -> Config {
        Config {
            name: self.name.unwrap_or(base.name),
            data_dir: self.data_dir.or(base.data_dir),
            listen_client_urls: self.listen_client_urls.unwrap_or(base.listen_client_urls),
            advertise_client_urls: self.advertise_client_urls.or(base.advertise_client_urls),
            listen_peer_urls: self.listen_peer_urls.or(base.listen_peer_urls),
            initial_advertise_peer_urls: self
                .initial_advertise_peer_urls
                .or(base.initial_advertise_peer_urls),
            listen_metrics_urls: self.listen_metrics_urls.or(base.listen_metrics_urls),
            initial_cluster: self.initial_cluster.or(base.initial_cluster),
            dial_peers: self.dial_peers.or(base.dial_peers),
            initial_cluster_token: self.initial_cluster_token.unwrap_or(base.initial_cluster_token),
            initial_cluster_state: self.initial_cluster_state.unwrap_or(base.initial_cluster_state),
            heartbeat_interval: self.heartbeat_interval.unwrap_or(base.heartbeat_interval),
            election_timeout: self.election_timeout.unwrap_or(base.election_timeout),
            snapshot_count: self.snapshot_count.unwrap_or(base.snapshot_count),
            snapshot_catchup_entries: self
                .snapshot_catchup_entries
                .unwrap_or(base.snapshot_catchup_entries),
            cert_file: self.cert_file.or(base.cert_file),
            key_file: self.key_file.or(base.key_file),
            trusted_ca_file: self.trusted_ca_file.or(base.trusted_ca_file),
            client_cert_auth: self.client_cert_auth.unwrap_or(base.client_cert_auth),
            peer_private_key: self.peer_private_key.or(base.peer_private_key),
            peer_public_keys: self.peer_public_keys.or(base.peer_public_keys),
            auth_token_ttl: self.auth_token_ttl.unwrap_or(base.auth_token_ttl),
            cors: self.cors.unwrap_or(base.cors),
            quota_backend_bytes: self.quota_backend_bytes.unwrap_or(base.quota_backend_bytes),
            max_request_bytes: self.max_request_bytes.unwrap_or(base.max_request_bytes),
            max_txn_ops: self.max_txn_ops.unwrap_or(base.max_txn_ops),
            watch_progress_notify_interval: self
                .experimental_watch_progress_notify_interval
                .unwrap_or(base.watch_progress_notify_interval),
            insecure: self.insecure || base.insecure,
            log_level: None,
            log_format: None,
        }
    }
}

fn options_from(arguments: Vec<String>) -> Result<Options, Failure> {
    parse_options(arguments).map_err(|error| {
        let reason = usage_error::one_line(&error);
        Failure::usage(format!("invalid environment variable ETCD_…: {reason}"))
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

fn cluster_state(text: &str) -> Result<InitialClusterState, String> {
    match text {
        "new" => Ok(InitialClusterState::New),
        "existing" => Ok(InitialClusterState::Existing),
        _ => Err("expected new or existing".into()),
    }
}

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    let Settings { config, log_level, log_format, ignored, variables } = options.settings()?;
    let spans = SpanExport::start(&config.name, log_level, log_format)?;
    for (option, reason) in ignored {
        warn!(option = format!("--{option}"), reason, "option has no effect");
    }
    if let Some(unused) = unused_peer_urls(&config) {
        warn!(option = "--listen-peer-urls", unused, "only the first URL is used");
    }
    for variable in variables {
        warn!(variable, "environment variable has no effect");
    }
    raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(worker_threads())
        .enable_all()
        .build()
        .map_err(Failure::cannot("create the runtime"))?;
    let outcome = runtime.block_on(serve(&config));
    spans.finish();
    outcome.map(|()| Status::Success).map_err(|error| match () {
        () if error.is_misconfiguration() => Failure::usage(error),
        () if error.is_eviction() => Failure::evicted(error),
        () => Failure::environment(error),
    })
}

/// Returns the text of `--listen-peer-urls` after the first URL. The member does not listen at
/// these URLs. Returns `None` if there are none.
fn unused_peer_urls(config: &Config) -> Option<&str> {
    let (_, unused) = config.listen_peer_urls.as_deref()?.split_once(',')?;
    Some(unused.trim()).filter(|unused| !unused.is_empty())
}

/// Returns the number of worker threads of the runtime: half the number of processors, rounded up.
/// Returns 1 if the number of processors is unknown.
///
/// Requests pass between tasks that wake each other. With many threads, these wake-ups cost more
/// than the work itself. Disk accesses and long tasks have their own threads.
fn worker_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

async fn serve(config: &Config) -> Result<(), ServeError> {
    let manager = ServiceManager::from_environment();
    // Handles SIGXFSZ, so that a write beyond the file size limit fails with an error instead of
    // killing the process.
    let too_large = SignalKind::from_raw(process::Signal::XFSZ.as_raw());
    let _too_large = signal(too_large);
    let hangup = signal(SignalKind::hangup());
    let server = Server::start(config).await?;
    let metrics = match &server.metrics_urls()[..] {
        [] => String::new(),
        urls => format!("; metrics at {}", urls.join(", ")),
    };
    let addresses = server.client_listener_urls().join(", ");
    // Installs the signal handlers before the member reports that it serves clients. A signal may
    // arrive right after this report.
    let interrupted = wait_for_interrupt();
    // Ignores write errors, because the program that reads the output may have ended.
    let _ = print_flushed_line(&format!("{} serves clients at {addresses}{metrics}", config.name));
    let (mut leader_watch, peer_keys) = (server.watch_leader(), server.peer_keys());
    let notified = manager.as_ref();
    // A member may wait for the other members for any length of time. If the service manager waited
    // for a leader, it would restart the member meanwhile.
    notify_service_manager(notified, "READY=1\nSTATUS=no leader yet");
    let watch = async {
        while let Some(LeaderStatus { leader, term }) = leader_watch.next().await {
            let line = match leader {
                Some(leader) => format!("{leader} leads in term {term}"),
                None => format!("no leader in term {term}"),
            };
            let _ = print_flushed_line(&line);
            notify_service_manager(notified, &format!("STATUS={line}"));
        }
        std::future::pending().await
    };
    let stop = async {
        tokio::select! {
            () = interrupted => {}
            () = watch => {}
            never = reload_keys(hangup, peer_keys) => match never {},
        }
        notify_service_manager(notified, "STOPPING=1");
    };
    server.serve(stop).await
}

/// Reads the keys of the members again at each SIGHUP. Never resolves.
async fn reload_keys(hangup: io::Result<Signal>, keys: PeerKeys) -> Infallible {
    if let Ok(mut hangup) = hangup {
        while hangup.recv().await.is_some() {
            keys.reload();
        }
    }
    std::future::pending().await
}

/// Raises the limit of this process on open file descriptors to the allowed maximum. The usual
/// limit is too low for many connections.
fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If this call fails, the server runs with fewer descriptors.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
