//! `tenure node`: runs one node of a cluster.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rustix::process::{Pid, getppid};
use tenure_algorithms::catalogue::CatalogueError;
use tenure_daemon::{
    AlgorithmConfig, Config, NodeError, NodeEvent, NodeEventLine, NodeEventOptions,
};
use tenure_instances::service_protocol;
use tokio::signal::unix::SignalKind;
use tokio::sync::oneshot;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
#[cfg(feature = "otel")]
use tracing_subscriber::{Layer, Registry};

use super::failure::{Failure, Status};
use super::interrupt::TerminationSignals;
use super::name_parser::describe_invalid_names;
use super::notify::{ServiceManager, notify_service_manager, watchdog_interval};
use super::output::{print_flushed_line, print_unwrapped};

pub(super) const EXAMPLE_CONFIG: &str = include_str!("node.example.toml");

/// Run a node from a configuration file
///
/// The node runs until it is interrupted or receives SIGTERM. It then transfers leadership and
/// leaves the cluster, so that its peers need not detect its absence. It prints a line of JSON to
/// standard output when it is ready, when the leader changes, when a peer joins or leaves, and when
/// its workload makes progress. The log goes to standard error; RUST_LOG filters it. On SIGHUP the
/// node reads its keys again. It notifies a service manager of its state (sd_notify). Exit status
/// 5: its peers have evicted it, because another node runs as the same process or it belongs to
/// another cluster; a restart does not help.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure node --example > node-1.toml
  tenure node --config node-1.toml")]
pub(crate) struct Options {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE", required_unless_present = "example")]
    config: Option<PathBuf>,
    /// Print a commented example configuration and exit
    #[arg(long, conflicts_with = "config")]
    example: bool,
    /// Also report every critical-section entry of its workload, with its fencing token
    #[arg(long, conflicts_with = "example")]
    grants: bool,
    /// Allow variants that are deliberate mistakes, for demonstrations
    #[arg(long, conflicts_with = "example")]
    allow_mistakes: bool,
    /// Format of the log on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, conflicts_with = "example")]
    log_format: LogFormat,
    /// Parent process: the node ends with it, or when its standard input is closed
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<i32>,
}

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    let Some(path) = options.config else {
        print_unwrapped(EXAMPLE_CONFIG)?;
        return Ok(Status::Success);
    };
    if let Some(parent) = options.parent {
        end_with_parent(parent)?;
    }
    let mut config = Config::read(&path).map_err(Failure::usage)?;
    config.service.allow_mistakes |= options.allow_mistakes;
    init_logging(LevelFilter::INFO, options.log_format);
    let runtime = super::machine::current_thread_runtime()?;
    let manager = ServiceManager::from_environment();
    let event_options = NodeEventOptions {
        report_grants: options.grants,
        liveness_interval: manager.as_ref().and_then(|_| watchdog_interval()),
    };
    let service = config.service.clone();
    let on_event = |event: NodeEvent| {
        notify_event(manager.as_ref(), &event);
        if event != NodeEvent::Alive {
            report(event);
        }
    };
    let ran = runtime.block_on(async {
        let interrupted = wait_for_interrupt();
        let stop = async {
            stop(options.parent.is_some(), interrupted).await;
            notify_service_manager(manager.as_ref(), "STOPPING=1");
        };
        tenure_daemon::run_node(config, service_protocol, event_options, stop, on_event).await
    });
    ran.map(|()| Status::Success).map_err(|error| {
        let misconfigured = error.is_misconfiguration();
        let message = describe(&error, &service);
        let message = match misconfigured {
            true => format!("{}: {message}", path.display()),
            false => message,
        };
        report(NodeEvent::Failed { reason: message.clone() });
        match () {
            () if misconfigured => Failure::usage(message),
            () if error.is_eviction() => Failure::evicted(message),
            () => Failure::environment(message),
        }
    })
}

/// Describes an error of a node. For an unknown algorithm, returns the same message as the
/// command-line parser.
fn describe(error: &NodeError, service: &AlgorithmConfig) -> String {
    match error {
        NodeError::Unknown(CatalogueError::Algorithm { .. }) => {
            let key = |what: &str, name: &str| format!("{what} = \"{name}\"");
            describe_invalid_names(&service.mutex, &service.election, key)
        }
        error => error.to_string(),
    }
}

/// Notifies the service manager if an event shows that the node works, or changes the leader that
/// the node knows.
fn notify_event(manager: Option<&ServiceManager>, event: &NodeEvent) {
    match event {
        NodeEvent::Ready { .. } => notify_service_manager(manager, "READY=1\nSTATUS=no leader yet"),
        NodeEvent::Elected { leader, term } => {
            notify_service_manager(
                manager,
                &format!("STATUS=P{leader} is the leader in term {term}"),
            );
        }
        NodeEvent::Deposed { .. } => notify_service_manager(manager, "STATUS=no leader"),
        // A node that is blocked, or whose disk is blocked, reports no such event. The service
        // manager then restarts the node.
        NodeEvent::Alive => notify_service_manager(manager, "WATCHDOG=1"),
        _ => {}
    }
}

