//! Suspends lock holders, members, and both at random times, with clocks that run at different
//! rates.
//!
//! The tests use all kinds of locks. They assert that two processes never believe at the same time
//! that they hold the same exclusive lock. The guard of a resource must reject every late write.

mod claim_record;
mod held;
mod holder;
mod judge;
mod observer;
mod service;

use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::Signal;

use self::claim_record::ClaimRecord;
use self::held::RESOURCES;
use self::holder::{Holder, HolderConfig, end_file, write_logs};
use self::judge::{Evidence, late_writes, violations};
use self::observer::Observer;
use self::service::{Service, clock_library, signal};
use crate::skipped::report_skip;
use crate::{attack, has_given_seeds, seeds};

/// Number of suspensions in the run of one seed of `cargo xtask attack`.
const PAUSES: usize = 30;

/// Number of suspensions in an ordinary run of the tests, and in the control experiments. The
/// number is large enough for the control experiments to find violations.
const FEW_PAUSES: usize = 15;

/// Number of holder processes. The last two processes are never suspended, and receive the locks of
/// suspended processes.
const HOLDERS: u64 = 7;

const MEMBERS: usize = 3;

/// Greatest rate of one clock relative to another, if both are correct to 1 %.
const MAX_RATE: f64 = 1.01 / 0.99;

/// Time limit for two waits: until a holder process has ended, and until each lock has been held
/// once.
const END_TIMEOUT: Duration = Duration::from_secs(180);

#[derive(Clone, Copy, Debug)]
struct Conditions {
    pauses: usize,
    /// Time to live of the leases, in seconds.
    ttl: u64,
    /// Least and greatest rate of the members' clocks. The clocks of the holders have rate 1.
    rates: (f64, f64),
    /// True if the holders obey their deadlines. In a control experiment, the holders ignore their
    /// deadlines, and the value is false.
    obeys: bool,
    pauses_members: bool,
}

/// Conditions under which no violation may occur. The clocks of holders have rate 1. The rates of
/// the members' clocks cover the whole range that is allowed relative to a holder's clock.
const ALLOWED: Conditions = Conditions {
    pauses: PAUSES,
    ttl: 1,
    rates: (1.0 / MAX_RATE, MAX_RATE),
    obeys: true,
    pauses_members: true,
};

#[derive(Debug, Default)]
struct Outcome {
    evidence: Evidence,
    pauses: usize,
    rates: Vec<f64>,
    /// Number of writes that arrived after a write with a higher fencing token.
    late: usize,
}

fn run(seed: u64, conditions: Conditions) -> Result<Outcome, String> {
    let mut rng = Rng::with_seed(seed);
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let library = clock_library();
    let (slowest, fastest) = conditions.rates;
    let rates = (0..MEMBERS).map(|_| slowest + rng.f64() * (fastest - slowest));
    let rates: Vec<f64> = rates.collect();
    let service = Service::start(folder.path(), library.as_deref(), &rates);
    let observer = Observer::start(&service.endpoints);
    let holders = (0..HOLDERS).map(|number| {
        Holder::start(HolderConfig {
            endpoints: service.endpoints.clone(),
            folder: folder.path().to_owned(),
            number,
            seed,
            ttl: conditions.ttl,
            obeys: conditions.obeys,
        })
    });
    let mut holders: Vec<Holder> = holders.collect();
    // Gives the holders time to acquire locks before the first suspension.
    sleep(Duration::from_millis(500));
    let pauses = suspend(&service, &holders, conditions, &mut rng);
    // On a busy machine, some locks may not have been held yet. The last two holders are never
    // suspended and acquire these locks now.
    let started = Instant::now();
    while never_held(&holders.iter().flat_map(Holder::claims).collect::<Vec<_>>()).is_some()
        && started.elapsed() < END_TIMEOUT
    {
        sleep(Duration::from_millis(100));
    }
    std::fs::write(end_file(folder.path()), "").map_err(|error| error.to_string())?;
    for holder in &mut holders {
        let status = ended(&mut holder.child)?;
        if !status.success() {
            return Err(format!("a holder ended with {status}"));
        }
    }
    let claims: Vec<ClaimRecord> = holders.iter().flat_map(Holder::claims).collect();
    let fences: Vec<u64> = claims.iter().map(|claim| claim.fence).collect();
    let log = observer.finish(&fences)?;
    let writes = |place: usize| {
        RESOURCES.map(|resource| tokens(&write_logs(folder.path(), resource)[place])).to_vec()
    };
    let late = writes(1).iter().map(|tokens| late_writes(tokens)).sum();
    let evidence = Evidence { claims, log, accepted: writes(0) };
    let rates = if library.is_some() { rates } else { Vec::new() };
    Ok(Outcome { evidence, pauses, rates, late })
}

