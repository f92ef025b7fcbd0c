//! Waiting in the queue of a lock or an election, as clients of etcd do. Each waiter watches the
//! key of its predecessor, so the deletion of a key wakes only one waiter.
//!
//! **Why no waiter waits forever.** The waiter read its predecessor in some revision, and watches
//! that key from the next revision on. So the watch shows the deletion of the key, even if the key
//! is deleted before the watch starts. After the deletion the waiter reads the queue again: there
//! may be another predecessor, and the waiter's own key may be deleted.
//!
//! **Why a slightly outdated read suffices after a deletion.** The read must be as of the revision
//! of the deletion, or of any later revision. New keys come last, so a waiter that is first in this
//! read stays first until its own key is deleted. If its own key was deleted after this revision,
//! the waiter learns of that deletion later, as a holder does. The member that reported the
//! deletion can serve the read without a quorum. If another member responds with an earlier
//! revision, the waiter reads the current queue.

/// Result of one read of a queue. The same read also looks up the waiter's own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueView<K> {
    /// Revision of the store at which the queue was read.
    pub revision: u64,
    /// Creation revision of the waiter's key; `None` if the key does not exist.
    pub own_create_revision: Option<u64>,
    /// Key of the predecessor. `None` if the waiter is the first in the queue.
    pub predecessor: Option<K>,
}

/// Position of a waiter in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaiterPosition<K> {
    /// The waiter does not know its position. It has not read the queue yet, or the queue has
    /// changed after the waiter read it.
    Unknown {
        /// Revision of the change that made the position unknown. 0 if the waiter has not read the
        /// queue yet, or if this revision is unknown.
        since: u64,
    },
    /// The waiter has a predecessor.
    Waiting {
        /// Key of the predecessor: the key that the waiter watches until it is deleted.
        key: K,
        /// First revision that the watch reports.
        from: u64,
        /// Creation revision of the waiter's key.
        own: u64,
    },
    /// The waiter holds the lock.
    Holding {
        /// Fencing token: the creation revision of the waiter's key.
        fence: u64,
    },
}

/// Action that the caller performs for a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaiterAction<K> {
    /// Read the waiter's own key and its predecessor in the queue. The caller then passes the
    /// result to [`Waiter::on_queue_view`].
    ReadQueue {
        /// Revision of the change that requires the read. The caller reads the queue as of this
        /// revision or a later revision. If 0, the caller reads the current queue.
        since: u64,
    },
    /// Watch a key until it is deleted.
    Watch {
        /// Key to watch.
        key: K,
        /// First revision that the watch reports.
        from: u64,
    },
    /// The waiter has acquired the lock.
    Acquired {
        /// Fencing token: the creation revision of the waiter's key.
        fence: u64,
    },
    /// The waiter's key does not exist: its session has ended, or the key was deleted.
    Removed,
}

/// State machine of a client that waits for a lock or holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waiter<K> {
    position: WaiterPosition<K>,
}

impl<K: Clone + PartialEq> Waiter<K> {
    /// Creates a waiter whose key is in the queue. The waiter does not know its position until it
    /// has read the queue.
    pub const fn new() -> Self {
        Waiter { position: WaiterPosition::Unknown { since: 0 } }
    }

    /// Returns the position of the waiter.
    pub const fn position(&self) -> &WaiterPosition<K> {
        &self.position
    }

    /// Returns the fencing token. Returns `None` if the waiter does not hold the lock.
    pub const fn fence(&self) -> Option<u64> {
        match self.position {
            WaiterPosition::Holding { fence } => Some(fence),
            WaiterPosition::Unknown { .. } | WaiterPosition::Waiting { .. } => None,
        }
    }

    /// Handles a view of the queue, and returns the next action. If the view is older than the
    /// change that caused the read, the waiter reads the current queue. Returns `None` if the view
    /// changes nothing.
    pub fn on_queue_view(&mut self, view: QueueView<K>) -> Option<WaiterAction<K>> {
        if matches!(self.position, WaiterPosition::Unknown { since } if view.revision < since) {
            return Some(WaiterAction::ReadQueue { since: 0 });
        }
        let Some(fence) = view.own_create_revision else {
            self.position = WaiterPosition::Unknown { since: 0 };
            return Some(WaiterAction::Removed);
        };
        match (view.predecessor, &self.position) {
            (_, WaiterPosition::Holding { .. }) => None,
            (None, _) => {
                self.position = WaiterPosition::Holding { fence };
                Some(WaiterAction::Acquired { fence })
            }
            // A running watch keeps its first revision, so that no event is missed.
            (Some(predecessor), WaiterPosition::Waiting { key, .. }) if *key == predecessor => None,
            (Some(key), _) => {
                let from = view.revision.saturating_add(1);
                self.position = WaiterPosition::Waiting { key: key.clone(), from, own: fence };
                Some(WaiterAction::Watch { key, from })
            }
        }
    }

    /// Handles the deletion of `key`. `revision` is the revision of the deletion, or a later
    /// revision. If the waiter watches this key, returns the action to read the queue again.
    /// Otherwise returns `None`.
    pub fn on_deleted(&mut self, key: &K, revision: u64) -> Option<WaiterAction<K>> {
        match &self.position {
            WaiterPosition::Waiting { key: watched, .. } if watched == key => {
                Some(self.read_queue(revision))
            }
            _ => None,
        }
    }

