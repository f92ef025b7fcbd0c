//! Acquires a lock or a leadership, runs the command, and gives up the lock or the leadership. Then
//! determines the exit status. This module also contains the options that select the service.

use std::convert::Infallible;
use std::ffi::OsString;
use std::future::{Future, pending};
use std::time::Duration;

use clap::Args;
use tenure_client::{Client, ClientError, Session};
use tokio::time::{Instant, timeout, timeout_at};

use super::break_requests::BreakRequests;
use super::guarded::{KillTiming, shell_exit_code};
use super::held::HeldClaims;
use super::on_lost::{self, LeadershipLoss};
use super::signals::Signals;
use super::supervise::{CommandOutcome, Supervisor, warn_survivors};
use super::{print_error, status};
use crate::cmd::duration;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::service::client_description::ClientDescription;
use crate::cmd::service::endpoint::{ConnectionSettings, EndpointOptions, request_failure};
use crate::cmd::service::user;

/// Time limit for the release of the locks, and for the end of the session. If the service does not
/// respond in time, the locks become free when the lease expires.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Options that select the service, the length of the session's lease, and the time between SIGTERM
/// and SIGKILL.
#[derive(Clone, Debug, Args)]
pub(super) struct SessionOptions {
    #[command(flatten)]
    endpoints: EndpointOptions,
    /// Length of the lease, rounded up to whole seconds: the lock is held for at most this long
    /// after the last renewal
    #[arg(long, value_name = "TIME", value_parser = ttl, default_value = "10s")]
    pub(super) ttl: Duration,
    /// Time between TERM and KILL, when no renewal succeeds or processes are left behind
    /// [default: a fifth of --ttl]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(super) grace: Option<Duration>,
}

impl SessionOptions {
    pub(super) async fn connect_client(&self) -> Result<Client, Failure> {
        let client = client_of(self.endpoints.resolve_connection_settings()?)?;
        client.wait_until_connected().await.map_err(request_failure)?;
        Ok(client)
    }

    /// Returns the safety margin. The command and its descendants are killed this long before the
    /// deadline of the lock.
    pub(super) fn margin(&self) -> Duration {
        (self.ttl / 20).max(Duration::from_millis(100))
    }

    /// Returns the time between SIGTERM and SIGKILL. Fails if the option gives a time that is too
    /// long.
    pub(super) fn grace(&self) -> Result<Duration, Failure> {
        // A renewal is sent after a third of the lease. With a lease below two seconds, the margin
        // exceeds a twentieth of the lease, so `grace` must be below half of the lease.
        let longest = (self.ttl / 2).min((self.ttl * 11 / 20).saturating_sub(self.margin()));
        let grace = self.grace.unwrap_or(self.ttl / 5);
        if grace > longest {
            let [grace, longest] = [grace, longest].map(duration::format);
            return Err(Failure::usage(format!(
                "invalid value '{grace}' for --grace: expected at most {longest}, half of --ttl or \
                 less, so that there is time to renew the lease"
            )));
        }
        Ok(grace)
    }
}

/// Parses the value of `--ttl`. Rounds it up to whole seconds, as leases are counted in seconds.
/// The grace period and the margin are then shares of the lease that the service grants.
fn ttl(text: &str) -> Result<Duration, String> {
    let ttl = duration::parse(text)?;
    if ttl < Duration::from_secs(1) {
        return Err("expected at least 1s, as leases are counted in seconds".to_owned());
    }
    let fraction = u64::from(ttl.subsec_nanos() > 0);
    Ok(Duration::from_secs(ttl.as_secs().saturating_add(fraction)))
}

/// Creates a client that is not connected yet.
fn client_of(settings: ConnectionSettings) -> Result<Client, Failure> {
    // A command sends few requests, so any member will do.
    Client::connect_lazily(&settings.endpoints, settings.connect_options.any_member())
        .map_err(request_failure)
}

/// Parses the value of `--timeout`.
pub(super) fn acquire_timeout(text: &str) -> Result<Duration, String> {
    let timeout = duration::parse(text)?;
    match timeout.is_zero() {
        true => Err("expected more than 0s; `tenure lock --try` does not wait".to_owned()),
        false => Ok(timeout),
    }
}

