//! `tenure locks`: the locks of a lock service.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use tenure_client::{ClientError, Code, Page, Query};
use tenure_store::{Bytes, KeyValue, LockMode, claim_of};
use tenure_trace::plain;

use super::endpoint::{Endpoints, Service, request_failure};
use super::table::columns;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, print, print_json};

/// Number of keys per request.
const PAGE_SIZE: i64 = 1000;

/// Upper bound on the number of warnings about nested names.
const MAX_NOTES: usize = 5;

/// Upper bound on the number of keys that are read.
const MAX_KEYS: usize = 1 << 20;

/// Show the locks and elections of a lock service or an etcd: holders, waiters, reasons
///
/// A lock consists of the keys NAME/LEASE below its name, as clients of etcd create them, in the
/// order of their creation. The first key belongs to the holder, and its revision is the fencing
/// token.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure locks ls
  tenure locks why jobs/nightly
  tenure locks queue jobs/nightly --format json")]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// List the locks and elections that are held or waited for
    Ls {
        /// Only names with this prefix
        #[arg(value_name = "PREFIX", default_value = "")]
        prefix: String,
        #[command(flatten)]
        common: CommonOptions,
    },
    /// Show the holders of a lock and the number of waiters
    Show(LockOptions),
    /// Show the queue of a lock: holders and waiters in the order of acquisition
    Queue(LockOptions),
    /// Explain why each waiter waits, and until when
    Why(LockOptions),
}

#[derive(Debug, Args)]
struct LockOptions {
    /// Name of the lock or election
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    common: CommonOptions,
}

#[derive(Debug, Args)]
struct CommonOptions {
    #[command(flatten)]
    endpoints: Endpoints,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// A claim on a lock. It is a key below the name of the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Claim {
    key: String,
    /// ID of the lease that the key is attached to, in hexadecimal.
    lease: Option<String>,
    fence: u64,
    /// `alone`, `shared` or `slots-N`.
    share: String,
    inside: bool,
    /// Remaining time of the lease, in seconds; `None` if the lease has expired.
    seconds_left: Option<i64>,
    seconds: Option<i64>,
    #[serde(skip)]
    kind: LockMode,
    #[serde(skip)]
    id: u64,
}

/// A lock with all its claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Lock {
    name: String,
    queue: Vec<Claim>,
    /// Number of keys that belong to other locks, whose names begin with this name and a slash.
    nested: usize,
    /// Name of one of these other locks; `None` if there are none.
    #[serde(skip)]
    example: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let (text, value, format) = match &options.task {
        Task::Ls { prefix, common } => {
            let locks = locks(&common.endpoints.service()?, prefix)?;
            let to_json: Vec<Value> = locks.iter().map(Lock::to_json).collect();
            (format_list(&locks), json!({ "locks": to_json }), common.format)
        }
        Task::Show(selected) => {
            let lock = selected.lock()?;
            (lock.summary(), lock.to_json(), selected.common.format)
        }
        Task::Queue(selected) => {
            let lock = selected.lock()?;
            (format_queue(&lock), json!(lock), selected.common.format)
        }
        Task::Why(selected) => {
            let lock = selected.lock()?;
            let lines = lock.explanation();
            let value = json!({ "name": lock.name, "explanation": lines });
            (lines.join("\n") + "\n", value, selected.common.format)
        }
    };
    match format {
        Format::Json => print_json(&value)?,
        Format::Text => print(&text)?,
    }
    Ok(Status::Success)
}

impl LockOptions {
    fn lock(&self) -> Result<Lock, Failure> {
        let LockOptions { name, common: CommonOptions { endpoints, .. } } = self;
        let service = endpoints.service()?;
        let below = keys(&service, format!("{name}/").as_bytes())?;
        let mut lock = lock(name.as_bytes(), &below);
        lock.fetch_leases(&service)?;
        Ok(lock)
    }
}

/// Reads all locks whose names begin with a prefix.
fn locks(service: &Service, prefix: &str) -> Result<Vec<Lock>, Failure> {
    let all = keys(service, prefix.as_bytes())?;
    let names: BTreeSet<Bytes> = all.iter().filter_map(claim_of).map(|claim| claim.name).collect();
    let mut locks = Vec::new();
    for name in names {
        let begin = [&name[..], b"/"].concat();
        let first = all.partition_point(|kv| kv.key[..] < begin[..]);
        let below = all[first..].partition_point(|kv| kv.key.starts_with(&begin));
        let mut lock = lock(&name, &all[first..first + below]);
        lock.fetch_leases(service)?;
        locks.push(lock);
    }
    Ok(locks)
}