    /// Handles a message from the service: the holder with the key `key` has released the lock. If
    /// the waiter watches this key, the waiter now holds the lock. Otherwise returns `None`. The
    /// caller must know that the waiter's own key existed at the time of the release, and that no
    /// other claim blocks the waiter.
    pub fn on_released(&mut self, key: &K) -> Option<WaiterAction<K>> {
        match self.position {
            WaiterPosition::Waiting { key: ref watched, own: fence, .. } if watched == key => {
                self.position = WaiterPosition::Holding { fence };
                Some(WaiterAction::Acquired { fence })
            }
            _ => None,
        }
    }

    /// Handles a reconnection to any server. If a read or a watch was in progress, returns the
    /// action that starts it again. Returns `None` if the waiter holds the lock.
    pub fn on_reconnected(&self) -> Option<WaiterAction<K>> {
        match &self.position {
            WaiterPosition::Unknown { .. } => Some(WaiterAction::ReadQueue { since: 0 }),
            WaiterPosition::Waiting { key, from, .. } => {
                Some(WaiterAction::Watch { key: key.clone(), from: *from })
            }
            WaiterPosition::Holding { .. } => None,
        }
    }

    /// Handles the failure of a watch whose first revision the store has compacted. Returns the
    /// action to read the current queue. Returns `None` if the waiter watches no key.
    pub fn on_history_compacted(&mut self) -> Option<WaiterAction<K>> {
        match &self.position {
            WaiterPosition::Waiting { .. } => Some(self.read_queue(0)),
            WaiterPosition::Unknown { .. } | WaiterPosition::Holding { .. } => None,
        }
    }

    fn read_queue(&mut self, since: u64) -> WaiterAction<K> {
        self.position = WaiterPosition::Unknown { since };
        WaiterAction::ReadQueue { since }
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
    fn waiter_watches_predecessor_and_rereads_queue_after_deletion() {
        let mut waiter = Waiter::new();
        let view = |revision, predecessor| QueueView {
            revision,
            own_create_revision: Some(5),
            predecessor,
        };
        assert_eq!(
            waiter.on_queue_view(view(5, Some("a/2"))),
            Some(WaiterAction::Watch { key: "a/2", from: 6 })
        );
        assert_eq!(waiter.on_reconnected(), Some(WaiterAction::Watch { key: "a/2", from: 6 }));
        assert_eq!(
            waiter.on_queue_view(view(8, Some("a/2"))),
            None,
            "the watch keeps its revision"
        );
        assert_eq!(waiter.on_deleted(&"a/9", 8), None);
        assert_eq!(waiter.on_deleted(&"a/2", 9), Some(WaiterAction::ReadQueue { since: 9 }));
        assert_eq!(waiter.on_reconnected(), Some(WaiterAction::ReadQueue { since: 0 }));
        assert_eq!(
            waiter.on_queue_view(view(9, Some("a/1"))),
            Some(WaiterAction::Watch { key: "a/1", from: 10 })
        );
        assert_eq!(waiter.on_history_compacted(), Some(WaiterAction::ReadQueue { since: 0 }));
        assert_eq!(waiter.on_queue_view(view(9, None)), Some(WaiterAction::Acquired { fence: 5 }));
        assert_eq!((waiter.on_queue_view(view(9, None)), waiter.fence()), (None, Some(5)));
    }

    #[test]
    fn waiter_acquires_lock_when_predecessor_releases() {
        let mut waiter = Waiter::new();
        assert_eq!(waiter.on_released(&"a/2"), None, "the queue was not read yet");
        waiter.on_queue_view(QueueView {
            revision: 5,
            own_create_revision: Some(5),
            predecessor: Some("a/2"),
        });
        assert_eq!(waiter.on_released(&"a/1"), None, "not the predecessor");
        assert_eq!(waiter.on_released(&"a/2"), Some(WaiterAction::Acquired { fence: 5 }));
        assert_eq!((waiter.on_released(&"a/2"), waiter.fence()), (None, Some(5)));
        assert_eq!(waiter.on_deleted(&"a/2", 9), None);
    }

    /// Gives a waiter a view of the queue that is older than the deletion of the waiter's
    /// predecessor. The waiter must ignore the view, whether or not the view contains the waiter's
    /// own key.
    #[test]
    fn view_older_than_the_deletion_is_ignored() {
        for own in [None, Some(5)] {
            let mut waiter = Waiter::new();
            waiter.on_queue_view(QueueView {
                revision: 5,
                own_create_revision: Some(5),
                predecessor: Some("a/2"),
            });
            assert_eq!(waiter.on_deleted(&"a/2", 9), Some(WaiterAction::ReadQueue { since: 9 }));
            let old = QueueView { revision: 8, own_create_revision: own, predecessor: None };
            assert_eq!(
                (waiter.on_queue_view(old), waiter.fence()),
                (Some(WaiterAction::ReadQueue { since: 0 }), None)
            );
            assert_eq!(
                waiter.on_queue_view(old),
                Some(WaiterAction::ReadQueue { since: 0 }),
                "old views are ignored repeatedly"
            );
            let now = QueueView { revision: 9, own_create_revision: Some(5), predecessor: None };
            assert_eq!(waiter.on_queue_view(now), Some(WaiterAction::Acquired { fence: 5 }));
        }
    }

    #[test]
    fn empty_queue_grants_nothing_without_own_key() {
        let mut waiter: Waiter<u8> = Waiter::new();
        let view = QueueView { revision: 9, own_create_revision: None, predecessor: None };
        assert_eq!(
            (waiter.on_queue_view(view), waiter.fence()),
            (Some(WaiterAction::Removed), None)
        );
    }
}
