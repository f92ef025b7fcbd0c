//! `tenure node`.

use std::convert::Infallible;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;

use clap::Args;
use rustix::process::{Pid, getppid};
use tenure_algorithms::catalogue::Unknown;
use tenure_daemon::{Config, Line, NodeError, Report, Service, Telling};
use tenure_instances::office;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::interval;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::failure::{Failure, Status};
use super::known::misnamed;
use super::notify::{Manager, watchdog};
use super::output::print_file;

/// A configuration that works, with a word about everything in it.
pub(super) const EXAMPLE: &str = include_str!("node.example.toml");

/// One node, from a configuration file
///
/// Runs until it is interrupted or sent TERM: then it hands over what it leads and says goodbye to
/// its peers, who need not wait until they miss it. On standard output it reports, a line of JSON
/// each with the time, that it is ready, who leads, who came and left, and how its work goes, each
/// when it changes; its log goes to standard error (RUST_LOG filters it). Sent HUP, it reads its
/// keys again. A service manager is told that it is ready, stops and goes on (sd_notify). It ends
/// with status 5 when its peers refuse it for good, because another runs as the same process or it
/// belongs to another group: starting it again does not help.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE", required_unless_present = "example")]
    config: Option<PathBuf>,
    /// Print a commented configuration that works, and do nothing else
    #[arg(long, conflicts_with = "config")]
    example: bool,
    /// Report every entry of its work as well, with its fence
    #[arg(long, conflicts_with = "example")]
    grants: bool,
    /// The process that started this one: the node ends with it, or with its standard input
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<i32>,
}

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    let Some(path) = options.config else {
        print_file(EXAMPLE)?;
        return Ok(Status::Held);
    };
    if let Some(parent) = options.parent {
        end_with(parent)?;
    }
    let config = Config::read(&path).map_err(Failure::usage)?;
    log();
    let runtime = super::machine::one_thread()?;
    let (manager, telling) = (Manager::of_environment(), Telling { grants: options.grants });
    let stop = async {
        stop(options.parent.is_some()).await;
        tell(manager.as_ref(), "STOPPING=1");
    };
    let service = config.service.clone();
    let report_both = |said: Report| {
        tell_of(manager.as_ref(), &said);
        report(said);
    };
    let ran = runtime.block_on(async {
        tokio::select! {
            ran = tenure_daemon::run(config, office, telling, stop, report_both) => ran,
            never = go_on(manager.as_ref()) => match never {},
        }
    });
    ran.map(|()| Status::Held).map_err(|error| {
        let misconfigured = error.is_misconfiguration();
        let says = explained(&error, &service);
        let says = if misconfigured { format!("{}: {says}", path.display()) } else { says };
        report(Report::Failed { says: says.clone() });
        match () {
            () if misconfigured => Failure::usage(says),
            () if error.is_expulsion() => Failure::expelled(says),
            () => Failure::environment(says),
        }
    })
}

/// What is wrong. Names of algorithms are told as the command line tells them: the nearest, or that
/// these do not go together.
fn explained(error: &NodeError, service: &Service) -> String {
    match error {
        NodeError::Unknown(Unknown::Algorithm { .. }) => {
            let key = |what: &str, name: &str| format!("{what} = \"{name}\"");
            misnamed(&service.mutex, &service.election, key)
        }
        error => error.to_string(),
    }
}

/// What a service manager makes of a report.
fn tell_of(manager: Option<&Manager>, said: &Report) {
    match said {
        Report::Ready { .. } => tell(manager, "READY=1\nSTATUS=nobody leads yet"),
        Report::Elected { leader, term } => {
            tell(manager, &format!("STATUS=P{leader} leads in term {term}"));
        }
        Report::Deposed { .. } => tell(manager, "STATUS=nobody leads"),
        _ => {}
    }
}

fn tell(manager: Option<&Manager>, state: &str) {
    if let Some(manager) = manager {
        manager.tell(state);
    }
}

/// Says again and again that this node goes on, where a manager wants to hear it. Where the node
/// does not come round to it, because its disk hangs, nobody says it.
async fn go_on(manager: Option<&Manager>) -> Infallible {
    let (Some(manager), Some(pause)) = (manager, watchdog()) else {
        return std::future::pending().await;
    };
    let mut ticks = interval(pause);
    loop {
        ticks.tick().await;
        manager.tell("WATCHDOG=1");
    }
}

/// Logs to standard error what RUST_LOG asks for, as in `warn,tenure_runtime=debug`.
pub(super) fn log() {
    log_from(LevelFilter::INFO);
}

/// Starts the log at a level, unless `RUST_LOG` says another.
pub(super) fn log_from(level: LevelFilter) {
    let asked = std::env::var("RUST_LOG").ok().and_then(|asked| asked.parse().ok());
    let filter: Targets = asked.unwrap_or(Targets::new().with_default(level));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    tracing_subscriber::registry().with(lines).with(filter).init();
}

/// The system kills this process when the thread that started it ends, however that happens.
#[cfg(target_os = "linux")]
pub(super) fn end_with(parent: i32) -> Result<(), Failure> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| {
        Failure::environment(format!("cannot tie this process to its parent: {error}"))
    })?;
    // It may have ended before the line above.
    still_there(parent)
}

/// Without the system's help the end of standard input has to do, which a stopped node does not
/// see before it continues.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_with(parent: i32) -> Result<(), Failure> {
    still_there(parent)
}

fn still_there(parent: i32) -> Result<(), Failure> {
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        return Ok(());
    }
    Err(Failure::environment("the process that started this one has ended"))
}

/// Done when the node is to end: interrupted, or left alone by whoever started it.
async fn stop(by_input: bool) {
    let (ended, input) = oneshot::channel();
    if by_input {
        // A thread of its own: a pending read must not hold up the end of the runtime.
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            let mut bytes = [0; 64];
            while !matches!(input.read(&mut bytes), Ok(0) | Err(_)) {}
            let _ = ended.send(());
        });
    } else {
        // Kept for ever: a service has no input, and that is no reason to end.
        std::mem::forget(ended);
    }
    tokio::select! {
        _ = input => {}
        () = interrupted() => {}
    }
}

/// Done when this process is interrupted or sent TERM.
pub(super) async fn interrupted() {
    let received = async |kind| match signal(kind) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = received(SignalKind::interrupt()) => {}
        () = received(SignalKind::terminate()) => {}
    }
}

/// A line on standard output. If nobody reads it any more, there is nobody to tell.
fn report(report: Report) {
    if let Ok(line) = serde_json::to_string(&Line::now(report)) {
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_works() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("example.toml");
        std::fs::write(&path, EXAMPLE).unwrap();
        let config = Config::read(&path).unwrap();
        assert_eq!(config.cluster.addresses.len(), 3);
    }

    #[test]
    fn what_the_example_only_mentions_works_as_well() {
        let mentioned = |line: &str| {
            let rest = line.strip_prefix("# ")?;
            let key = rest.split([' ', '=']).next().unwrap_or_default();
            let is_key =
                rest.contains(" = ") && key.chars().all(|c| c.is_alphanumeric() || c == '_');
            (is_key || rest.starts_with('[')).then(|| rest.to_string())
        };
        let lines = EXAMPLE.lines().map(|line| mentioned(line).unwrap_or(line.to_string()));
        let text = lines.collect::<Vec<_>>().join("\n");
        assert!(text.matches("\n[").count() > EXAMPLE.matches("\n[").count(), "{text}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("all.toml");
        std::fs::write(&path, text).unwrap();
        let config = Config::read(&path).unwrap();
        assert!(config.work.is_some() && config.trace.is_some());
    }
}