/// Reads all keys that begin with a prefix, without values. All reads are of one revision.
fn keys(service: &Service, prefix: &[u8]) -> Result<Vec<KeyValue>, Failure> {
    let mut keys: Vec<KeyValue> = Vec::new();
    let (mut revision, mut limit) = (0, PAGE_SIZE);
    let mut from = if prefix.is_empty() { vec![0] } else { prefix.to_vec() };
    loop {
        let (key, range_end) = (from.clone(), range_end_of(prefix));
        let query = Query { key, range_end, limit, revision, keys_only: true, ..Query::default() };
        let page = match service.run(service.admin.range(query)) {
            // Keys may be long, so that fewer of them fit into a response.
            Err(ClientError::Rejected { code, .. })
                if limit > 1 && [Code::ResourceExhausted, Code::OutOfRange].contains(&code) =>
            {
                limit /= 2;
                continue;
            }
            page => page.map_err(request_failure)?,
        };
        let Page { revision: now, keys: found, has_more } = page;
        let (before, is_empty) = (keys.len().saturating_sub(1), found.is_empty());
        keys.extend(found.into_iter().map(|kv| KeyValue {
            key: kv.key.into(),
            create_revision: kv.create_revision,
            lease: u64::from_ne_bytes(kv.lease.to_ne_bytes()),
            ..KeyValue::default()
        }));
        // A faulty service could otherwise send keys without end.
        if !keys[before..].is_sorted_by(|one, next| one.key < next.key) {
            return Err(Failure::environment("the keys of the response are not sorted"));
        }
        if keys.len() > MAX_KEYS {
            let lines = format!("there are more than {MAX_KEYS} keys: give a longer PREFIX");
            return Err(Failure::environment(lines));
        }
        match keys.last() {
            Some(last) if has_more && !is_empty => from = [&last.key[..], &[0]].concat(),
            _ => return Ok(keys),
        }
        if revision == 0 {
            revision = now;
        }
    }
}

/// Returns the end of the range of keys that begin with a prefix. In etcd, the end `\0` means that
/// the range has no end.
fn range_end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

/// Returns true if a key belongs to a lock whose name is longer. `rest` is the key without the name
/// and the slash.
fn is_nested(rest: &[u8]) -> bool {
    rest.contains(&b'/')
}

/// Builds a lock from the keys below its name. Keys of locks with longer names are counted and are
/// not in the queue.
fn lock(name: &[u8], below: &[KeyValue]) -> Lock {
    let (nested, below): (Vec<&KeyValue>, Vec<&KeyValue>) =
        below.iter().partition(|kv| kv.key.get(name.len() + 1..).is_some_and(is_nested));
    let mut below = below;
    below.sort_by(|one, other| {
        (one.create_revision, &one.key).cmp(&(other.create_revision, &other.key))
    });
    let mut places: Vec<Claim> = Vec::new();
    let mut inside = Some(0);
    for kv in below {
        let claim = claim_of(kv).filter(|claim| claim.name[..] == *name);
        let kind = claim.map_or(LockMode::Exclusive, |claim| claim.mode);
        let first = places.first().map(|position| position.kind);
        // A claim cannot be granted before an earlier one that waits.
        inside = inside.filter(|inside| kind.can_join(*inside, first)).map(|inside| inside + 1);
        places.push(Claim {
            key: plain(&String::from_utf8_lossy(&kv.key)).into_owned(),
            lease: (kv.lease != 0).then(|| format!("{:x}", kv.lease)),
            fence: kv.create_revision,
            share: match kind {
                LockMode::Exclusive => "alone".into(),
                LockMode::Shared => "shared".into(),
                LockMode::Slots(slots) => format!("slots-{slots}"),
            },
            inside: inside.is_some(),
            seconds_left: None,
            seconds: None,
            kind,
            id: kv.lease,
        });
    }
    let text = |bytes: &[u8]| plain(&String::from_utf8_lossy(bytes)).into_owned();
    let example = nested.first().map(|kv| match claim_of(kv) {
        Some(claim) => text(&claim.name),
        None => text(&kv.key),
    });
    Lock { name: text(name), queue: places, nested: nested.len(), example }
}

