//! Where the service is, and what becomes of a command whose turn it is.

use std::ffi::OsString;
use std::future::Future;
use std::time::Duration;

use clap::Args;
use tenure_client::{Access, Client, ClientError, Session};

use super::guarded::{Timing, code};
use super::signals::Signals;
use super::supervise::{End, Held, Supervised, warn_of};
use super::{say, status};
use crate::cmd::duration;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::service::certificates::Files;
use crate::cmd::service::user::{self, User};

/// Where the service is and how long its leases are.
#[derive(Clone, Debug, Args)]
pub(super) struct Service {
    /// Where members are: `tenure serve`, or any etcd of 3.4 or later
    #[arg(long, value_name = "URL,…", value_delimiter = ',')]
    #[arg(default_value = "http://127.0.0.1:2379")]
    pub(super) endpoints: Vec<String>,
    /// Who asks, where members want to know: NAME:PASSWORD [default: TENURE_USER]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = user::parse)]
    user: Option<User>,
    #[command(flatten)]
    files: Files,
    /// How long the lease is: for so long at most it is held when nothing is heard any more
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10s")]
    pub(super) ttl: Duration,
    /// Time between TERM and KILL, when no renewal succeeds or processes are left behind
    /// [default: a fifth of --ttl]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(super) grace: Option<Duration>,
}

impl Service {
    /// Connects to it; says why not, and whether that is because of what was given.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        // A command asks seldom.
        let mut access = Access::default().any_member();
        if let Some(User { name, password }) = user::or_of_environment(self.user.as_ref())? {
            access = access.user(tenure_client::User::new(name, password));
        }
        if let Some(certificates) = self.files.read()? {
            access = access.certificates(certificates);
        }
        let client = Client::connect_as(&self.endpoints, access).await;
        client.map_err(|error| match error {
            ClientError::Unvouched { .. } => {
                Failure::usage(format!("{error}: --cacert says whose does"))
            }
            ClientError::Endpoint { .. } => Failure::usage(error),
            error => Failure::environment(error),
        })
    }

    /// Time before the deadline at which the command and its descendants are killed.
    pub(super) fn margin(&self) -> Duration {
        (self.ttl / 20).max(Duration::from_millis(100))
    }

    /// How long the command may take to end.
    pub(super) fn grace(&self) -> Result<Duration, Failure> {
        let grace = self.grace.unwrap_or(self.ttl / 5);
        if self.ttl < Duration::from_secs(1) {
            return Err(Failure::usage("--ttl is at least 1s: leases are counted in seconds"));
        }
        if grace > self.ttl / 2 {
            let says = "--grace is at most half of --ttl, so that there is time to renew the lease";
            return Err(Failure::usage(says));
        }
        Ok(grace)
    }
}

/// What is to be run, and how long it may take to end.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) name: &'a str,
    pub(super) command: &'a [OsString],
    pub(super) grace: Duration,
    /// How long it may take until it can be run.
    pub(super) within: Option<Duration>,
}

/// How it ended before there was anything to run.
enum NotHeld {
    /// Somebody wants this to end.
    Signalled(u8),
    /// It could not be had.
    Refused(String),
}

/// Acquires what is to be held, runs the command meanwhile, and gives it up; ends with the status
/// of the command, or with one of its own.
pub(super) async fn run_held<F>(
    service: &Service,
    task: Task<'_>,
    acquire: impl FnOnce(Session) -> F,
) -> Result<u8, Failure>
where
    F: Future<Output = Result<Option<Held>, ClientError>>,
{
    let mut signals = Signals::new()
        .map_err(|error| Failure::environment(format!("cannot watch for signals: {error}")))?;
    let begun = tokio::select! {
        biased;
        signal = signals.fatal() => Err(NotHeld::Signalled(of_signal(signal))),
        session = session(service, task.within) => match session {
            Err(failure) if failure.status == Status::Usage => return Err(failure),
            session => session.map_err(|failure| NotHeld::Refused(failure.to_string())),
        },
    };
    let session = match begun {
        Ok(session) => session,
        Err(why) => return Ok(not_held(task.name, why)),
    };
    let acquired = tokio::select! {
        biased;
        signal = signals.fatal() => Err(NotHeld::Signalled(of_signal(signal))),
        held = acquire(session.clone()) => match held {
            Ok(Some(held)) => Ok(held),
            Ok(None) => Err(NotHeld::Refused("it is another's".to_owned())),
            Err(error) => Err(NotHeld::Refused(error.to_string())),
        },
    };
    let held = match acquired {
        Ok(held) => held,
        Err(why) => {
            close(&session).await;
            return Ok(not_held(task.name, why));
        }
    };
    let timing = Timing { margin: service.margin(), grace: task.grace };
    let supervised = Supervised { held: &held, name: task.name, timing };
    let code = match supervised.run(task.command, &mut signals).await? {
        End::Done(status) => {
            held.give_up().await;
            code(status)
        }
        End::Killed(why) => {
            say(&format!("{why}; the command was ended"));
            status::LOST
        }
        End::Left(why, left) => {
            say(&format!("{why}; the command was killed"));
            warn_of(&left);
            // Neither the lock nor the session is given up: the lease keeps others out until it
            // expires. Dropping them would ask for it.
            std::process::exit(i32::from(status::LOST));
        }
    };
    close(&session).await;
    Ok(code)
}

/// Ends the session, so that waiters need not wait for its lease. If the service cannot be reached
/// they do.
async fn close(session: &Session) {
    let _ = tokio::time::timeout(Duration::from_secs(2), session.close()).await;
}

async fn session(service: &Service, within: Option<Duration>) -> Result<Session, Failure> {
    let begun = async {
        let client = service.client().await?;
        client.session(service.ttl).await.map_err(Failure::environment)
    };
    match within {
        None => begun.await,
        Some(within) => tokio::time::timeout(within, begun).await.unwrap_or_else(|_| {
            let asked = service.endpoints.join(", ");
            Err(Failure::environment(format!("no answer from {asked}")))
        }),
    }
}

fn not_held(name: &str, why: NotHeld) -> u8 {
    match why {
        NotHeld::Signalled(code) => code,
        NotHeld::Refused(why) => {
            let why = user::advised(why);
            say(&format!("`{name}` was not acquired: {why}; the command was not started"));
            status::NOT_ACQUIRED
        }
    }
}

fn of_signal(signal: rustix::process::Signal) -> u8 {
    u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX)
}

/// Ends this process with the status of a command, when nothing is left to do.
pub(super) fn end(done: Result<u8, Failure>) -> Result<Status, Failure> {
    match done? {
        0 => Ok(Status::Held),
        code => std::process::exit(i32::from(code)),
    }
}
