//! Semaphores: locks that several claims hold together, up to a number of permits.

use std::time::Duration;

use tokio::time::timeout;

use crate::error::ClientError;
use crate::lock::claim::Claim;
use crate::lock::guard::Guard;
use crate::lock::permit_queue::{PERMITS_KEY_SEGMENT, PermitQueue};
use crate::lock::queue_entry::{QueueEntry, transact_while_alive};
use crate::lock::transactions::{NewKey, value_equals};
use crate::requests;
use crate::session::Session;

/// A semaphore with a fixed number of permits, which its holders share.
///
/// Requests are granted in the order in which they arrive. A smaller request therefore does not
/// overtake a larger request, even if enough permits are free for the smaller request.
///
/// The number of permits is stored in the key `NAME#semaphore/permits`, which outlives all clients.
/// A claim is a key `NAME/permits/LEASE`, whose value is the number of its permits. A claim whose
/// value is not a number takes all permits. To change the total number of permits, stop all clients
/// of the semaphore and delete the key `NAME#semaphore/permits`.
///
/// Each acquisition returns a [`Guard`]. Releasing the guard returns its permits. Several clients
/// hold permits at the same time, each with its own fencing token. A resource therefore cannot
/// reject old holders by these tokens.
#[derive(Clone, Debug)]
pub struct Semaphore {
    session: Session,
    name: String,
    permits: u32,
}

impl Session {
    /// Returns a semaphore with this number of permits, and creates it if it does not exist.
    ///
    /// If the future is dropped, the semaphore may have been created. No permit is taken.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidPermits`] if `permits` is 0, [`ClientError::PermitsMismatch`] if the
    /// semaphore exists with another number, [`ClientError::Lost`] if the session ends, and
    /// [`ClientError::Rejected`] if the service rejects the request. After [`ClientError::Lost`],
    /// the semaphore may have been created. After any other error, the semaphore is unchanged.
    pub async fn semaphore(&self, name: &str, permits: u32) -> Result<Semaphore, ClientError> {
        if permits == 0 {
            return Err(ClientError::InvalidPermits { requested: permits, permits: u32::MAX });
        }
        let semaphore = Semaphore { session: self.clone(), name: name.to_owned(), permits };
        self.while_alive(semaphore.check_or_store_total()).await?;
        Ok(semaphore)
    }
}

impl Semaphore {
    /// Returns the name of the semaphore.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the total number of permits of the semaphore.
    pub const fn total_permits(&self) -> u32 {
        self.permits
    }

    /// Waits for one permit. If the future is dropped, the session leaves the queue.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile or another client deletes the key of the
    /// claim, and [`ClientError::Rejected`] if the service rejects a request. Also
    /// [`ClientError::PermitsMismatch`] if another client has created the semaphore again with a
    /// different number of permits. After an error, the session is not in the queue.
    pub async fn acquire(&self) -> Result<Guard, ClientError> {
        self.acquire_many(1).await
    }

    /// Waits for several permits, and takes all these permits at once. If the future is dropped,
    /// the session leaves the queue.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire`], and [`ClientError::InvalidPermits`] if the number is 0 or larger
    /// than [`Semaphore::total_permits`].
    pub async fn acquire_many(&self, permits: u32) -> Result<Guard, ClientError> {
        self.check(permits)?;
        self.session.while_alive(self.wait(permits)).await.map(Guard::new)
    }