impl Lock {
    fn fetch_leases(&mut self, service: &Service) -> Result<(), Failure> {
        let mut known: BTreeMap<u64, Option<(i64, i64)>> = BTreeMap::new();
        for position in self.queue.iter_mut().filter(|position| position.id != 0) {
            let left = match known.get(&position.id) {
                Some(known) => *known,
                None => {
                    let id = i64::from_ne_bytes(position.id.to_ne_bytes());
                    service.call(service.admin.lease_time_left(id))?
                }
            };
            known.insert(position.id, left);
            // `None` if the lease has expired in the meantime.
            if let Some((left, all)) = left {
                (position.seconds_left, position.seconds) = (Some(left), Some(all));
            }
        }
        Ok(())
    }

    /// Returns a warning if the names of other locks begin with this name and a slash.
    fn note(&self) -> Option<String> {
        let (name, nested, example) = (&self.name, self.nested, self.example.as_ref()?);
        let are = if nested == 1 { "1 key is".to_owned() } else { format!("{nested} keys are") };
        Some(format!(
            "note: {are} of locks named below {name}/, such as {example}: a client of etcd that \
             asks for {name} waits for them too, `tenure lock` does not"
        ))
    }

    fn holders(&self) -> impl Iterator<Item = &Claim> {
        self.queue.iter().filter(|position| position.inside)
    }

    fn waiting(&self) -> impl Iterator<Item = &Claim> {
        self.queue.iter().filter(|position| !position.inside)
    }

    fn to_json(&self) -> Value {
        let holders: Vec<&Claim> = self.holders().collect();
        let waiting = self.waiting().count();
        json!({
            "name": self.name, "holders": holders, "waiting": waiting, "nested": self.nested,
        })
    }

    fn summary(&self) -> String {
        let note = self.note().map_or_else(String::new, |note| note + "\n");
        if self.queue.is_empty() {
            return format!("{} is free\n{note}", self.name);
        }
        let waiting = self.waiting().count();
        let holders = self.holders().map(|it| format!("  {}\n", it.description()));
        let holders = holders.collect::<String>();
        format!("{}: {waiting} waiting, held by\n{holders}{note}", self.name)
    }

    /// Explains which clients hold the lock, why each waiter waits and for how long at most, and
    /// which client is next.
    fn explanation(&self) -> Vec<String> {
        let Some(first) = self.queue.first() else {
            let lines = format!("{} is free: the next client acquires it", self.name);
            return [lines].into_iter().chain(self.note()).collect();
        };
        let mut lines: Vec<String> = self
            .holders()
            .map(|it| format!("{} is held by {}", self.name, it.description()))
            .collect();
        for (position, it) in self.queue.iter().enumerate().filter(|(_, it)| !it.inside) {
            let reason = match (it.kind, first.kind) {
                _ if !self.queue[position - 1].inside => "the claim ahead of it waits as well",
                (LockMode::Slots(_), LockMode::Slots(_)) => "all slots are in use",
                (LockMode::Exclusive, _) => "it requests exclusive access",
                _ => "the holder does not share the lock",
            };
            let label = it.label();
            lines
                .push(format!("{label} waits at position {} of the queue: {reason}", position + 1));
        }
        if let Some(next) = self.waiting().next() {
            let holders: Vec<&Claim> = self.holders().collect();
            let left = holders.iter().map(|it| it.seconds_left).max().flatten();
            let when = match left {
                Some(left) if holders.iter().all(|it| it.seconds_left.is_some()) => {
                    format!(", or in {left} s if the leases are not renewed")
                }
                _ => String::new(),
            };
            lines.push(format!(
                "{} acquires the lock when its holders release it{when}",
                next.label()
            ));
        }
        lines.extend(self.note());
        lines
    }
}

impl Claim {
    fn label(&self) -> String {
        match &self.lease {
            Some(lease) => format!("lease {lease}"),
            None => format!("the key {}", self.key),
        }
    }

    fn description(&self) -> String {
        let time = match (self.seconds_left, self.seconds) {
            (Some(left), Some(all)) => format!("{left} of {all} s left"),
            _ if self.id == 0 => "without a lease: it stays until the key is deleted".into(),
            _ => "its lease has expired".into(),
        };
        format!("{}, fence {}, {time}", self.label(), self.fence)
    }
}

