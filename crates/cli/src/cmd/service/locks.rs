//! `tenure locks`.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use tenure_client::{ClientError, Code, Page, Query};
use tenure_store::{Bytes, KeyValue, Share, claim_of};
use tenure_trace::plain;

use super::endpoint::{Endpoints, Service, failed};
use super::table::columns;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, print, print_json};

/// How many keys are asked for at once.
const PAGE: i64 = 1000;

/// Upper bound on warnings of nested names.
const MOST_NOTES: usize = 5;

/// How many keys are read.
const MOST_KEYS: usize = 1 << 20;

/// The locks and offices of a lock service, or of an etcd: who holds them, who waits, and why
///
/// A lock is what clients of etcd make of it: the keys NAME/LEASE below its name, in the order in
/// which they were made. Who is first is inside, and the number of the revision is its fence.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// All locks and offices that somebody claims
    Ls {
        /// Only those whose names begin so
        #[arg(value_name = "PREFIX", default_value = "")]
        prefix: String,
        #[command(flatten)]
        asked: Asked,
    },
    /// Who holds one, and how many wait
    Show(Named),
    /// Who holds one and who waits, in the order in which they are let in
    Queue(Named),
    /// Why whoever waits for one does so, and when that ends
    Why(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// The lock, as it was named when it was asked for
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, Args)]
struct Asked {
    #[command(flatten)]
    endpoints: Endpoints,
    /// How to print what is known
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// A key below the name of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Place {
    key: String,
    /// The lease with which it ends, in hexadecimal digits as clients have it.
    lease: Option<String>,
    fence: u64,
    /// `alone`, `shared` or `slots-N`.
    share: String,
    inside: bool,
    /// What is left of the lease and what it has in all, in seconds; nothing where it is over.
    seconds_left: Option<i64>,
    seconds: Option<i64>,
    #[serde(skip)]
    kind: Share,
    #[serde(skip)]
    id: u64,
}

/// A lock, and all who are there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Lock {
    name: String,
    queue: Vec<Place>,
    /// Number of keys of locks whose names begin with this one and a slash.
    nested: usize,
    /// The name of one of those.
    #[serde(skip)]
    example: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let (text, value, format) = match &options.task {
        Task::Ls { prefix, asked } => {
            let locks = locks(&asked.endpoints.service()?, prefix)?;
            let told: Vec<Value> = locks.iter().map(Lock::told).collect();
            (list(&locks), json!({ "locks": told }), asked.format)
        }
        Task::Show(named) => {
            let lock = named.lock()?;
            (lock.shown(), lock.told(), named.asked.format)
        }
        Task::Queue(named) => {
            let lock = named.lock()?;
            (table(&lock), json!(lock), named.asked.format)
        }
        Task::Why(named) => {
            let lock = named.lock()?;
            let says = lock.reasons();
            let value = json!({ "name": lock.name, "says": says });
            (says.join("\n") + "\n", value, named.asked.format)
        }
    };
    match format {
        Format::Json => print_json(&value)?,
        Format::Text => print(&text)?,
    }
    Ok(Status::Held)
}

impl Named {
    fn lock(&self) -> Result<Lock, Failure> {
        let Named { name, asked: Asked { endpoints, .. } } = self;
        let service = endpoints.service()?;
        let below = keys(&service, format!("{name}/").as_bytes())?;
        let mut lock = lock(name.as_bytes(), &below);
        lock.ask_for_leases(&service)?;
        Ok(lock)
    }
}

/// All locks whose names begin so.
fn locks(service: &Service, prefix: &str) -> Result<Vec<Lock>, Failure> {
    let all = keys(service, prefix.as_bytes())?;
    let names: BTreeSet<Bytes> = all.iter().filter_map(claim_of).map(|claim| claim.name).collect();
    let mut locks = Vec::new();
    for name in names {
        let begin = [&name[..], b"/"].concat();
        let first = all.partition_point(|kv| kv.key[..] < begin[..]);
        let below = all[first..].partition_point(|kv| kv.key.starts_with(&begin));
        let mut lock = lock(&name, &all[first..first + below]);
        lock.ask_for_leases(service)?;
        locks.push(lock);
    }
    Ok(locks)
}

