//! `tenure lock`: runs a command while holding a lock.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::service::{Service, Task, exit_with, run_held};
use super::supervise::Held;
use crate::cmd::duration;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::machine;

const EXAMPLES: &str = "\
Examples:
  tenure lock jobs/nightly -- ./report.sh
  tenure lock --try jobs/nightly -- ./report.sh
  tenure lock --timeout 30s --ttl 5s jobs/nightly -- sh -c 'write --fence $TENURE_FENCE'

Exit status: that of the command, 128 + n if signal n ended it; 120 if the lock was not
acquired and the command was not started; 121 if the lock was lost or the guardian process was
killed, and the command was ended.

Processes that outlive the lock: those that run outside the tree of the command (started by
systemd-run, at, cron or a container daemon, or on another machine), those of another user
that this one may not kill (the command uses sudo or su without being root), those that the
kernel cannot end yet (blocked on a failed disk), and descendants of the command if both this
process and its guardian are killed or suspended together. Compare TENURE_FENCE at the resource
where that matters.";

/// Run a command while holding a lock
///
/// Waits for the lock at `tenure serve` or any etcd, runs the command, and releases the lock when
/// the command and all its descendants have ended. The command receives TENURE_FENCE, the fencing
/// token, which is higher than that of every holder before; TENURE_LOCK, the name; and
/// TENURE_DEADLINE, the time at which the lock expires if no renewal succeeds, in seconds since
/// 1970. Signals are passed on to the command and its process group: it has a group of its own,
/// unless it has the terminal.
///
/// Processes that the command leaves behind have --grace to finish. Then they are sent TERM, and
/// KILL after another --grace. The lock is held meanwhile.
///
/// If no renewal succeeds the whole process tree is sent TERM, and KILL after --grace, before the
/// lock can be granted to another client. If the lock is taken away it is killed at once. A
/// guardian process does so too if this process is killed or suspended. This includes processes
/// that became daemons or have a session of their own (on Linux; elsewhere the process group only).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    service: Service,
    /// Give up after waiting this long for the lock [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Fail at once if another client holds the lock
    #[arg(long = "try", conflicts_with = "timeout")]
    at_once: bool,
    /// Name of the lock
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// Command to run, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let task = Task {
        name: &options.name,
        command: &options.command,
        grace: options.service.grace()?,
        within: options.timeout,
    };
    let runtime = machine::current_thread_runtime()?;
    let acquire = async |session: tenure_client::Session| {
        let name = &options.name;
        let guard = match options.timeout {
            _ if options.at_once => session.try_lock(name).await?,
            None => Some(session.lock(name).await?),
            Some(timeout) => session.lock_within(name, timeout).await?,
        };
        Ok(guard.map(Held::Lock))
    };
    exit_with(runtime.block_on(run_held(&options.service, task, acquire)))
}
