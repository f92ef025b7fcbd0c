//! Reading values: what one member has, and in the end what each has.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_client::{Page, Query};

use super::claim::now;
use super::value::{Seen, Told, Value};
use crate::cmd::failure::Failure;
use crate::cmd::service::Service;

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
    let first = answer.keys.first();
    let value = first.map(|it| Value::of(&it.value));
    let told = Told { at: now(), revision: first.map_or(0, |it| it.mod_revision) };
    Ok(Seen { key: key.to_owned(), by: member.to_owned(), asked, told, value })
}

fn ask(member: &str, key: &str, its_own: bool) -> Result<Page, Failure> {
    let query = Query { key: key.into(), serializable: its_own, ..Query::default() };
    let service = Service::of(member)?;
    service.call(service.admin.range(query))
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
    Some(ask(member, "values", its_own).ok()?.revision)
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
