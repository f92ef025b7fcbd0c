//! A lock with the claims on it, in the order of its queue.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tenure_session::{AccessMode, HolderSummary};
use tenure_store::{KeyValue, claim_from_key_value};

use super::recipe::LockRecipe;
use super::stored_text::StoredText;
use crate::cmd::service::client_description::{ClaimOwner, escape_and_shorten};

/// A claim of a client on a lock. The client holds the lock or waits for it. In the store, a claim
/// is a key below the name of the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Claim {
    pub(super) key: StoredText,
    /// ID of the claim's lease in hexadecimal; `None` if the key has no lease.
    pub(super) lease: Option<String>,
    /// Fencing token of the claim: the revision in which its key was created.
    pub(super) fence: u64,
    /// Text of `access`, the kind of access that the client has or requests: `exclusive`, `shared`
    /// or, for three permits of a semaphore, `slots-3`.
    pub(super) share: String,
    #[serde(rename = "inside")]
    pub(super) is_holder: bool,
    /// Remaining time of the lease, in seconds. `None` if the claim has no lease, or if the lease
    /// has expired or was not read.
    pub(super) seconds_left: Option<i64>,
    /// Time to live of the lease, in seconds. `None` if the claim has no lease, or if the lease has
    /// expired or was not read.
    pub(super) seconds: Option<i64>,
    /// Client that has the claim; `Unknown` if the value of the key was not read.
    #[serde(rename = "client", serialize_with = "owner")]
    pub(super) owner: ClaimOwner,
    #[serde(skip)]
    pub(super) raw_key: Vec<u8>,
    /// Value of the key; empty if the value was not read.
    #[serde(skip)]
    pub(super) value: Vec<u8>,
    #[serde(skip)]
    pub(super) access: AccessMode,
    /// ID of the claim's lease; 0 if the key has no lease.
    #[serde(skip)]
    pub(super) id: u64,
}

/// A lock, an election, a read/write lock or a semaphore, with its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Lock {
    pub(super) name: StoredText,
    pub(super) recipe: LockRecipe,
    /// Claims in the order of their creation. The holders come first.
    pub(super) queue: Vec<Claim>,
    /// Number of keys that belong to nested locks. The name of a nested lock begins with the name
    /// of this lock and a slash.
    pub(super) nested: usize,
    /// Name of one nested lock, as an example, or the key if the key is not a claim. `None` if
    /// there are no nested locks.
    #[serde(skip)]
    example: Option<StoredText>,
}

fn owner<S: Serializer>(owner: &ClaimOwner, serializer: S) -> Result<S::Ok, S::Error> {
    owner.to_json().serialize(serializer)
}

/// Returns true if a key below the name of a lock belongs to a nested lock. `rest` is the key
/// without the name of the lock and without the slash after this name.
fn is_nested(rest: &[u8]) -> bool {
    rest.contains(&b'/')
}

impl Lock {
    /// Builds a lock or an election from the keys below its name. Keys of nested locks are counted,
    /// but are not in the queue.
    pub(super) fn from_keys(name: &[u8], below: &[KeyValue]) -> Lock {
        let (nested, below): (Vec<&KeyValue>, Vec<&KeyValue>) =
            below.iter().partition(|kv| kv.key.get(name.len() + 1..).is_some_and(is_nested));
        let claims = below.into_iter().map(|kv| {
            let claim = claim_from_key_value(kv).filter(|claim| claim.name[..] == *name);
            (kv.clone(), claim.map_or(AccessMode::Exclusive, |claim| claim.mode.into()))
        });
        let claims = claims.collect();
        let example = nested.first().map(|kv| match claim_from_key_value(kv) {
            Some(claim) => StoredText::new(&claim.name),
            None => StoredText::new(&kv.key),
        });
        Lock { nested: nested.len(), example, ..Lock::from_claims(name, LockRecipe::Lock, claims) }
    }

    /// Builds a lock from its claims, which may be in any order. Each claim is a key, together with
    /// the access mode of the claim.
    pub(super) fn from_claims(
        name: &[u8],
        recipe: LockRecipe,
        mut claims: Vec<(KeyValue, AccessMode)>,
    ) -> Lock {
        claims.sort_by(|(one, _), (other, _)| {
            (one.create_revision, &one.key).cmp(&(other.create_revision, &other.key))
        });
        let mut queue = Vec::new();
        let (mut holders, mut is_head) = (HolderSummary::NONE, true);
        for (kv, access) in claims {
            // A claim holds the lock only if all earlier claims hold it too.
            is_head = is_head && holders.can_admit(access);
            if is_head {
                holders.add_holder(access);
            }
            queue.push(Claim::new(&kv, access, is_head));
        }
        Lock { name: StoredText::new(name), recipe, queue, nested: 0, example: None }
    }