/// All keys that begin so, as of one moment, in their order, without their values.
fn keys(service: &Service, prefix: &[u8]) -> Result<Vec<KeyValue>, Failure> {
    let mut keys: Vec<KeyValue> = Vec::new();
    let (mut revision, mut limit) = (0, PAGE);
    let mut from = if prefix.is_empty() { vec![0] } else { prefix.to_vec() };
    loop {
        let (key, range_end) = (from.clone(), behind(prefix));
        let query = Query { key, range_end, limit, revision, keys_only: true, ..Query::default() };
        let page = match service.run(service.admin.range(query)) {
            // Keys may be long: fewer of them fit into a response.
            Err(ClientError::Refused { code, .. })
                if limit > 1 && [Code::ResourceExhausted, Code::OutOfRange].contains(&code) =>
            {
                limit /= 2;
                continue;
            }
            page => page.map_err(failed)?,
        };
        let Page { revision: now, keys: found, has_more } = page;
        let (before, is_empty) = (keys.len().saturating_sub(1), found.is_empty());
        keys.extend(found.into_iter().map(|kv| KeyValue {
            key: kv.key.into(),
            create_revision: kv.create_revision,
            lease: u64::from_ne_bytes(kv.lease.to_ne_bytes()),
            ..KeyValue::default()
        }));
        // Whoever lies could go on for ever.
        if !keys[before..].is_sorted_by(|one, next| one.key < next.key) {
            return Err(Failure::environment("the keys of the answer are not in their order"));
        }
        if keys.len() > MOST_KEYS {
            let says = format!("there are more than {MOST_KEYS} keys; ask for a longer PREFIX");
            return Err(Failure::environment(says));
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

/// The first key behind all that begin so; for etcd, `\0` is behind all keys.
fn behind(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

/// True if a key below the name of a lock, given without name and slash, is of a lock whose
/// name is longer.
fn is_nested(rest: &[u8]) -> bool {
    rest.contains(&b'/')
}

/// A lock, made of all keys below its name. Those of locks below it are not in its queue.
fn lock(name: &[u8], below: &[KeyValue]) -> Lock {
    let (nested, below): (Vec<&KeyValue>, Vec<&KeyValue>) =
        below.iter().partition(|kv| kv.key.get(name.len() + 1..).is_some_and(is_nested));
    let mut below = below;
    below.sort_by(|one, other| {
        (one.create_revision, &one.key).cmp(&(other.create_revision, &other.key))
    });
    let mut places: Vec<Place> = Vec::new();
    let mut inside = Some(0);
    for kv in below {
        let claim = claim_of(kv).filter(|claim| claim.name[..] == *name);
        let kind = claim.map_or(Share::Exclusive, |claim| claim.share);
        let first = places.first().map(|place| place.kind);
        // Nobody goes ahead of who is not inside.
        inside = inside.filter(|inside| kind.may_join(*inside, first)).map(|inside| inside + 1);
        places.push(Place {
            key: plain(&String::from_utf8_lossy(&kv.key)).into_owned(),
            lease: (kv.lease != 0).then(|| format!("{:x}", kv.lease)),
            fence: kv.create_revision,
            share: match kind {
                Share::Exclusive => "alone".into(),
                Share::Shared => "shared".into(),
                Share::Slots(slots) => format!("slots-{slots}"),
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
    fn ask_for_leases(&mut self, service: &Service) -> Result<(), Failure> {
        let mut known: BTreeMap<u64, Option<(i64, i64)>> = BTreeMap::new();
        for place in self.queue.iter_mut().filter(|place| place.id != 0) {
            let left = match known.get(&place.id) {
                Some(known) => *known,
                None => {
                    let id = i64::from_ne_bytes(place.id.to_ne_bytes());
                    service.call(service.admin.lease_time_left(id))?
                }
            };
            known.insert(place.id, left);
            // If not, it has ended since.
            if let Some((left, all)) = left {
                (place.seconds_left, place.seconds) = (Some(left), Some(all));
            }
        }
        Ok(())
    }

    /// A warning, if other locks are named below this one.
    fn note(&self) -> Option<String> {
        let (name, nested, example) = (&self.name, self.nested, self.example.as_ref()?);
        let are = if nested == 1 { "1 key is".to_owned() } else { format!("{nested} keys are") };
        Some(format!(
            "note: {are} of locks named below {name}/, such as {example}: a client of etcd that \
             asks for {name} waits for them too, `tenure lock` does not"
        ))
    }

    fn holders(&self) -> impl Iterator<Item = &Place> {
        self.queue.iter().filter(|place| place.inside)
    }

    fn waiting(&self) -> impl Iterator<Item = &Place> {
        self.queue.iter().filter(|place| !place.inside)
    }

    fn told(&self) -> Value {
        let holders: Vec<&Place> = self.holders().collect();
        let waiting = self.waiting().count();
        json!({
            "name": self.name, "holders": holders, "waiting": waiting, "nested": self.nested,
        })
    }

    fn shown(&self) -> String {
        let note = self.note().map_or_else(String::new, |note| note + "\n");
        if self.queue.is_empty() {
            return format!("nobody claims {}\n{note}", self.name);
        }
        let waiting = self.waiting().count();
        let holders = self.holders().map(|it| format!("  {}\n", it.described()));
        let holders = holders.collect::<String>();
        format!("{}: {waiting} waiting, held by\n{holders}{note}", self.name)
    }

    /// Sentences that say who holds it up, for how long at most, and who comes next.
    fn reasons(&self) -> Vec<String> {
        let Some(first) = self.queue.first() else {
            let says = format!("nobody claims {}: whoever asks next is inside", self.name);
            return [says].into_iter().chain(self.note()).collect();
        };
        let mut says: Vec<String> = self
            .holders()
            .map(|it| format!("{} is held by {}", self.name, it.described()))
            .collect();
        for (place, it) in self.queue.iter().enumerate().filter(|(_, it)| !it.inside) {
            let why = match (it.kind, first.kind) {
                _ if !self.queue[place - 1].inside => "whoever is ahead of it waits as well",
                (Share::Slots(_), Share::Slots(_)) => "all slots are taken",
                (Share::Exclusive, _) => "it wants to be inside alone",
                _ => "who is inside does not share with it",
            };
            let who = it.who();
            says.push(format!("{who} waits at place {} of the queue: {why}", place + 1));
        }
        if let Some(next) = self.waiting().next() {
            let holders: Vec<&Place> = self.holders().collect();
            let left = holders.iter().map(|it| it.seconds_left).max().flatten();
            let when = match left {
                Some(left) if holders.iter().all(|it| it.seconds_left.is_some()) => {
                    format!(", or {left} s from now where nobody renews")
                }
                _ => String::new(),
            };
            says.push(format!("{} comes in when who is inside leaves{when}", next.who()));
        }
        says.extend(self.note());
        says
    }
}

impl Place {
    fn who(&self) -> String {
        match &self.lease {
            Some(lease) => format!("lease {lease}"),
            None => format!("the key {}", self.key),
        }
    }

    fn described(&self) -> String {
        let time = match (self.seconds_left, self.seconds) {
            (Some(left), Some(all)) => format!("{left} of {all} s left"),
            _ if self.id == 0 => "without a lease: it stays until somebody deletes it".into(),
            _ => "its lease is over".into(),
        };
        format!("{}, fence {}, {time}", self.who(), self.fence)
    }
}

fn list(locks: &[Lock]) -> String {
    if locks.is_empty() {
        return "nobody claims a lock\n".into();
    }
    let mut rows = vec![["lock", "held by", "fence", "left", "waiting"].map(str::to_owned)];
    for lock in locks {
        let waiting = lock.waiting().count().to_string();
        for (place, holder) in lock.holders().enumerate() {
            let [name, waiting] = match place {
                0 => [lock.name.clone(), waiting.clone()],
                _ => [String::new(), String::new()],
            };
            rows.push([name, holder.who(), holder.fence.to_string(), left(holder), waiting]);
        }
    }
    let notes: Vec<String> = locks.iter().filter_map(Lock::note).collect();
    let mut text = columns(&rows);
    notes.iter().take(MOST_NOTES).for_each(|note| text += &format!("{note}\n"));
    if let Some(more @ 1..) = notes.len().checked_sub(MOST_NOTES) {
        text += &format!("and {more} more names with others below them\n");
    }
    text
}

fn table(lock: &Lock) -> String {
    if lock.queue.is_empty() {
        return lock.shown();
    }
    let mut rows = vec![["", "who", "fence", "left", "wants it", ""].map(str::to_owned)];
    rows.extend(lock.queue.iter().enumerate().map(|(place, it)| {
        let inside = if it.inside { "inside" } else { "waits" };
        let place = (place + 1).to_string();
        [place, it.who(), it.fence.to_string(), left(it), it.share.clone(), inside.into()]
    }));
    columns(&rows)
}

fn left(place: &Place) -> String {
    place.seconds_left.map_or("-".into(), |left| format!("{left} s"))
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
    fn who_is_inside_is_the_head_of_the_queue() {
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
        // A key without a lease keeps others out as well.
        let stray = lock(b"a", &below(&[("a/b", 1, 0), ("a/2", 2, 2)]));
        assert!(stray.reasons()[0].contains("it stays until somebody deletes it"));
        assert_eq!(
            stray.reasons()[1],
            "lease 2 waits at place 2 of the queue: it wants to be inside alone"
        );
    }

    #[test]
    fn keys_of_nested_locks_are_counted_and_do_not_wait() {
        let lock = lock(b"a", &below(&[("a/1", 5, 1), ("a/b/2", 3, 2), ("a/b/c/3", 4, 3)]));
        let fences: Vec<_> = lock.queue.iter().map(|it| (it.fence, it.inside)).collect();
        assert_eq!((fences, lock.nested), (vec![(5, true)], 2));
        assert!(lock.note().is_some_and(|it| it.contains("2 keys") && it.contains("as a/b:")));
    }

    #[test]
    fn a_prefix_ends_before_what_does_not_begin_so() {
        assert_eq!(behind(b"a/"), b"a0");
        assert_eq!(behind(b"a\xff"), b"b");
        assert_eq!(behind(b"\xff"), b"\0");
    }
}
