//! `tenure locks`.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use tenure_store::{Bytes, KeyValue, Share, claim_of};
use tenure_trace::plain;

use super::endpoint::{Endpoints, base64, bytes, number, unsigned};
use super::member::columns;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, print, print_json};

/// How many keys are asked for at once.
const PAGE: usize = 1000;

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
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let (text, value, format) = match &options.task {
        Task::Ls { prefix, asked } => {
            let locks = locks(&asked.endpoints, prefix)?;
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
        let below = keys(endpoints, format!("{name}/").as_bytes())?;
        let mut lock = lock(name.as_bytes(), &below);
        lock.ask_for_leases(endpoints)?;
        Ok(lock)
    }
}

/// All locks whose names begin so. A key may be in the queues of several: of every lock in whose
/// name it begins.
fn locks(endpoints: &Endpoints, prefix: &str) -> Result<Vec<Lock>, Failure> {
    let all = keys(endpoints, prefix.as_bytes())?;
    let names: BTreeSet<Bytes> = all.iter().filter_map(claim_of).map(|claim| claim.name).collect();
    let mut locks = Vec::new();
    for name in names {
        let begin = [&name[..], b"/"].concat();
        let first = all.partition_point(|kv| kv.key[..] < begin[..]);
        let below = all[first..].partition_point(|kv| kv.key.starts_with(&begin));
        let mut lock = lock(&name, &all[first..first + below]);
        lock.ask_for_leases(endpoints)?;
        locks.push(lock);
    }
    Ok(locks)
}

/// All keys that begin so, as of one moment, in their order, without their values.
fn keys(endpoints: &Endpoints, prefix: &[u8]) -> Result<Vec<KeyValue>, Failure> {
    let mut keys: Vec<KeyValue> = Vec::new();
    let mut revision = Value::Null;
    let mut from = if prefix.is_empty() { vec![0] } else { prefix.to_vec() };
    loop {
        let asked = json!({
            "key": base64(&from), "range_end": base64(&behind(prefix)), "limit": PAGE.to_string(),
            "keys_only": true, "revision": revision,
        });
        let answer = endpoints.ask("/v3/kv/range", &asked)?;
        let found = answer["kvs"].as_array().map_or(&[][..], Vec::as_slice);
        let before = keys.len().saturating_sub(1);
        keys.extend(found.iter().map(|kv| KeyValue {
            key: bytes(&kv["key"]).into(),
            create_revision: unsigned(&kv["create_revision"]),
            lease: u64::from_ne_bytes(number(&kv["lease"]).to_ne_bytes()),
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
            Some(last) if answer["more"] == true && !found.is_empty() => {
                from = [&last.key[..], &[0]].concat();
            }
            _ => return Ok(keys),
        }
        if revision.is_null() {
            revision = answer["header"]["revision"].clone();
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

/// A lock, made of all keys below its name.
fn lock(name: &[u8], below: &[KeyValue]) -> Lock {
    let mut below: Vec<&KeyValue> = below.iter().collect();
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
    Lock { name: plain(&String::from_utf8_lossy(name)).into_owned(), queue: places }
}

impl Lock {
    fn ask_for_leases(&mut self, endpoints: &Endpoints) -> Result<(), Failure> {
        let mut known: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        for place in self.queue.iter_mut().filter(|place| place.id != 0) {
            let (left, all) = match known.get(&place.id) {
                Some(known) => *known,
                None => {
                    let id = i64::from_ne_bytes(place.id.to_ne_bytes()).to_string();
                    let told = endpoints.ask("/v3/lease/timetolive", &json!({ "ID": id }))?;
                    (number(&told["TTL"]), number(&told["grantedTTL"]))
                }
            };
            known.insert(place.id, (left, all));
            // It has ended since.
            if left >= 0 && all > 0 {
                (place.seconds_left, place.seconds) = (Some(left), Some(all));
            }
        }
        Ok(())
    }

    fn holders(&self) -> impl Iterator<Item = &Place> {
        self.queue.iter().filter(|place| place.inside)
    }

    fn waiting(&self) -> impl Iterator<Item = &Place> {
        self.queue.iter().filter(|place| !place.inside)
    }

    fn told(&self) -> Value {
        let holders: Vec<&Place> = self.holders().collect();
        json!({ "name": self.name, "holders": holders, "waiting": self.waiting().count() })
    }

    fn shown(&self) -> String {
        if self.queue.is_empty() {
            return format!("nobody claims {}\n", self.name);
        }
        let waiting = self.waiting().count();
        let holders = self.holders().map(|it| format!("  {}\n", it.described()));
        format!("{}: {waiting} waiting, held by\n{}", self.name, holders.collect::<String>())
    }

    /// Sentences that say who holds it up, for how long at most, and who comes next.
    fn reasons(&self) -> Vec<String> {
        let Some(first) = self.queue.first() else {
            return vec![format!("nobody claims {}: whoever asks next is inside", self.name)];
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
    columns(&rows)
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
    fn a_prefix_ends_before_what_does_not_begin_so() {
        assert_eq!(behind(b"a/"), b"a0");
        assert_eq!(behind(b"a\xff"), b"b");
        assert_eq!(behind(b"\xff"), b"\0");
    }
}