/// Suspends processes at random times, and returns the number of suspensions. Three threads suspend
/// processes at the same time. Each of the first two threads has two holders, and suspends one of
/// them at a time. The third thread suspends a fifth holder, a member, or both. If `pauses_members`
/// is false, the third thread suspends only the fifth holder.
fn suspend(service: &Service, holders: &[Holder], conditions: Conditions, rng: &mut Rng) -> usize {
    let done = AtomicUsize::new(0);
    let (pairs, last) = holders.split_at(4);
    let mut rngs: Vec<Rng> = (0..3).map(|_| rng.fork()).collect();
    std::thread::scope(|scope| {
        for (pair, mut rng) in pairs.chunks(2).zip(rngs.drain(..2)) {
            let done = &done;
            scope.spawn(move || {
                while take(done, conditions.pauses) {
                    let chosen = &pair[rng.usize(..pair.len())].child;
                    pause(&[chosen], conditions.ttl, &mut rng);
                }
            });
        }
        let (mut rng, done) = (rngs.remove(0), &done);
        scope.spawn(move || {
            let mut turn = 0;
            while take(done, conditions.pauses) {
                let member = &service.members[rng.usize(..service.members.len())];
                let holder = &last[0].child;
                let both = [member, holder];
                let chosen = match turn % 3 {
                    _ if !conditions.pauses_members => &both[1..],
                    0 => &both[..],
                    1 => &both[..1],
                    _ => &both[1..],
                };
                turn += 1;
                pause(chosen, conditions.ttl, &mut rng);
            }
        });
    });
    done.into_inner().min(conditions.pauses)
}

/// Adds 1 to `done`, the number of suspensions. Returns true if the number was less than `count`
/// before.
fn take(done: &AtomicUsize, count: usize) -> bool {
    done.fetch_add(1, Ordering::Relaxed) < count
}

/// Suspends the chosen processes at the same time, for at most twice the time to live. Then lets
/// them run for a while.
fn pause(chosen: &[&Child], ttl: u64, rng: &mut Rng) {
    chosen.iter().for_each(|child| signal(child, Signal::STOP));
    sleep(Duration::from_millis(rng.u64(50..ttl * 2_000)));
    chosen.iter().for_each(|child| signal(child, Signal::CONT));
    sleep(Duration::from_millis(rng.u64(200..800)));
}

/// Waits until a process has ended. Returns an error after [`END_TIMEOUT`].
fn ended(child: &mut Child) -> Result<ExitStatus, String> {
    let started = Instant::now();
    while started.elapsed() < END_TIMEOUT {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(status),
            None => sleep(Duration::from_millis(10)),
        }
    }
    Err("a holder does not end".to_owned())
}

fn tokens(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.parse().expect("a token")).collect()
}

/// Returns the name of a lock that no process has held, if there is one.
fn never_held(claims: &[ClaimRecord]) -> Option<&'static str> {
    let is_held = |group: &str| claims.iter().any(|claim| claim.group == group);
    RESOURCES.into_iter().chain(["slots", "semaphore"]).find(|group| !is_held(group))
}

fn judge(seed: u64) -> Result<(), String> {
    let pauses = if has_given_seeds() { PAUSES } else { FEW_PAUSES };
    let outcome = run(seed, Conditions { pauses, ..ALLOWED })?;
    let Outcome { evidence, pauses, rates, late } = &outcome;
    let claims = evidence.claims.len();
    let found = violations(evidence);
    eprintln!(
        "seed {seed}: {pauses} pauses, {claims} claims, {late} late writes, rates {rates:.4?}"
    );
    if let Some(group) = never_held(&evidence.claims) {
        return Err(format!("no process has held {group}"));
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(found.join("\n")),
    }
}

#[test]
fn no_claim_outlives_the_grant_under_random_pauses() {
    if clock_library().is_none() {
        report_skip("libfaketime for different clock rates");
    }
    attack("pauses", seeds(0..1), judge);
}

/// Repeats runs until a run contains a late claim: a process claims to hold a lock, although the
/// service has removed the request of this process from the queue. Returns false if no run contains
/// a late claim.
fn finds_late_claim(conditions: Conditions) -> bool {
    let _slot = crate::waiting::cluster_slot();
    (0..6).any(|seed| {
        let outcome = run(seed, conditions).expect("a run");
        let found = violations(&outcome.evidence);
        eprintln!("{} late writes: {found:?}", outcome.late);
        let guard_failed = found.iter().any(|it| it.contains("the guard accepted"));
        assert!(!guard_failed, "the guard does not depend on the holders");
        found.iter().any(|it| it.contains("after its removal"))
    })
}

/// Control experiment: if holders ignore their deadlines, the test finds claims that overlap.
#[test]
#[ignore = "long: 19 s"]
fn holders_that_ignore_deadlines_are_found() {
    let holders =
        Conditions { pauses: FEW_PAUSES, ttl: 2, obeys: false, pauses_members: false, ..ALLOWED };
    assert!(finds_late_claim(Conditions { rates: (1.0, 1.0), ..holders }));
}

/// Control experiment: if the clocks of members are 40 % faster than those of holders, the test
/// finds claims that overlap.
#[test]
#[ignore = "long: 23 s"]
fn clocks_beyond_the_bound_are_found() {
    if clock_library().is_none() {
        return report_skip("libfaketime");
    }
    let clocks = Conditions { pauses: FEW_PAUSES, ttl: 2, pauses_members: false, ..ALLOWED };
    assert!(finds_late_claim(Conditions { rates: (1.4, 1.4), ..clocks }));
}