fn format_list(locks: &[Lock]) -> String {
    if locks.is_empty() {
        return "no locks are held\n".into();
    }
    let mut rows = vec![["lock", "held by", "fence", "left", "waiting"].map(str::to_owned)];
    for lock in locks {
        let waiting = lock.waiting().count().to_string();
        for (position, holder) in lock.holders().enumerate() {
            let [name, waiting] = match position {
                0 => [lock.name.clone(), waiting.clone()],
                _ => [String::new(), String::new()],
            };
            rows.push([name, holder.label(), holder.fence.to_string(), left(holder), waiting]);
        }
    }
    let notes: Vec<String> = locks.iter().filter_map(Lock::note).collect();
    let mut text = columns(&rows);
    notes.iter().take(MAX_NOTES).for_each(|note| text += &format!("{note}\n"));
    if let Some(more @ 1..) = notes.len().checked_sub(MAX_NOTES) {
        text += &format!("and {more} more names with nested locks\n");
    }
    text
}

fn format_queue(lock: &Lock) -> String {
    if lock.queue.is_empty() {
        return lock.summary();
    }
    let mut rows = vec![["", "client", "fence", "left", "mode", ""].map(str::to_owned)];
    rows.extend(lock.queue.iter().enumerate().map(|(position, it)| {
        let inside = if it.inside { "holds" } else { "waits" };
        let position = (position + 1).to_string();
        [position, it.label(), it.fence.to_string(), left(it), it.share.clone(), inside.into()]
    }));
    columns(&rows)
}

fn left(position: &Claim) -> String {
    position.seconds_left.map_or("-".into(), |left| format!("{left} s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(keys: &[(&str, u64, u64)]) -> Vec<KeyValue> {
        let key = |(key, create_revision, lease): &(&str, u64, u64)| KeyValue {
            key: Bytes::from(key.as_bytes()),
            create_revision: *create_revision,
            lease: *lease,
            ..KeyValue::default()
        };
        keys.iter().map(key).collect()
    }

    #[test]
    fn holders_are_the_head_of_the_queue() {
        let inside = |keys: &[(&str, u64, u64)]| -> Vec<(u64, bool)> {
            lock(b"a", &below(keys)).queue.iter().map(|it| (it.fence, it.inside)).collect()
        };
        assert_eq!(inside(&[("a/2", 9, 2), ("a/1", 5, 1)]), [(5, true), (9, false)]);
        let readers = [("a/1.shared", 1, 1), ("a/2.shared", 2, 2), ("a/3", 3, 3)];
        assert_eq!(inside(&readers), [(1, true), (2, true), (3, false)]);
        let late = [("a/1.shared", 1, 1), ("a/2", 2, 2), ("a/3.shared", 3, 3)];
        assert_eq!(inside(&late), [(1, true), (2, false), (3, false)]);
        let slots = [("a/1.slots-1", 1, 1), ("a/2.slots-1", 2, 2)];
        assert_eq!(inside(&slots), [(1, true), (2, false)]);
        // A key without a lease blocks other clients as well.
        let stray = lock(b"a", &below(&[("a/b", 1, 0), ("a/2", 2, 2)]));
        assert!(stray.explanation()[0].contains("it stays until the key is deleted"));
        assert_eq!(
            stray.explanation()[1],
            "lease 2 waits at position 2 of the queue: it requests exclusive access"
        );
    }

    #[test]
    fn nested_locks_are_counted_and_not_queued() {
        let lock = lock(b"a", &below(&[("a/1", 5, 1), ("a/b/2", 3, 2), ("a/b/c/3", 4, 3)]));
        let fences: Vec<_> = lock.queue.iter().map(|it| (it.fence, it.inside)).collect();
        assert_eq!((fences, lock.nested), (vec![(5, true)], 2));
        assert!(lock.note().is_some_and(|it| it.contains("2 keys") && it.contains("as a/b:")));
    }

    #[test]
    fn range_end_excludes_other_prefixes() {
        assert_eq!(range_end_of(b"a/"), b"a0");
        assert_eq!(range_end_of(b"a\xff"), b"b");
        assert_eq!(range_end_of(b"\xff"), b"\0");
    }
}