/// A command that runs while this process holds a lock or leads. Also contains the time limits and
/// further settings of the run.
#[derive(Debug)]
pub(super) struct GuardedCommandSpec<'a> {
    pub(super) name: &'a str,
    pub(super) command: &'a [OsString],
    pub(super) grace: Duration,
    /// Longest time to connect, to start the session and to wait for the lock, all together; `None`
    /// for no limit.
    pub(super) acquire_timeout: Option<Duration>,
    /// Description of this client, which is stored in the keys of its locks; `None` for a
    /// leadership.
    pub(super) client: Option<&'a ClientDescription>,
    /// True if another client can request the lock or the leadership by writing to its key.
    pub(super) can_receive_break_requests: bool,
    /// Shell command that runs if the leadership was lost. It starts after the guarded command has
    /// ended.
    pub(super) on_lost: Option<&'a str>,
}

enum NotHeld {
    /// The process received a signal. The number is the exit status for this signal.
    Signalled(u8),
    /// The lock or leadership was not acquired, because an error occurred or because another client
    /// holds it. The text describes the reason.
    Refused(String),
}

/// Acquires the lock, runs the command, and releases the lock. Returns the exit status of the
/// command, or an exit status of this program if the command did not run to its end.
pub(super) async fn acquire_and_run<F>(
    service: &SessionOptions,
    task: GuardedCommandSpec<'_>,
    acquire: impl FnOnce(Session) -> F,
) -> Result<u8, Failure>
where
    F: Future<Output = Result<Option<HeldClaims>, ClientError>>,
{
    let mut signals = Signals::new().map_err(Failure::cannot("install signal handlers"))?;
    let acquired = start_and_acquire(service, &task, &mut signals, acquire).await?;
    let (client, session, held) = match acquired {
        Ok(acquired) => acquired,
        Err(reason) => return Ok(not_held(task.name, reason)),
    };
    let fences = held.comma_separated_fences();
    let end = match supervise(service, &client, &held, &task, &mut signals).await {
        Ok(end) => end,
        Err(failure) => {
            // The command was not started.
            release(held, &mut signals).await;
            close(&session).await;
            return Err(failure);
        }
    };
    let (code, loss) = match end {
        CommandOutcome::Done(status) => {
            release(held, &mut signals).await;
            (shell_exit_code(status), None)
        }
        CommandOutcome::NotStarted(reason) => {
            print_error(&format!("{reason}; the command was not started"));
            (status::NOT_ACQUIRED, None)
        }
        CommandOutcome::Killed(reason) => {
            print_error(&format!("{reason}; the command was ended"));
            (status::LOST, Some(reason))
        }
        CommandOutcome::Survivors(reason, left) => {
            print_error(&format!("{reason}; the command was killed"));
            warn_survivors(&left);
            // Exits without dropping the guards and the session, because dropping them releases the
            // lock. The lease keeps other clients out until it expires.
            std::process::exit(i32::from(status::LOST));
        }
    };
    close(&session).await;
    if let Some((command, reason)) = task.on_lost.zip(loss.as_deref()) {
        let loss = LeadershipLoss { election: task.name, fence: &fences, reason };
        on_lost::run_on_lost_command(command, loss, &mut signals).await;
    }
    Ok(code)
}

/// Starts a session and acquires the lock. Both together take at most the time of the option
/// `--timeout`. If the lock is not acquired, closes the session.
async fn start_and_acquire<F>(
    service: &SessionOptions,
    task: &GuardedCommandSpec<'_>,
    signals: &mut Signals,
    acquire: impl FnOnce(Session) -> F,
) -> Result<Result<(Client, Session, HeldClaims), NotHeld>, Failure>
where
    F: Future<Output = Result<Option<HeldClaims>, ClientError>>,
{
    let deadline = task.acquire_timeout.map(|timeout| Instant::now() + timeout);
    let (client, session) = tokio::select! {
        biased;
        signal = signals.fatal() => return Ok(Err(NotHeld::Signalled(status_of_signal(signal)))),
        started = session(service, deadline) => match started {
            Ok(started) => started,
            Err(failure) if failure.status == Status::Usage => return Err(failure),
            Err(failure) => return Ok(Err(NotHeld::Refused(failure.to_string()))),
        },
    };
    let acquired = tokio::select! {
        biased;
        signal = signals.fatal() => Err(NotHeld::Signalled(status_of_signal(signal))),
        held = run_until(deadline, acquire(session.clone())) => match held {
            Some(Ok(Some(held))) => Ok(held),
            Some(Ok(None)) => Err(NotHeld::Refused(HELD_BY_ANOTHER.to_owned())),
            Some(Err(error)) => Err(NotHeld::Refused(error.to_string())),
            None => Err(NotHeld::Refused(reason_not_acquired(&client))),
        },
    };
    match acquired {
        Ok(held) => Ok(Ok((client, session, held))),
        Err(reason) => {
            close(&session).await;
            Ok(Err(reason))
        }
    }
}

