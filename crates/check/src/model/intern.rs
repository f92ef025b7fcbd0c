//! Interning: equal contents are stored once, under a small id.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use crate::model::fingerprint::BuildFoldHasher;

/// Id and fingerprint of an interned content. Ids start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interned {
    pub(crate) id: u32,
    pub(crate) fingerprint: u64,
}

/// Id in place of content that does not exist. For instance, if a link is full, no message can be
/// appended to its queue, and the id of the new queue is `NO_ID`.
pub(crate) const NO_ID: u32 = u32::MAX;

/// Replacement of a part of a global state: the new id of the part, and the number that must be
/// added to the state's fingerprint, modulo 2⁶⁴.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) id: u32,
    pub(crate) fingerprint_change: u64,
}

impl Replacement {
    /// Creates the change that replaces a part by `after`. `before` is the fingerprint of the
    /// replaced part. If `after` is `None`, the new id is [`NO_ID`].
    pub(crate) fn new(after: Option<Interned>, before: u64) -> Self {
        let after = after.unwrap_or(Interned { id: NO_ID, fingerprint: before });
        Replacement { id: after.id, fingerprint_change: after.fingerprint.wrapping_sub(before) }
    }
}

/// Interned contents by id, shared by all threads.
///
/// Ids depend on the order of insertion. Reports never show them, and ids of different checks are
/// never compared. Equal contents have equal ids, so global states can be compared by ids.
#[derive(Debug)]
pub(crate) struct Interner<T>(RwLock<Contents<T>>);

/// Table of an [`Interner`]. The map contains hashes instead of contents, so its code is compiled
/// once for all types of contents.
#[derive(Debug)]
struct Contents<T> {
    /// For each hash of a content: the id of the newest content with this hash.
    newest: HashMap<u64, u32, BuildFoldHasher>,
    items: Vec<Item<T>>,
}

#[derive(Debug)]
struct Item<T> {
    content: Arc<T>,
    fingerprint: u64,
    /// Id of the next older content with the same hash. 0 if there is none.
    older: u32,
}

impl<T: Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner(RwLock::new(Contents { newest: HashMap::default(), items: Vec::new() }))
    }

    /// Returns the id and the fingerprint of a content. If the content is new, assigns an id to it,
    /// and calls `fingerprint`.
    pub(crate) fn intern(&self, content: T, fingerprint: impl FnOnce(&T) -> u64) -> Interned {
        let hash = BuildFoldHasher::new().hash_one(&content);
        let known = self.read().find(hash, &content);
        if let Some(known) = known {
            return known;
        }
        let fingerprint = fingerprint(&content);
        let mut contents = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = contents.find(hash, &content) {
            return known; // another thread was faster
        }
        let id = u32::try_from(contents.items.len() + 1).expect("fewer than 2^32 different parts");
        let older = contents.newest.insert(hash, id).unwrap_or(0);
        contents.items.push(Item { content: Arc::new(content), fingerprint, older });
        Interned { id, fingerprint }
    }

    pub(crate) fn get(&self, id: u32) -> Arc<T> {
        Arc::clone(&self.read().items[id as usize - 1].content)
    }

    pub(crate) fn fingerprint(&self, id: u32) -> u64 {
        self.read().items[id as usize - 1].fingerprint
    }

    pub(crate) fn len(&self) -> usize {
        self.read().items.len()
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents<T>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Eq + Hash> Contents<T> {
    fn find(&self, hash: u64, content: &T) -> Option<Interned> {
        let mut id = *self.newest.get(&hash)?;
        while id != 0 {
            let item = &self.items[id as usize - 1];
            if *item.content == *content {
                return Some(Interned { id, fingerprint: item.fingerprint });
            }
            id = item.older;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigns_one_id_per_distinct_content() {
        let interner = Interner::new();
        let first = interner.intern(vec![1, 2], |_| 7);
        let second = interner.intern(vec![2, 1], |_| 8);
        let again = interner.intern(vec![1, 2], |_| unreachable!("content is known"));
        assert_eq!(first, again);
        assert_ne!(first.id, second.id);
        assert_eq!(*interner.get(second.id), [2, 1]);
        assert_eq!(interner.fingerprint(second.id), 8);
        assert_eq!(interner.len(), 2);
    }

    #[test]
    fn distinguishes_contents_with_equal_hashes() {
        #[derive(PartialEq, Eq)]
        struct Unhashed(u32);
        impl Hash for Unhashed {
            fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
        }
        let interner = Interner::new();
        let ids = [1, 2, 3, 1, 2, 3].map(|value| interner.intern(Unhashed(value), |_| 0).id);
        assert_eq!(ids, [1, 2, 3, 1, 2, 3]);
    }
}
