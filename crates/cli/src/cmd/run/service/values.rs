//! Whether values were kept: what was acknowledged is found afterwards, as it was put.

use std::collections::BTreeMap;

use super::value::{Put, Seen, Told, Value};

/// What is wrong with what was put and found, if anything is: the first case.
pub(super) fn lost(puts: &[Put], seen: &[&Seen]) -> Option<String> {
    let mut keys: BTreeMap<&str, (Vec<&Put>, Vec<&Seen>)> = BTreeMap::new();
    for put in puts {
        keys.entry(&put.key).or_default().0.push(put);
    }
    for seen in seen.iter().copied() {
        keys.entry(&seen.key).or_default().1.push(seen);
    }
    let of_keys = || keys.iter().find_map(|(key, (puts, seen))| lost_at(key, puts, seen));
    out_of_order(puts).or_else(of_keys)
}

/// Whether a put was told no greater revision than one that was confirmed before it was asked, or
/// the same as another.
fn out_of_order(puts: &[Put]) -> Option<String> {
    let told = || puts.iter().filter_map(|put| Some((put, put.told?)));
    let mut asked: Vec<(&Put, Told)> = told().collect();
    asked.sort_by_key(|(put, _)| put.asked);
    let mut before: Vec<Told> = told().map(|(_, told)| told).collect();
    before.sort_by_key(|told| told.at);
    let (mut before, mut highest) = (before.into_iter().peekable(), 0);
    for (put, told) in &asked {
        while let Some(earlier) = before.next_if(|earlier| earlier.at < put.asked) {
            highest = highest.max(earlier.revision);
        }
        if told.revision <= highest {
            let (key, revision) = (&put.key, told.revision);
            return Some(format!("{key} was put in revision {revision}, after {highest} was told"));
        }
    }
    asked.sort_by_key(|(_, told)| told.revision);
    let twice = asked.windows(2).find(|pair| pair[0].1.revision == pair[1].1.revision)?;
    let [one, other] = [&twice[0].0.key, &twice[1].0.key];
    Some(format!("two puts, of {one} and {other}, were told revision {}", twice[0].1.revision))
}

/// The same of what was found at one key.
fn lost_at(key: &str, puts: &[&Put], seen: &[&Seen]) -> Option<String> {
    // What was known of it when.
    let put = puts.iter().filter_map(|put| put.told);
    let mut known: Vec<Told> = put.chain(seen.iter().map(|seen| seen.told)).collect();
    known.sort_by_key(|told| told.at);
    let (mut known, mut latest) = (known.into_iter().peekable(), 0);
    let mut revisions: BTreeMap<u64, Value> = BTreeMap::new();
    let told = puts.iter().filter_map(|put| Some((put.told?.revision, put.value)));
    revisions.extend(told);
    let mut in_order = seen.to_vec();
    in_order.sort_by_key(|seen| seen.asked);
    for seen in in_order {
        let (by, revision) = (&seen.by, seen.told.revision);
        while let Some(earlier) = known.next_if(|earlier| earlier.at < seen.asked) {
            latest = latest.max(earlier.revision);
        }
        if revision < latest {
            return Some(format!(
                "{by} has {key} as of revision {revision}, and it was known as of {latest}"
            ));
        }
        let Some(value) = seen.value else { continue };
        let put = puts.iter().find(|put| put.value == value);
        let Some(put) = put else {
            return Some(format!("{by} has {} bytes at {key} that nobody put", value.bytes));
        };
        let is_other = put.told.is_some_and(|told| told.revision != revision);
        if is_other || *revisions.entry(revision).or_insert(value) != value {
            return Some(format!(
                "{by} has {} bytes at {key} in revision {revision}, which are of another",
                value.bytes
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(word: &str, asked: u64, revision: Option<u64>) -> Put {
        let told = revision.map(|revision| Told { at: asked + 5, revision });
        Put { key: "a".into(), value: Value::of(word.as_bytes()), asked, told }
    }

    fn seen(word: &str, asked: u64, revision: u64) -> Seen {
        let value = (revision > 0).then(|| Value::of(word.as_bytes()));
        let told = Told { at: asked + 5, revision };
        Seen { key: "a".into(), by: "m1".into(), asked, told, value }
    }

    #[test]
    fn what_is_kept_is_not_held_against_anybody() {
        let puts = [put("one", 10, Some(2)), put("two", 20, None), put("three", 30, Some(5))];
        let found = |seen: &[Seen]| lost(&puts, &seen.iter().collect::<Vec<_>>());
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[seen("", 1, 0), seen("one", 16, 2), seen("three", 36, 5)]), None);
        // What nobody confirmed may be there or not, and also come late.
        assert_eq!(found(&[seen("two", 16, 3), seen("three", 40, 5)]), None);
        assert_eq!(found(&[seen("three", 36, 5), seen("two", 50, 7)]), None);
        // Two at once may see it in either order.
        assert_eq!(found(&[seen("three", 31, 5), seen("one", 32, 2)]), None);
    }

    #[test]
    fn what_was_lost_or_changed_is_found() {
        let puts = [put("one", 10, Some(2)), put("two", 20, None), put("three", 30, Some(5))];
        let found =
            |seen: &[Seen]| lost(&puts, &seen.iter().collect::<Vec<_>>()).unwrap_or_default();
        assert!(found(&[seen("", 16, 0)]).contains("as of revision 0"), "lost");
        assert!(found(&[seen("one", 36, 2)]).contains("known as of 5"), "gone back");
        assert!(found(&[seen("two", 21, 4), seen("one", 27, 2)]).contains("known as of 4"));
        assert!(found(&[seen("thrxe", 36, 5)]).contains("nobody put"), "changed");
        assert!(found(&[seen("three", 36, 6)]).contains("of another"), "done twice");
        assert!(found(&[seen("two", 30, 5)]).contains("of another"), "two in one revision");
    }

    #[test]
    fn whoever_is_told_the_revision_of_something_else_finds_out() {
        let backwards = [put("one", 10, Some(5)), put("two", 20, Some(4))];
        assert!(lost(&backwards, &[]).unwrap().contains("after 5"));
        let same = [put("one", 10, Some(5)), put("two", 12, Some(5))];
        assert!(lost(&same, &[]).unwrap().contains("were told revision 5"));
        // At the same time either may be first.
        let beside = [put("one", 10, Some(5)), put("two", 12, Some(4))];
        assert_eq!(lost(&beside, &[]), None);
    }
}
