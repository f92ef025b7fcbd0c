//! Reading values: what one member has, and in the end what each has.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::claim::now;
use super::value::{Seen, Told, Value};
use crate::cmd::failure::Failure;
use crate::cmd::service::{Endpoints, base64, bytes, unsigned};

/// How long a member may take to have what all have, after all were started again.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a member is left alone before it is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// What was found in the end.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) seen: Vec<Seen>,
    /// Whoever did not come to have what all have, by their places from 0 on.
    pub(super) behind: Vec<usize>,
}

/// What a member says there is at a key: what all agree upon, or what it has of its own.
pub(super) fn read(member: &str, key: &str, its_own: bool) -> Result<Seen, Failure> {
    let asked = now();
    let answer = ask(member, key, its_own)?;
    let first = &answer["kvs"][0];
    // What is 0 or empty is left out.
    let value = first.is_object().then(|| Value::of(&bytes(&first["value"])));
    let told = Told { at: now(), revision: unsigned(&first["mod_revision"]) };
    Ok(Seen { key: key.to_owned(), by: member.to_owned(), asked, told, value })
}

fn ask(member: &str, key: &str, its_own: bool) -> Result<Json, Failure> {
    let asked = json!({ "key": base64(key.as_bytes()), "serializable": its_own });
    Endpoints::of(member).ask("/v3/kv/range", &asked)
}

/// What there is at these keys: of each member by the word of all, and what it has of its own, once
/// it has come as far as the others.
pub(super) fn read_all(members: &[String], keys: &BTreeSet<String>) -> Found {
    let mut found = Found::default();
    let deadline = Instant::now() + PATIENCE;
    let agreed = until(deadline, || members.iter().find_map(|member| revision(member, false)));
    for (place, member) in members.iter().enumerate() {
        let has_come = || revision(member, true).filter(|own| Some(*own) >= agreed);
        let seen: Option<Vec<Seen>> =
            agreed.and_then(|_| until(deadline, has_come)).and_then(|_| {
                let both = keys.iter().flat_map(|key| [(key, false), (key, true)]);
                both.map(|(key, own)| until(deadline, || read(member, key, own).ok())).collect()
            });
        match seen {
            Some(seen) => found.seen.extend(seen),
            None => found.behind.push(place),
        }
    }
    found
}

/// The revision that a member is at.
fn revision(member: &str, its_own: bool) -> Option<u64> {
    Some(unsigned(&ask(member, "values", its_own).ok()?["header"]["revision"]))
}

/// What comes of it at last, unless nothing does until the deadline.
fn until<T>(deadline: Instant, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() >= deadline {
            return answer;
        }
        sleep(PAUSE);
    }
}