/// Format of the log on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// A line of text per event
    #[default]
    Text,
    /// A JSON object per line
    Json,
}

/// Starts logging to standard error. Logs the events of this level and of more severe ones. If the
/// variable `RUST_LOG` contains a valid filter, such as `warn,tenure_runtime=debug`, this filter
/// applies instead.
pub(super) fn init_logging(level: LevelFilter, format: LogFormat) {
    let registry = tracing_subscriber::registry().with(log_filter(level));
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Text => registry.with(lines.with_ansi(io::stderr().is_terminal())).init(),
        LogFormat::Json => registry.with(lines.json().with_ansi(false)).init(),
    }
}

/// Starts logging as [`init_logging`] does, and passes all spans to the layer `spans`.
#[cfg(feature = "otel")]
pub(super) fn init_logging_with(
    level: LevelFilter,
    format: LogFormat,
    spans: Box<dyn Layer<Registry> + Send + Sync>,
) {
    let registry = tracing_subscriber::registry().with(spans);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let filter = log_filter(level);
    match format {
        LogFormat::Text => {
            registry.with(lines.with_ansi(io::stderr().is_terminal()).with_filter(filter)).init();
        }
        LogFormat::Json => registry.with(lines.json().with_ansi(false).with_filter(filter)).init(),
    }
}

fn log_filter(level: LevelFilter) -> Targets {
    let from_environment = std::env::var("RUST_LOG").ok().and_then(|filter| filter.parse().ok());
    from_environment.unwrap_or(Targets::new().with_default(level))
}

/// Makes the kernel kill this process when the thread that started this process ends for any
/// reason. Returns a failure if the system rejects this, or if `parent` is no longer the parent
/// process.
#[cfg(target_os = "linux")]
pub(super) fn end_with_parent(parent: i32) -> Result<(), Failure> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(Failure::cannot("tie this process to its parent"))?;
    // The parent may have ended before the call above.
    check_parent(parent)
}

/// Returns a failure if the parent process no longer runs. If the parent ends later, the operating
/// system closes the node's standard input, which ends the node. A suspended node ends only after
/// it resumes.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_with_parent(parent: i32) -> Result<(), Failure> {
    check_parent(parent)
}

fn check_parent(parent: i32) -> Result<(), Failure> {
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        return Ok(());
    }
    Err(Failure::environment("the parent process has ended"))
}

/// Waits until `interrupted` resolves. If `by_input` is true, also returns when standard input
/// ends.
async fn stop(by_input: bool, interrupted: impl Future<Output = ()>) {
    let (ended, input) = oneshot::channel();
    if by_input {
        // Reads in a separate thread, because a pending read must not delay the shutdown of the
        // runtime.
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            let mut bytes = [0; 64];
            while !matches!(input.read(&mut bytes), Ok(0) | Err(_)) {}
            let _ = ended.send(());
        });
    } else {
        // Keeps the sender. If the sender were dropped, `input` would resolve, and end a service
        // that has no standard input.
        std::mem::forget(ended);
    }
    tokio::select! {
        _ = input => {}
        () = interrupted => {}
    }
}

/// Returns a future that resolves when this process receives SIGINT or SIGTERM. This call installs
/// the handlers of both signals, so a signal before the first poll does not end the process. If
/// they cannot be installed, the future never resolves. Must be called inside a tokio runtime.
pub(super) fn wait_for_interrupt() -> impl Future<Output = ()> + use<> {
    let signals = TerminationSignals::catch(&[SignalKind::interrupt(), SignalKind::terminate()]);
    async {
        match signals {
            Ok(mut signals) => signals.next().await,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Prints an event of the node as a line on standard output. Ignores errors, because the reader of
/// the events may have ended.
fn report(event: NodeEvent) {
    if let Ok(line) = serde_json::to_string(&NodeEventLine::now(event)) {
        let _ = print_flushed_line(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_configuration_is_valid() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("example.toml");
        std::fs::write(&path, EXAMPLE_CONFIG).unwrap();
        let config = Config::read(&path).unwrap();
        assert_eq!(config.cluster.addresses.len(), 3);
    }

    #[test]
    fn commented_options_of_the_example_are_valid() {
        let mentioned = |line: &str| {
            let rest = line.strip_prefix("# ")?;
            let key = rest.split([' ', '=']).next().unwrap_or_default();
            let is_key =
                rest.contains(" = ") && key.chars().all(|c| c.is_alphanumeric() || c == '_');
            (is_key || rest.starts_with('[')).then(|| rest.to_string())
        };
        let lines = EXAMPLE_CONFIG.lines().map(|line| mentioned(line).unwrap_or(line.to_string()));
        let text = lines.collect::<Vec<_>>().join("\n");
        assert!(text.matches("\n[").count() > EXAMPLE_CONFIG.matches("\n[").count(), "{text}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("all.toml");
        std::fs::write(&path, text).unwrap();
        let config = Config::read(&path).unwrap();
        assert!(config.work.is_some() && config.trace.is_some());
    }
}
