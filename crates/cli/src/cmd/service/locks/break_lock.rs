//! `tenure locks break`: takes a lock away from its holders.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use tenure_client::{ClientError, Code};

use super::queue::{Claim, Lock};
use super::stored_text::StoredText;
use super::{read, text};
use crate::cmd::duration;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::service::client_description::{ClaimOwner, ClientDescription};
use crate::cmd::service::endpoint::{BlockingClient, QueryOptions, request_failure};

/// Interval at which the command checks whether the holders have released the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Remaining time of a lease below which the command reads the remaining time from the service
/// again. The holder may have renewed the lease since the last read.
///
/// The limit is longer than the time between two polls, even if the service responds slowly.
const MIN_KNOWN_TIME: Duration = Duration::from_secs(3);

/// Maximum number of other keys of the lease of a holder that the confirmation lists.
const MAX_KEYS: usize = 5;

/// Take a lock away from its holders, or a leadership from the leader
///
/// First asks each holder to release the lock: `tenure lock` and `tenure elect` end their command,
/// release the lock and exit with status 121. So the command has ended before another client
/// acquires the lock. If a holder has not released the lock after --wait, its lease is revoked,
/// which ends all locks of its session; with --key-only, only its key is deleted. Holders that have
/// stored no value, such as clients of etcd, are not asked. No holder can be asked while the alarm
/// NOSPACE is active, because a request is a write. Their leases are revoked at once, and their
/// programs may continue without the lock.
///
/// On a terminal, the command shows the holders and asks for confirmation. With users, it needs
/// write permission for the keys. A member's log shows the client and the user that asked a holder
/// to release its claim, or that revoked a lease.
///
/// The output states how each holder lost the lock: it released the lock, its lease has expired
/// meanwhile, its lease was revoked, or its key was deleted.
///
/// Exit status: 0 if the holders have lost the lock, or if it is free; 3 if it was not confirmed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure locks break jobs/nightly
  tenure locks break --yes --fence 12 jobs/nightly
  tenure locks break --yes --force jobs/nightly")]
pub(super) struct Options {
    /// Name of the lock or election
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// Break the lock of only the holder with this fencing token [default: all holders]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    fence: Option<u64>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Revoke the leases at once, without asking the holders to release the lock
    #[arg(long)]
    force: bool,
    /// Time that holders have to release the lock
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10s")]
    #[arg(conflicts_with = "force")]
    wait: Duration,
    /// If a holder does not release the lock, delete only the key of this lock, and keep the lease
    /// with the holder's other locks
    #[arg(long)]
    key_only: bool,
    #[command(flatten)]
    common: QueryOptions,
}

/// Way in which a claim ended. Scripts depend on the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Released,
    LeaseExpired,
    LeaseRevoked,
    KeyDeleted,
}

/// A claim that has ended, and the way in which it ended. Scripts depend on the keys of its JSON
/// form.
#[derive(Debug, Serialize)]
struct Broken<'a> {
    #[serde(flatten)]
    claim: &'a Claim,
    outcome: Outcome,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    if !options.yes && !io::stdin().is_terminal() {
        return Err(Failure::usage("without a terminal for the confirmation, give --yes"));
    }
    let service = options.common.endpoints.blocking_client()?;
    let lock = read::fetch_lock_queue(&service, options.name.as_bytes())?;
    let is_selected = |claim: &&Claim| options.fence.is_none_or(|fence| claim.fence == fence);
    let holders: Vec<&Claim> = lock.holders().filter(is_selected).collect();
    if let Some(fence) = options.fence.filter(|_| holders.is_empty()) {
        let name = &lock.name;
        let message = format!("no holder of {name} has the fencing token {fence}");
        return Err(Failure::usage(message));
    }
    if !holders.is_empty() && !options.yes && !confirm(&service, &lock, &holders, options)? {
        return Err(Failure::incomplete(format!("{} was not broken", lock.name)));
    }
    let breaker = ClientDescription::of_this_process("tenure".to_owned());
    let broken = break_claims(&service, &holders, &breaker, options)?;
    let result = serde_json::json!({
        "name": lock.name, "broken_by": breaker.to_string(), "broken": broken,
    });
    options.common.format.print(&result, || match broken.is_empty() {
        true => format!("{} is free\n", lock.name),
        false => broken.iter().map(|it| line(&lock, it, &breaker)).collect(),
    })?;
    Ok(Status::Success)
}

