//! Waiting in the queue of a lock or an office, as clients of etcd do: each for the one that is
//! next ahead, so that one who leaves wakes one who waits.
//!
//! **Why nobody waits for ever.** Whoever is ahead was seen in a revision. The key is watched from
//! the next one on, so that its deletion is shown even if it comes before the watch; and when it is
//! gone one looks again, for another may be ahead still, and one's own key may be gone as well.
//!
//! **Why that look may be a little old.** Keys come behind all others, so whoever was once first
//! stays first until their own key is deleted; and that they learn later, as anybody who is
//! inside. So it is enough to see the queue as it was when whoever was ahead was gone, or at any
//! time since, and whichever member has told of the deletion has that and need ask nobody. Another
//! may not have come as far: what it shows counts for nothing, and one looks at the queue as it is.

/// What was seen of the queue: in one look, in which one's own key was looked for too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen<K> {
    /// The revision of the store.
    pub revision: u64,
    /// The creation of one's own key; none if it is not there.
    pub own: Option<u64>,
    /// The key that is next ahead, if one is.
    pub ahead: Option<K>,
}

/// Where one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place<K> {
    /// Nothing was seen yet, or what was seen has changed.
    Unknown {
        /// In this revision; 0 if that is not known.
        since: u64,
    },
    /// Behind somebody.
    Behind {
        /// Whose key is watched.
        key: K,
        /// From which revision on.
        from: u64,
        /// The creation of one's own key.
        own: u64,
    },
    /// Inside, by this fence.
    Inside {
        /// The creation of one's own key.
        fence: u64,
    },
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish<K> {
    /// Look at the queue.
    Look {
        /// As it was in this revision, or at any time since; as it is now, if 0.
        since: u64,
    },
    /// Watch this key for its deletion.
    Watch {
        /// Which.
        key: K,
        /// From which revision on.
        from: u64,
    },
    /// One is inside.
    Enter {
        /// The creation of one's own key.
        fence: u64,
    },
    /// One's own key is not there: the session is over.
    Gone,
}

/// Somebody who waits, or is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waiter<K> {
    place: Place<K>,
}

impl<K: Clone + PartialEq> Waiter<K> {
    /// One who has a key in the queue and has not looked at it yet.
    pub const fn new() -> Self {
        Waiter { place: Place::Unknown { since: 0 } }
    }

    /// Where one stands.
    pub const fn place(&self) -> &Place<K> {
        &self.place
    }

    /// The fence by which one is inside, if one is.
    pub const fn fence(&self) -> Option<u64> {
        match self.place {
            Place::Inside { fence } => Some(fence),
            Place::Unknown { .. } | Place::Behind { .. } => None,
        }
    }

    /// The queue was looked at. What is older than what led to the look counts for nothing.
    pub fn seen(&mut self, seen: Seen<K>) -> Option<Wish<K>> {
        if matches!(self.place, Place::Unknown { since } if seen.revision < since) {
            return Some(Wish::Look { since: 0 });
        }
        let Some(fence) = seen.own else {
            self.place = Place::Unknown { since: 0 };
            return Some(Wish::Gone);
        };
        match (seen.ahead, &self.place) {
            (_, Place::Inside { .. }) => None,
            (None, _) => {
                self.place = Place::Inside { fence };
                Some(Wish::Enter { fence })
            }
            // What is watched already is watched from where it was, lest something is missed.
            (Some(ahead), Place::Behind { key, .. }) if *key == ahead => None,
            (Some(key), _) => {
                let from = seen.revision.saturating_add(1);
                self.place = Place::Behind { key: key.clone(), from, own: fence };
                Some(Wish::Watch { key, from })
            }
        }
    }

    /// A key was deleted, in this revision or before.
    pub fn deleted(&mut self, key: &K, revision: u64) -> Option<Wish<K>> {
        match &self.place {
            Place::Behind { key: watched, .. } if watched == key => Some(self.look(revision)),
            _ => None,
        }
    }

    /// Whoever held the lock by this key has said that they claim it no longer, while one's own
    /// key was there.
    pub fn released(&mut self, key: &K) -> Option<Wish<K>> {
        match self.place {
            Place::Behind { key: ref watched, own: fence, .. } if watched == key => {
                self.place = Place::Inside { fence };
                Some(Wish::Enter { fence })
            }
            _ => None,
        }
    }

