//! A client process of the lock service. The client repeatedly acquires the lock and increments a
//! counter. It stops at its time limit or after its first entry, whichever is later. With
//! `--no-lock`, it increments the counter without the lock.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::Args;
use tenure_client::{Client, ClientError, ConnectOptions, Guard, Session};
use tenure_core::{Fence, ProcessId};
use tenure_daemon::resource;
use tenure_trace::unix_time_nanos;

use super::LOCK_NAME;
use super::clients::{CommonClientOptions, print_json_line};
use super::entry_record::{EntryRecord, now_or_deadline};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::machine;

const LEASE_TTL: Duration = Duration::from_secs(3);

/// A client of `tenure run --service`
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonClientOptions,
    #[arg(long)]
    resource: SocketAddr,
    #[arg(long)]
    hold_micros: u64,
    #[arg(long)]
    think_micros: u64,
    #[arg(long)]
    no_lock: bool,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    options.common.end_with_parent()?;
    let until = options.common.deadline_from_now();
    let runtime = machine::current_thread_runtime()?;
    runtime.block_on(run_client(options, until)).map(|()| Status::Success)
}

async fn run_client(options: &Options, until: Instant) -> Result<(), Failure> {
    let CommonClientOptions { number, ref endpoints, seed, .. } = options.common;
    // Every second client stays connected to any member instead of the leader, so that all members
    // receive requests.
    let access = match number.is_multiple_of(2) {
        true => ConnectOptions::default().any_member(),
        false => ConnectOptions::default(),
    };
    let client = Client::connect_with(endpoints, access).await.map_err(Failure::environment)?;
    let process = ProcessId(number - 1);
    let mut counter = resource::CounterClient::connect(options.resource, process)
        .await
        .map_err(Failure::environment)?;
    let mut rng = fastrand::Rng::with_seed(seed ^ u64::from(number) << 32);
    let mut session: Option<Session> = None;
    let mut has_entered = false;
    while Instant::now() < until || !has_entered {
        let mut entry =
            EntryRecord { client: number, requested: unix_time_nanos(), ..EntryRecord::default() };
        let keeps_session = rng.bool() && !options.no_lock;
        if options.no_lock {
            increment(&mut entry, &mut counter, options).await?;
            entry.until = unix_time_nanos();
        } else {
            match acquire(&client, &mut session).await {
                Ok(guard) => {
                    let guard =
                        increment_under_lock(&mut entry, guard, &mut counter, options).await?;
                    match keeps_session {
                        true => drop(guard),
                        false => entry.left = guard.release().await.is_ok(),
                    }
                }
                Err(ClientError::Rejected { code, message }) => {
                    return Err(Failure::environment(format!("{code:?}: {message}")));
                }
                // After any other error, continues with a new session.
                Err(_) => {
                    session = None;
                    continue;
                }
            }
        }
        print_json_line(&entry)?;
        has_entered = true;
        if keeps_session {
            // Requests the lock again without a pause, so that a single transaction releases and
            // requests the lock.
            continue;
        }
        let pause = rng.u64(..=options.think_micros);
        tokio::time::sleep(Duration::from_micros(pause)).await;
    }
    if let Some(session) = session {
        let _ = session.close().await;
    }
    Ok(())
}

/// Acquires the lock in `session`. If there is no session or it has ended, starts a new one first.
async fn acquire(client: &Client, session: &mut Option<Session>) -> Result<Guard, ClientError> {
    let alive = session.clone().filter(|session| session.loss_reason().is_none());
    let alive = match alive {
        Some(alive) => alive,
        None => client.session(LEASE_TTL).await?,
    };
    *session = Some(alive.clone());
    alive.lock(LOCK_NAME).await
}

async fn increment_under_lock(
    entry: &mut EntryRecord,
    guard: Guard,
    counter: &mut resource::CounterClient,
    options: &Options,
) -> Result<Guard, Failure> {
    (entry.granted, entry.fence) = (unix_time_nanos(), guard.fence());
    entry.key = String::from_utf8_lossy(guard.key()).into_owned();
    let deadline = guard.deadline();
    increment(entry, counter, options).await?;
    // If the lock was lost during the increment, `guard.deadline()` is `None`. The client then
    // claims to hold the lock until the deadline that was valid before the increment.
    entry.until = now_or_deadline(guard.deadline().or(deadline));
    Ok(guard)
}

/// Reads the counter, adds one, and writes the result, as three separate steps. Records the times
/// in `entry`. If the resource rejects an access, sets `entry.refused` and stops.
async fn increment(
    entry: &mut EntryRecord,
    counter: &mut resource::CounterClient,
    options: &Options,
) -> Result<(), Failure> {
    let fence = (!options.no_lock).then_some(Fence(0, entry.fence));
    entry.accessed = unix_time_nanos();
    let read = counter.get(fence).await.map_err(Failure::environment)?;
    let Ok(value) = read else {
        entry.refused = true;
        return Ok(());
    };
    if options.hold_micros > 0 {
        tokio::time::sleep(Duration::from_micros(options.hold_micros)).await;
    }
    match counter.put(fence, value + 1).await.map_err(Failure::environment)? {
        Ok(()) => entry.written = Some(unix_time_nanos()),
        Err(_) => entry.refused = true,
    }
    Ok(())
}