fn line(lock: &Lock, broken: &Broken<'_>, breaker: &ClientDescription) -> String {
    let lease = broken.claim.lease.as_deref().unwrap_or_default();
    let how = match broken.outcome {
        Outcome::Released => "released".to_owned(),
        Outcome::LeaseExpired => format!("lease {lease} has expired"),
        Outcome::LeaseRevoked => format!("lease {lease} revoked"),
        Outcome::KeyDeleted => "key deleted".to_owned(),
    };
    let (name, holder, fence) = (&lock.name, broken.claim.label(), broken.claim.fence);
    format!("{name}, held by {holder} with fence {fence}, was broken by {breaker}: {how}\n")
}

/// Shows the holders on standard error, and reads the confirmation from standard input. Returns
/// true if the user confirms.
fn confirm(
    service: &BlockingClient,
    lock: &Lock,
    holders: &[&Claim],
    options: &Options,
) -> Result<bool, Failure> {
    let mut question = text::format_summary(lock);
    for holder in holders.iter().filter(|holder| holder.id != 0 && !options.key_only) {
        question += &other_keys(service, holder)?;
    }
    question += "Break it? [y/N] ";
    let mut output = io::stderr();
    let mut answer = String::new();
    let asked = output.write_all(question.as_bytes()).and_then(|()| output.flush());
    asked.and_then(|()| io::stdin().lock().read_line(&mut answer)).map_err(Failure::environment)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Returns a line about the other keys of the lease of the holder, which are deleted with the
/// lease. Returns an empty text if no other keys are known.
fn other_keys(service: &BlockingClient, holder: &Claim) -> Result<String, Failure> {
    // The list of keys is empty if the user may not read them.
    let keys = read::fetch_lease_keys(service, holder)?;
    let others = keys.into_iter().filter(|key| *key != holder.raw_key);
    let others: Vec<String> = others.map(|key| StoredText::new(&key).to_string()).collect();
    if others.is_empty() {
        return Ok(String::new());
    }
    let more = if others.len() > MAX_KEYS { ", …" } else { "" };
    let names = others[..others.len().min(MAX_KEYS)].join(", ");
    let count = others.len();
    Ok(format!("  the same lease has {count} other keys, which may end too: {names}{more}\n"))
}

/// State of a claim that the command ends.
struct Breaking<'a> {
    claim: &'a Claim,
    /// True if the command has asked the holder to release the claim.
    is_asked: bool,
    /// Time at which the lease of the claim expires if the client does not renew the lease. The
    /// time follows from the last read of the lease. `None` if the lease was not read yet, or if
    /// the claim has no lease.
    expires: Option<Instant>,
    /// Way in which the claim ended; `None` while the claim may exist.
    outcome: Option<Outcome>,
}