    /// There is a connection again, to whichever server: what was asked of the last one is asked
    /// anew. The history may have been forgotten, and then one looks.
    pub fn again(&self) -> Option<Wish<K>> {
        match &self.place {
            Place::Unknown { .. } => Some(Wish::Look { since: 0 }),
            Place::Behind { key, from, .. } => Some(Wish::Watch { key: key.clone(), from: *from }),
            Place::Inside { .. } => None,
        }
    }

    /// The revision from which one watched is forgotten.
    pub fn forgotten(&mut self) -> Option<Wish<K>> {
        match &self.place {
            Place::Behind { .. } => Some(self.look(0)),
            Place::Unknown { .. } | Place::Inside { .. } => None,
        }
    }

    fn look(&mut self, since: u64) -> Wish<K> {
        self.place = Place::Unknown { since };
        Wish::Look { since }
    }
}

impl<K: Clone + PartialEq> Default for Waiter<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waits_for_who_is_next_ahead_and_looks_again_when_they_are_gone() {
        let mut waiter = Waiter::new();
        let seen = |revision, ahead| Seen { revision, own: Some(5), ahead };
        assert_eq!(waiter.seen(seen(5, Some("a/2"))), Some(Wish::Watch { key: "a/2", from: 6 }));
        assert_eq!(waiter.again(), Some(Wish::Watch { key: "a/2", from: 6 }));
        assert_eq!(waiter.seen(seen(8, Some("a/2"))), None, "from where it was");
        assert_eq!(waiter.deleted(&"a/9", 8), None);
        assert_eq!(waiter.deleted(&"a/2", 9), Some(Wish::Look { since: 9 }));
        assert_eq!(waiter.again(), Some(Wish::Look { since: 0 }));
        assert_eq!(waiter.seen(seen(9, Some("a/1"))), Some(Wish::Watch { key: "a/1", from: 10 }));
        assert_eq!(waiter.forgotten(), Some(Wish::Look { since: 0 }));
        assert_eq!(waiter.seen(seen(9, None)), Some(Wish::Enter { fence: 5 }));
        assert_eq!((waiter.seen(seen(9, None)), waiter.fence()), (None, Some(5)));
    }

    #[test]
    fn who_is_next_enters_when_the_one_ahead_has_released_the_lock() {
        let mut waiter = Waiter::new();
        assert_eq!(waiter.released(&"a/2"), None, "nothing was seen yet");
        waiter.seen(Seen { revision: 5, own: Some(5), ahead: Some("a/2") });
        assert_eq!(waiter.released(&"a/1"), None, "who was ahead of that one");
        assert_eq!(waiter.released(&"a/2"), Some(Wish::Enter { fence: 5 }));
        assert_eq!((waiter.released(&"a/2"), waiter.fence()), (None, Some(5)));
        assert_eq!(waiter.deleted(&"a/2", 9), None);
    }

    /// Of whoever is behind, the own key may be missing too.
    #[test]
    fn what_is_older_than_the_news_counts_for_nothing() {
        for own in [None, Some(5)] {
            let mut waiter = Waiter::new();
            waiter.seen(Seen { revision: 5, own: Some(5), ahead: Some("a/2") });
            assert_eq!(waiter.deleted(&"a/2", 9), Some(Wish::Look { since: 9 }));
            let old = Seen { revision: 8, own, ahead: None };
            assert_eq!((waiter.seen(old), waiter.fence()), (Some(Wish::Look { since: 0 }), None));
            assert_eq!(waiter.seen(old), Some(Wish::Look { since: 0 }), "however often");
            let now = Seen { revision: 9, own: Some(5), ahead: None };
            assert_eq!(waiter.seen(now), Some(Wish::Enter { fence: 5 }));
        }
    }

    #[test]
    fn whose_key_is_gone_is_not_let_in_by_an_empty_queue() {
        let mut waiter: Waiter<u8> = Waiter::new();
        let seen = Seen { revision: 9, own: None, ahead: None };
        assert_eq!((waiter.seen(seen), waiter.fence()), (Some(Wish::Gone), None));
    }
}
