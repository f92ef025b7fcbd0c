//! Options that select the service, and the sequence of acquiring, running and releasing.

use std::ffi::OsString;
use std::future::Future;
use std::time::Duration;

use clap::Args;
use tenure_client::{Client, ClientError, ConnectOptions, Session};

use super::guarded::{Timing, code};
use super::signals::Signals;
use super::supervise::{End, Held, Supervised, warn_survivors};
use super::{print_error, status};
use crate::cmd::duration;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::service::certificates::CertificateFiles;
use crate::cmd::service::user::{self, User};

/// Options that select the service and the length of its leases.
#[derive(Clone, Debug, Args)]
pub(super) struct Service {
    /// Members of the service: `tenure serve`, or any etcd of 3.4 or later
    #[arg(long, value_name = "URL,…", value_delimiter = ',')]
    #[arg(default_value = "http://127.0.0.1:2379")]
    pub(super) endpoints: Vec<String>,
    /// User to authenticate as, NAME:PASSWORD [default: TENURE_USER]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = user::parse)]
    user: Option<User>,
    #[command(flatten)]
    files: CertificateFiles,
    /// Length of the lease: the lock is held for at most this long after the last renewal
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10s")]
    pub(super) ttl: Duration,
    /// Time between TERM and KILL, when no renewal succeeds or processes are left behind
    /// [default: a fifth of --ttl]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(super) grace: Option<Duration>,
}

impl Service {
    /// Connects to the service.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        // A command sends few requests, so any member will do.
        let mut access = ConnectOptions::default().any_member();
        if let Some(User { name, password }) = user::or_from_environment(self.user.as_ref())? {
            access = access.user(tenure_client::User::new(name, password));
        }
        if let Some(certificates) = self.files.read()? {
            access = access.certificates(certificates);
        }
        let client = Client::connect_as(&self.endpoints, access).await;
        client.map_err(|error| match error {
            ClientError::MissingCertificates { .. } => {
                Failure::usage(format!("{error}: give the CA certificate with --cacert"))
            }
            ClientError::InvalidEndpoint { .. } => Failure::usage(error),
            error => Failure::environment(error),
        })
    }

    /// Returns how long before the deadline of the lock the command and its descendants are killed.
    pub(super) fn margin(&self) -> Duration {
        (self.ttl / 20).max(Duration::from_millis(100))
    }

    /// Returns the time between SIGTERM and SIGKILL.
    pub(super) fn grace(&self) -> Result<Duration, Failure> {
        let grace = self.grace.unwrap_or(self.ttl / 5);
        if self.ttl < Duration::from_secs(1) {
            return Err(Failure::usage(
                "invalid --ttl: expected at least 1s, as leases are counted in seconds",
            ));
        }
        if grace > self.ttl / 2 {
            let message = "invalid --grace: expected at most half of --ttl, so that there is time \
                           to renew the lease";
            return Err(Failure::usage(message));
        }
        Ok(grace)
    }
}

/// The command to run under the lock, and its time limits.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) name: &'a str,
    pub(super) command: &'a [OsString],
    pub(super) grace: Duration,
    /// Longest time to wait for the lock; `None` for no limit.
    pub(super) within: Option<Duration>,
}

/// Reason why the lock was not acquired.
enum NotHeld {
    /// The process received a signal. The number is the exit status for it.
    Signalled(u8),
    /// An error occurred, or another client holds the lock.
    Refused(String),
}

/// Acquires the lock, runs the command, and releases the lock. Returns the exit status of the
/// command. If the command did not run to its end, returns a status of this program.
pub(super) async fn run_held<F>(
    service: &Service,
    task: Task<'_>,
    acquire: impl FnOnce(Session) -> F,
) -> Result<u8, Failure>
where
    F: Future<Output = Result<Option<Held>, ClientError>>,
{
    let mut signals = Signals::new().map_err(|error| {
        Failure::environment(format!("cannot install signal handlers: {error}"))
    })?;
    let started = tokio::select! {
        biased;
        signal = signals.fatal() => Err(NotHeld::Signalled(status_of_signal(signal))),
        session = session(service, task.within) => match session {
            Err(failure) if failure.status == Status::Usage => return Err(failure),
            session => session.map_err(|failure| NotHeld::Refused(failure.to_string())),
        },
    };
    let session = match started {
        Ok(session) => session,
        Err(reason) => return Ok(not_held(task.name, reason)),
    };
    let acquired = tokio::select! {
        biased;
        signal = signals.fatal() => Err(NotHeld::Signalled(status_of_signal(signal))),
        held = acquire(session.clone()) => match held {
            Ok(Some(held)) => Ok(held),
            Ok(None) => Err(NotHeld::Refused("another client holds it".to_owned())),
            Err(error) => Err(NotHeld::Refused(error.to_string())),
        },
    };
    let held = match acquired {
        Ok(held) => held,
        Err(reason) => {
            close(&session).await;
            return Ok(not_held(task.name, reason));
        }
    };
    let timing = Timing { margin: service.margin(), grace: task.grace };
    let supervised = Supervised { held: &held, name: task.name, timing };
    let code = match supervised.run(task.command, &mut signals).await? {
        End::Done(status) => {
            held.release().await;
            code(status)
        }
        End::Killed(reason) => {
            print_error(&format!("{reason}; the command was ended"));
            status::LOST
        }
        End::Left(reason, left) => {
            print_error(&format!("{reason}; the command was killed"));
            warn_survivors(&left);
            // Neither the lock nor the session is released: the lease keeps others out until it
            // expires. Dropping the values would release them.
            std::process::exit(i32::from(status::LOST));
        }
    };
    close(&session).await;
    Ok(code)
}

/// Ends the session, so that other clients need not wait until its lease expires. Ignores errors.
async fn close(session: &Session) {
    let _ = tokio::time::timeout(Duration::from_secs(2), session.close()).await;
}

async fn session(service: &Service, within: Option<Duration>) -> Result<Session, Failure> {
    let started = async {
        let client = service.client().await?;
        client.session(service.ttl).await.map_err(Failure::environment)
    };
    match within {
        None => started.await,
        Some(within) => tokio::time::timeout(within, started).await.unwrap_or_else(|_| {
            let endpoints = service.endpoints.join(", ");
            Err(Failure::environment(format!("no response from {endpoints}")))
        }),
    }
}

fn not_held(name: &str, reason: NotHeld) -> u8 {
    match reason {
        NotHeld::Signalled(code) => code,
        NotHeld::Refused(reason) => {
            let reason = user::with_remedy(reason);
            print_error(&format!(
                "`{name}` was not acquired: {reason}; the command was not started"
            ));
            status::NOT_ACQUIRED
        }
    }
}

fn status_of_signal(signal: rustix::process::Signal) -> u8 {
    u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX)
}

/// Ends this process with the exit status of the command, after all cleanup.
pub(super) fn exit_with(done: Result<u8, Failure>) -> Result<Status, Failure> {
    match done? {
        0 => Ok(Status::Success),
        code => std::process::exit(i32::from(code)),
    }
}