impl Breaking<'_> {
    /// Asks the service whether the claim still exists. If the claim exists, and its lease was not
    /// read yet or may expire soon, also reads the remaining time of the lease.
    fn update(&mut self, service: &BlockingClient) -> Result<(), Failure> {
        let read_at = Instant::now();
        let may_expire = self.expires.is_none_or(|expires| expires < read_at + MIN_KNOWN_TIME);
        if !read::claim_exists(service, self.claim)? {
            self.outcome = Some(self.outcome_of_ended());
        } else if self.claim.id != 0 && may_expire {
            let left = service.admin.lease_ttls(self.claim.signed_lease());
            // The response is `None` if the lease has ended since the key was read. The remaining
            // time only serves the report, so a failure does not stop the command.
            if let Ok(Some((left, _))) = service.call(left) {
                self.expires = read_at.checked_add(Duration::from_secs(left.unsigned_abs()));
            }
        }
        Ok(())
    }

    /// Returns the outcome of a claim that had already ended. If the last known remaining time of
    /// its lease has passed, the outcome is `LeaseExpired`. Otherwise, the outcome is `Released`.
    fn outcome_of_ended(&self) -> Outcome {
        match self.expires.is_some_and(|expires| expires <= Instant::now()) {
            true => Outcome::LeaseExpired,
            false => Outcome::Released,
        }
    }

    /// Ends the claim. Revokes the lease of the claim. If there is no lease or the user gives
    /// `--key-only`, deletes only the key of the claim.
    fn end(&mut self, service: &BlockingClient, options: &Options) -> Result<(), Failure> {
        let claim = self.claim;
        let (outcome, is_ended) = if claim.id == 0 || options.key_only {
            let deleted =
                service.call(service.admin.delete_lock_claim(&claim.raw_key, claim.fence))?;
            (Outcome::KeyDeleted, deleted)
        } else {
            let revoked = service.call(service.admin.revoke_lease(claim.signed_lease()))?;
            (Outcome::LeaseRevoked, revoked)
        };
        self.outcome = Some(if is_ended { outcome } else { self.outcome_of_ended() });
        Ok(())
    }
}

/// Ends the claims in `holders`. Unless `--force` is given, asks the holder of each claim to
/// release the claim, and waits for at most `--wait`. Then revokes the lease, or deletes the key,
/// of each claim that still exists. Does not wait for a holder that could not be asked.
fn break_claims<'a>(
    service: &BlockingClient,
    holders: &[&'a Claim],
    breaker: &ClientDescription,
    options: &Options,
) -> Result<Vec<Broken<'a>>, Failure> {
    let mut claims: Vec<Breaking<'a>> = Vec::new();
    for &claim in holders {
        let is_asked = !options.force && ask_to_release(service, claim, breaker)?;
        claims.push(Breaking { claim, is_asked, expires: None, outcome: None });
    }
    let deadline = Instant::now() + options.wait;
    loop {
        let can_wait = Instant::now() < deadline;
        for it in claims.iter_mut().filter(|it| it.outcome.is_none()) {
            it.update(service)?;
            let is_waiting = can_wait && it.is_asked;
            if it.outcome.is_none() && !is_waiting {
                it.end(service, options)?;
            }
        }
        if claims.iter().all(|it| it.outcome.is_some()) {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let broken = |it: Breaking<'a>| Some(Broken { claim: it.claim, outcome: it.outcome? });
    Ok(claims.into_iter().filter_map(broken).collect())
}

/// Asks the client of a claim to release the claim. The request is a write to the key of the claim.
/// Returns true if the request was written. Returns false if the client has stored no value in the
/// key, if the claim has ended, or if the store is full.
///
/// If the value of the key is not a [`ClientDescription`], the request writes the same value again.
/// The value must not change, because observers of an election would report a change of the leader.
fn ask_to_release(
    service: &BlockingClient,
    claim: &Claim,
    breaker: &ClientDescription,
) -> Result<bool, Failure> {
    let value = match &claim.owner {
        ClaimOwner::Command(holder) => holder.with_breaker(breaker).encode(),
        ClaimOwner::Text(_) => claim.value.clone(),
        ClaimOwner::Unknown => return Ok(false),
    };
    let asking = service.admin.put_lock_claim_value(&claim.raw_key, claim.fence, value);
    match service.block_on(asking) {
        Err(ClientError::Rejected { code: Code::ResourceExhausted, .. }) => Ok(false),
        asked => asked.map_err(request_failure),
    }
}