    /// Takes one permit, if one is free and no other client waits. Returns `None` otherwise. If the
    /// future is dropped, this call keeps no permit.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<Guard>, ClientError> {
        self.try_acquire_many(1).await
    }

    /// Takes several permits, if enough are free and no other client waits. Returns `None`
    /// otherwise. If the future is dropped, this call keeps no permit.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire_many`].
    pub async fn try_acquire_many(&self, permits: u32) -> Result<Option<Guard>, ClientError> {
        self.check(permits)?;
        Ok(self.session.while_alive(self.try_take(permits)).await?.map(Guard::new))
    }

    /// Takes one permit within the time `within`. If the time passes first, leaves the queue and
    /// returns `None`. If the future is dropped, the session leaves the queue.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire`].
    pub async fn acquire_within(&self, within: Duration) -> Result<Option<Guard>, ClientError> {
        self.acquire_many_within(1, within).await
    }

    /// Takes several permits within the time `within`. If the time passes first, leaves the queue
    /// and returns `None`. If the future is dropped, the session leaves the queue.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire_many`].
    pub async fn acquire_many_within(
        &self,
        permits: u32,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        timeout(within, self.acquire_many(permits)).await.ok().transpose()
    }

    fn check(&self, requested: u32) -> Result<(), ClientError> {
        match (1..=self.permits).contains(&requested) {
            true => Ok(()),
            false => Err(ClientError::InvalidPermits { requested, permits: self.permits }),
        }
    }

    fn total_key(&self) -> Vec<u8> {
        format!("{}#semaphore/permits", self.name).into_bytes()
    }

    /// Stores the number of permits in the service. If a number is stored already, checks that the
    /// two numbers are equal.
    async fn check_or_store_total(&self) -> Result<(), ClientError> {
        let (key, value) = (self.total_key(), self.permits.to_string());
        let new = NewKey { key: &key, value: value.as_bytes(), lease: 0 };
        let response = transact_while_alive(&self.session, new.create_txn(), &mut 0).await?;
        let stored = requests::key_values(&response).find(|kv| kv.key == key);
        let stored = stored.map_or(&[][..], |kv| &kv.value);
        if stored == value.as_bytes() {
            return Ok(());
        }
        Err(ClientError::PermitsMismatch {
            semaphore: self.name.clone(),
            requested: self.permits,
            permits: String::from_utf8_lossy(stored).into_owned(),
        })
    }

    fn queue(&self) -> PermitQueue<'_> {
        PermitQueue::new(&self.session, &self.name, self.permits)
    }

    /// Creates a queue entry that claims `permits` permits. The request of the entry has no effect
    /// if the total number of permits in the store has changed. With `since`, the request also
    /// requires that no key was added to the queue after the revision `since`.
    fn entry(&self, permits: u32, since: Option<u64>) -> QueueEntry {
        let queue = format!("{}/{PERMITS_KEY_SEGMENT}", self.name);
        let (key, value) = (self.session.new_claim_key(&queue), permits.to_string());
        let new = NewKey { key: &key, value: value.as_bytes(), lease: self.session.id() };
        let mut request = match since {
            Some(since) => new.create_if_queues_unchanged_txn(std::slice::from_ref(&queue), since),
            None => new.create_txn(),
        };
        request.compare.push(value_equals(&self.total_key(), self.permits.to_string().as_bytes()));
        match since {
            Some(_) => QueueEntry::prepare_without_releases(&self.session, &queue, key, request),
            None => QueueEntry::prepare(&self.session, &queue, key, request),
        }
    }

    async fn wait(&self, permits: u32) -> Result<Claim, ClientError> {
        loop {
            let mut entry = self.entry(permits, None);
            if let Some(own) = entry.wait_for_create_revision().await? {
                self.queue().wait_for_permits(entry.key(), own, permits).await?;
                return Ok(entry.into_claim(own).with_concurrent_holders());
            }
            // The number of permits was deleted or replaced.
            self.check_or_store_total().await?;
        }
    }

    async fn try_take(&self, permits: u32) -> Result<Option<Claim>, ClientError> {
        loop {
            let view = self.queue().read_view(&self.total_key(), 0).await?;
            if !view.can_admit(self.queue().access(permits)) {
                return Ok(None);
            }
            let mut entry = self.entry(permits, Some(view.revision));
            if let Some(own) = entry.wait_for_create_revision().await? {
                return Ok(Some(entry.into_claim(own).with_concurrent_holders()));
            }
            // Another client has added a claim since the read, or the number of permits has
            // changed.
            self.check_or_store_total().await?;
        }
    }
}
