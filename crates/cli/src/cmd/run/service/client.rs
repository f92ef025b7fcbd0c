//! One client, as a process: it takes the lock and increments the counter, again and again.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::Args;
use tenure_client::{Access, Client, ClientError, Guard, Session};
use tenure_core::{Fence, ProcessId};
use tenure_daemon::resource;

use super::LOCK;
use super::claim::{Claim, now, now_or};
use super::clients::Charge;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::machine;

/// How long the lease of a client is.
const TTL: Duration = Duration::from_secs(3);

/// A client of `tenure run --service`
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    charge: Charge,
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
    let until = options.charge.begin()?;
    let runtime = machine::one_thread()?;
    runtime.block_on(work(options, until)).map(|()| Status::Held)
}

async fn work(options: &Options, until: Instant) -> Result<(), Failure> {
    let Charge { number, ref endpoints, seed, .. } = options.charge;
    // Every other asks whichever member it has come to, so that all of them are asked.
    let access = match number.is_multiple_of(2) {
        true => Access::default().any_member(),
        false => Access::default(),
    };
    let client = Client::connect_as(endpoints, access).await.map_err(Failure::environment)?;
    let process = ProcessId(number - 1);
    let mut counter =
        resource::Client::connect(options.resource, process).await.map_err(Failure::environment)?;
    let mut draws = fastrand::Rng::with_seed(seed ^ u64::from(number) << 32);
    let mut session: Option<Session> = None;
    while Instant::now() < until {
        let mut claim = Claim { client: number, asked: now(), ..Claim::default() };
        let goes_on = draws.bool() && !options.no_lock;
        if options.no_lock {
            increment(&mut claim, &mut counter, options).await?;
            claim.until = now();
        } else {
            match enter(&client, &mut session).await {
                Ok(guard) => {
                    let guard = inside(&mut claim, guard, &mut counter, options).await?;
                    match goes_on {
                        true => drop(guard),
                        false => claim.left = guard.release().await.is_ok(),
                    }
                }
                Err(ClientError::Refused { code, message }) => {
                    return Err(Failure::environment(format!("{code:?}: {message}")));
                }
                // It begins anew, with another session.
                Err(_) => {
                    session = None;
                    continue;
                }
            }
        }
        say(&claim)?;
        if goes_on {
            // It leaves with the call by which it asks for the lock again.
            continue;
        }
        let pause = draws.u64(..=options.think_micros);
        tokio::time::sleep(Duration::from_micros(pause)).await;
    }
    if let Some(session) = session {
        let _ = session.close().await;
    }
    Ok(())
}

async fn enter(client: &Client, session: &mut Option<Session>) -> Result<Guard, ClientError> {
    let alive = session.clone().filter(|session| session.ended().is_none());
    let alive = match alive {
        Some(alive) => alive,
        None => client.session(TTL).await?,
    };
    *session = Some(alive.clone());
    alive.lock(LOCK).await
}

async fn inside(
    claim: &mut Claim,
    guard: Guard,
    counter: &mut resource::Client,
    options: &Options,
) -> Result<Guard, Failure> {
    (claim.granted, claim.fence) = (now(), guard.fence());
    claim.key = String::from_utf8_lossy(guard.key()).into_owned();
    let deadline = guard.deadline();
    increment(claim, counter, options).await?;
    // Either it may still be claimed, or it was until the deadline of before.
    claim.until = now_or(guard.deadline().or(deadline));
    Ok(guard)
}

/// Reads, adds and writes, which are three things.
async fn increment(
    claim: &mut Claim,
    counter: &mut resource::Client,
    options: &Options,
) -> Result<(), Failure> {
    let fence = (!options.no_lock).then_some(Fence(0, claim.fence));
    claim.accessed = now();
    let read = counter.get(fence).await.map_err(Failure::environment)?;
    let Ok(value) = read else {
        claim.refused = true;
        return Ok(());
    };
    if options.hold_micros > 0 {
        tokio::time::sleep(Duration::from_micros(options.hold_micros)).await;
    }
    match counter.put(fence, value + 1).await.map_err(Failure::environment)? {
        Ok(()) => claim.written = Some(now()),
        Err(_) => claim.refused = true,
    }
    Ok(())
}

fn say(claim: &Claim) -> Result<(), Failure> {
    let line = serde_json::to_string(claim).map_err(Failure::environment)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Failure::environment)
}
