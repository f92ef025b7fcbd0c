//! `tenure lock`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::service::{Service, Task, end, run_held};
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
acquired and the command not started; 121 if the lock was lost and the command ended.";

/// Run a command while a lock is held
///
/// Waits for the lock at `tenure serve` or any etcd, runs the command, and gives the lock up. The
/// command has TENURE_FENCE, the number of this entry, which is higher than that of every entry
/// before; TENURE_LOCK, the name; and TENURE_DEADLINE, until when the lock is held if nothing is
/// heard any more, in seconds since 1970. Signals are passed on to it, and to what it has started:
/// it has a process group of its own, unless it has the terminal. When no renewal is answered it is
/// asked to end (TERM) and then killed, all before anybody else is let in; if the lock is taken
/// away it is killed at once.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    service: Service,
    /// How long to wait for the lock [default: as long as it takes]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Do not wait if somebody has it
    #[arg(long = "try", conflicts_with = "timeout")]
    at_once: bool,
    /// The lock
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The command, and what it is given
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
    let runtime = machine::one_thread()?;
    let acquire = async |session: tenure_client::Session| {
        let name = &options.name;
        let guard = match options.timeout {
            _ if options.at_once => session.try_lock(name).await?,
            None => Some(session.lock(name).await?),
            Some(timeout) => session.lock_within(name, timeout).await?,
        };
        Ok(guard.map(Held::Lock))
    };
    end(runtime.block_on(run_held(&options.service, task, acquire)))
}
