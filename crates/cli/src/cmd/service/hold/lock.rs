//! `tenure lock`: runs a command while holding a lock.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use tenure_client::{ClientError, LockMode, LockOptions, Session};

use super::held::HeldClaims;
use super::run::{
    GuardedCommandSpec, SessionOptions, acquire_and_run, acquire_timeout, exit_unless_success,
};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::machine;
use crate::cmd::service::client_description::ClientDescription;

const EXAMPLES: &str = "\
Examples:
  tenure lock jobs/nightly -- ./report.sh
  tenure lock --try jobs/nightly -- ./report.sh
  tenure lock --shared config -- ./read-it.sh
  tenure lock --slots 3 uploads -- ./upload.sh
  tenure lock --all accounts/1,accounts/2 -- ./transfer.sh
  tenure lock --timeout 30s --ttl 5s jobs/nightly -- sh -c 'write --fence $TENURE_FENCE'

Exit status: that of the command, 128 + n if signal n ended it; 120 if the lock was not
acquired and the command was not started; 121 if the lock was lost or broken, or the guardian
process was killed, and the command was ended.

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
/// unless this process is in the foreground of a terminal. Then INT and QUIT are not passed on,
/// because the terminal sends ^C to the command as well.
///
/// With --shared the lock is a read lock: commands with --shared run at the same time, and exclude
/// those without it. All commands wait in one queue, in the order of their arrival, also with
/// `etcdctl lock`. With --all, TENURE_LOCK has the names in alphabetical order, separated by
/// commas, and TENURE_FENCE the tokens in the same order.
///
/// Processes that the command leaves behind have --grace to finish. Then they are sent TERM, and
/// KILL after another --grace. The lock is held meanwhile.
///
/// If no renewal succeeds the whole process tree is sent TERM, and KILL after --grace, before the
/// lock can be granted to another client. If the lock is taken away it is killed at once. A
/// guardian process does so too if this process is killed or suspended. This includes processes
/// that became daemons or have a session of their own (on Linux; elsewhere the process group only).
///
/// `tenure locks` shows the user, the host, the process ID and the name of the program of each
/// holder and waiting client, and never the arguments. `tenure locks break` ends the command.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    service: SessionOptions,
    /// Give up after waiting this long for the lock [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = acquire_timeout)]
    timeout: Option<Duration>,
    /// Fail at once if another client holds the lock
    #[arg(long = "try", conflicts_with = "timeout")]
    at_once: bool,
    /// Hold the lock together with other commands that use --shared, as a read lock
    #[arg(long, conflicts_with = "slots")]
    shared: bool,
    /// Let up to N commands hold the lock at the same time; all of them must give the same N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    slots: Option<u32>,
    /// Hold several locks, all of them or none; acquired in alphabetical order
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    #[arg(conflicts_with_all = ["name", "shared", "slots"])]
    all: Vec<String>,
    /// Text that `tenure locks` shows instead of the name of the program
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Name of the lock
    #[arg(value_parser = NonEmptyStringValueParser::new(), required_unless_present = "all")]
    name: Option<String>,
    /// Command to run, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let names: BTreeSet<&str> = options.name.iter().chain(&options.all).map(|it| &it[..]).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let client = ClientDescription::of_command(&options.command, options.label.as_deref());
    let task = GuardedCommandSpec {
        name: &names.join(","),
        command: &options.command,
        grace: options.service.grace()?,
        acquire_timeout: options.timeout,
        client: Some(&client),
        can_receive_break_requests: true,
        on_lost: None,
    };
    let access = match options.slots {
        Some(slots) => LockMode::Slots(slots),
        None if options.shared => LockMode::Shared,
        None => LockMode::Exclusive,
    };
    let runtime = machine::current_thread_runtime()?;
    let acquire = async |session: Session| {
        let request = LockOptions::new(access).value(client.encode());
        acquire(session, &names, &request, options.at_once).await
    };
    exit_unless_success(runtime.block_on(acquire_and_run(&options.service, task, acquire)))
}

/// Acquires the locks in the order of their names. All clients use this order, so that no two of
/// them wait for each other.
///
/// If `at_once` is true and one of the locks is not free, releases the acquired locks and returns
/// `None`.
async fn acquire(
    session: Session,
    names: &[&str],
    request: &LockOptions,
    at_once: bool,
) -> Result<Option<HeldClaims>, ClientError> {
    let mut guards = Vec::new();
    for name in names {
        let guard = match at_once {
            true => session.try_lock_with(name, request).await?,
            false => Some(session.lock_with(name, request).await?),
        };
        let Some(guard) = guard else { return Ok(None) };
        guards.push(guard);
    }
    // Another client may have deleted the key of a lock while this client waited for a later lock.
    if let [earlier @ .., _] = &guards[..] {
        for guard in earlier {
            guard.confirm().await?;
        }
    }
    Ok(Some(HeldClaims::Locks { session, guards }))
}
