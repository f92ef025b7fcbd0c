//! Table of the open sessions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::session::LabSession;

/// Maximum number of open sessions. If a further session is added, the table drops the oldest
/// session.
const MAX_SESSIONS: usize = 32;

/// Open sessions, by their numbers. Numbers count from 1 and are not used again.
#[derive(Default)]
pub(crate) struct SessionTable {
    /// Number of the newest session.
    last: u64,
    /// Number of the session that the page opens if its URL names none. `None` if there is no such
    /// session. The session may have been dropped.
    pub(crate) first: Option<u64>,
    all: BTreeMap<u64, Arc<Mutex<LabSession>>>,
}

impl SessionTable {
    /// Adds a session and returns its number. If there are too many sessions, drops the oldest.
    pub(crate) fn add(&mut self, session: LabSession) -> u64 {
        self.last += 1;
        self.all.insert(self.last, Arc::new(Mutex::new(session)));
        if self.all.len() > MAX_SESSIONS {
            self.all.pop_first();
        }
        self.last
    }

    pub(crate) fn find(&self, number: u64) -> Option<Arc<Mutex<LabSession>>> {
        self.all.get(&number).cloned()
    }

    /// Returns the number of the session that the page opens if its URL names none. Returns `None`
    /// if there is no such session, or if the table has dropped it.
    pub(crate) fn first_session(&self) -> Option<u64> {
        self.first.filter(|number| self.all.contains_key(number))
    }
}

/// Locks a mutex, even if it is poisoned. A session changes only after a successful computation, so
/// a panic leaves the session in its previous state.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