    /// Returns a note for the user about nested locks; `None` if there are no nested locks.
    pub(super) fn nested_locks_note(&self) -> Option<String> {
        let (name, nested, example) = (&self.name, self.nested, self.example.as_ref()?);
        let are = if nested == 1 { "1 key is".to_owned() } else { format!("{nested} keys are") };
        Some(format!(
            "note: {are} of locks named below {name}/, such as {example}: a client of etcd that \
             asks for {name} waits for them too, `tenure lock` does not"
        ))
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = &Claim> {
        self.queue.iter().filter(|claim| claim.is_holder)
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = &Claim> {
        self.queue.iter().filter(|claim| !claim.is_holder)
    }

    /// Returns the lock as JSON, with the number of waiters instead of their claims.
    pub(super) fn to_json(&self) -> Value {
        let holders: Vec<&Claim> = self.holders().collect();
        let waiting = self.waiting().count();
        json!({
            "name": self.name, "recipe": self.recipe, "holders": holders, "waiting": waiting,
            "nested": self.nested,
        })
    }
}

impl Claim {
    fn new(kv: &KeyValue, access: AccessMode, is_holder: bool) -> Claim {
        Claim {
            key: StoredText::new(&kv.key),
            lease: (kv.lease != 0).then(|| format!("{:x}", kv.lease)),
            fence: kv.create_revision,
            share: access.to_string(),
            is_holder,
            seconds_left: None,
            seconds: None,
            owner: ClaimOwner::Unknown,
            raw_key: kv.key.to_vec(),
            value: Vec::new(),
            access,
            id: kv.lease,
        }
    }

    /// Returns the ID of the lease as a signed number, as the protocol of etcd represents it.
    /// Returns 0 if the claim has no lease.
    pub(super) const fn signed_lease(&self) -> i64 {
        i64::from_ne_bytes(self.id.to_ne_bytes())
    }

    /// Returns a short name of the client that has the claim.
    pub(super) fn label(&self) -> String {
        match &self.owner {
            ClaimOwner::Command(client) => client.to_string(),
            ClaimOwner::Text(text) => {
                format!("{} ({})", escape_and_shorten(text), self.lease_label())
            }
            ClaimOwner::Unknown => format!("unknown client ({})", self.lease_label()),
        }
    }

    /// Returns text that names the lease of the claim. If the claim has no lease, the text names
    /// its key.
    fn lease_label(&self) -> String {
        match &self.lease {
            Some(lease) => format!("lease {lease}"),
            None => format!("the key {}", self.key),
        }
    }

    /// Returns the client, the fencing token and the remaining time of the claim, as one line of
    /// text.
    pub(super) fn description(&self) -> String {
        let time = match (self.seconds_left, self.seconds) {
            (Some(left), Some(all)) => format!("{left} of {all} s left"),
            _ if self.id == 0 => "without a lease: it stays until the key is deleted".into(),
            _ => "its lease has expired".into(),
        };
        let (label, fence) = (self.label(), self.fence);
        match &self.owner {
            ClaimOwner::Command(client) => {
                let (since, lease) = (client.held_or_queued_since(), self.lease_label());
                format!("{label} since {since}, {lease}, fence {fence}, {time}")
            }
            _ => format!("{label}, fence {fence}, {time}"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use tenure_store::Bytes;

    use super::*;

    pub(crate) fn below(keys: &[(&str, u64, u64)]) -> Vec<KeyValue> {
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
            let lock = Lock::from_keys(b"a", &below(keys));
            lock.queue.iter().map(|it| (it.fence, it.is_holder)).collect()
        };
        assert_eq!(inside(&[("a/2", 9, 2), ("a/1", 5, 1)]), [(5, true), (9, false)]);
        let readers = [("a/1.shared", 1, 1), ("a/2.shared", 2, 2), ("a/3", 3, 3)];
        assert_eq!(inside(&readers), [(1, true), (2, true), (3, false)]);
        let late = [("a/1.shared", 1, 1), ("a/2", 2, 2), ("a/3.shared", 3, 3)];
        assert_eq!(inside(&late), [(1, true), (2, false), (3, false)]);
        let slots = [("a/1.slots-1", 1, 1), ("a/2.slots-1", 2, 2)];
        assert_eq!(inside(&slots), [(1, true), (2, false)]);
    }

    #[test]
    fn nested_locks_are_counted_and_not_queued() {
        let keys = below(&[("a/1", 5, 1), ("a/b/2", 3, 2), ("a/b/c/3", 4, 3)]);
        let lock = Lock::from_keys(b"a", &keys);
        let fences: Vec<_> = lock.queue.iter().map(|it| (it.fence, it.is_holder)).collect();
        assert_eq!((fences, lock.nested), (vec![(5, true)], 2));
        assert!(
            lock.nested_locks_note()
                .is_some_and(|it| it.contains("2 keys") && it.contains("as a/b:"))
        );
    }

    #[test]
    fn claim_without_a_value_has_an_unknown_client() {
        let mut lock = Lock::from_keys(b"a", &below(&[("a/1f", 5, 0x1f)]));
        let claim = &mut lock.queue[0];
        assert_eq!(claim.label(), "unknown client (lease 1f)");
        assert_eq!(json!(claim)["client"], Value::Null);
        claim.owner = ClaimOwner::of_value(b"host-7");
        assert_eq!(claim.label(), "host-7 (lease 1f)");
        assert_eq!(json!(claim)["client"], "host-7");
    }
}