/// Runs the command while this client holds the locks or the leadership. For locks, also stores a
/// description of this client in their keys, with the time of the acquisition.
///
/// # Errors
///
/// The command was not started.
async fn supervise(
    service: &SessionOptions,
    client: &Client,
    held: &HeldClaims,
    task: &GuardedCommandSpec<'_>,
    signals: &mut Signals,
) -> Result<CommandOutcome, Failure> {
    let value = task.client.map(|client| client.with_acquisition_now().encode());
    let mut requests = match task.can_receive_break_requests {
        true => BreakRequests::watch(client, held, value.as_deref()),
        false => BreakRequests::none(),
    };
    let timing = KillTiming { margin: service.margin(), grace: task.grace };
    let supervised = Supervisor { held, client, name: task.name, timing };
    let stored = async {
        if let Some(value) = &value {
            held.set_lock_values(value).await;
        }
        pending::<Infallible>().await
    };
    tokio::select! {
        biased;
        end = supervised.run(task.command, signals, &mut requests) => end,
        never = stored => match never {},
    }
}

/// Releases the locks, or resigns the leadership. Gives up on a fatal signal, or after
/// [`END_TIMEOUT`] without success. The service then releases the remaining claims when the session
/// ends.
async fn release(held: HeldClaims, signals: &mut Signals) {
    run_until_signal(signals.fatal(), held.release()).await;
}

/// Waits for the future `work`, but at most for [`END_TIMEOUT`], and only until `signal` resolves.
async fn run_until_signal<S>(signal: impl Future<Output = S>, work: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        _ = signal => {}
        _ = timeout(END_TIMEOUT, work) => {}
    }
}

/// Ends the session, so that other clients need not wait until its lease expires. Ignores errors.
async fn close(session: &Session) {
    let _ = timeout(END_TIMEOUT, session.close()).await;
}

/// Waits for the future `work` until the deadline, if there is one. Returns `None` if the deadline
/// passes first.
async fn run_until<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match deadline {
        None => Some(work.await),
        Some(deadline) => timeout_at(deadline, work).await.ok(),
    }
}

async fn session(
    service: &SessionOptions,
    deadline: Option<Instant>,
) -> Result<(Client, Session), Failure> {
    let settings = service.endpoints.resolve_connection_settings()?;
    let endpoints = settings.endpoints.join(", ");
    let client = client_of(settings)?;
    let started = async {
        client.wait_until_connected().await?;
        client.session(service.ttl).await
    };
    match run_until(deadline, started).await {
        Some(session) => Ok((client, session.map_err(Failure::environment)?)),
        None => Err(Failure::environment(match client.endpoint_failures() {
            Some(reason) => no_response_before_timeout(&reason),
            None => format!("no response from {endpoints} before --timeout has passed"),
        })),
    }
}

const HELD_BY_ANOTHER: &str = "another client holds it";

/// Describes why the lock was not acquired before `--timeout` passed, although the client has a
/// session.
fn reason_not_acquired(client: &Client) -> String {
    match client.endpoint_failures() {
        Some(reason) => no_response_before_timeout(&reason),
        None => HELD_BY_ANOTHER.to_owned(),
    }
}

fn no_response_before_timeout(reason: &str) -> String {
    format!("no response before --timeout has passed: {reason}")
}

fn not_held(name: &str, reason: NotHeld) -> u8 {
    match reason {
        NotHeld::Signalled(code) => code,
        NotHeld::Refused(reason) => {
            let reason = user::append_credentials_remedy(reason);
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

/// If the exit status in `done` is 0, returns success. Otherwise, ends this process with the exit
/// status. The caller must have done all cleanup.
pub(super) fn exit_unless_success(done: Result<u8, Failure>) -> Result<Status, Failure> {
    match done? {
        0 => Ok(Status::Success),
        code => std::process::exit(i32::from(code)),
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test]
    async fn release_ends_on_a_signal_or_after_its_time_limit() {
        run_until_signal(ready(()), async { panic!("a pending signal precedes the release") })
            .await;
        // Resolves after the time limit, although neither a signal nor a response arrives.
        run_until_signal(pending::<()>(), pending()).await;
    }

    #[test]
    fn fractional_ttl_is_rounded_up() {
        let seconds = |text| ttl(text).map(|ttl| (ttl.as_secs(), ttl.subsec_nanos()));
        for (text, expected) in [("2900ms", 3), ("1001ms", 2), ("3s", 3), ("1s", 1)] {
            assert_eq!(seconds(text), Ok((expected, 0)), "{text}");
        }
        assert!(ttl("999ms").is_err());
    }
}
