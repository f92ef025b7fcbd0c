//! Watcher of the candidates' records of an election. A record stores the identity and the priority
//! of a candidate.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::sleep;

use crate::election::records::{
    Candidate, ElectionView, candidate_record_range, read_candidate_records_txn,
};
use crate::error::ClientError;
use crate::requests;
use crate::transport::channel::Channel;
use crate::transport::retry::Backoff;
use crate::watch::watcher::{WatchEvent, Watcher};

pub(crate) struct CandidateRecordWatcher {
    channel: Arc<Channel>,
    name: String,
    /// Watch of the records, which starts at the revision after the read that opened it. `None`
    /// before the first read, and from a failure of the watch until the next read.
    watcher: Option<Watcher>,
    /// Revision of the store at the last read; 0 before the first read.
    revision: u64,
    /// Keys of claims that were deleted while their candidates' records remained in the store.
    absent: BTreeSet<Vec<u8>>,
    backoff: Backoff,
}

impl CandidateRecordWatcher {
    pub(crate) fn new(channel: Arc<Channel>, name: &str) -> CandidateRecordWatcher {
        CandidateRecordWatcher {
            channel,
            name: name.to_owned(),
            watcher: None,
            revision: 0,
            absent: BTreeSet::new(),
            backoff: Backoff::default(),
        }
    }

    /// Reads the current records and, if `key` is given, the claim with this key. If no member
    /// responds, the request is repeated as long as `must_retry` returns true.
    ///
    /// # Errors
    ///
    /// [`ClientError::Rejected`], and [`ClientError::Unavailable`] if no member responds and
    /// `must_retry` returns false.
    pub(crate) async fn read_election(
        &mut self,
        key: Option<&[u8]>,
        must_retry: impl Fn() -> bool,
    ) -> Result<ElectionView, ClientError> {
        loop {
            let response = match self
                .channel
                .transact_idempotent(read_candidate_records_txn(&self.name, key))
                .await
            {
                Err(ClientError::Unavailable { .. }) if must_retry() => continue,
                response => response?,
            };
            let view = ElectionView::new(&response, &self.name, key);
            self.revision = view.revision;
            let (channel, range) = (self.channel.clone(), candidate_record_range(&self.name));
            self.watcher.get_or_insert_with(|| {
                Watcher::of_range(channel, range, view.revision.saturating_add(1))
            });
            return Ok(view);
        }
    }

    /// Waits until a record changes after the last read. May also resolve without a change.
    /// Dropping the future loses no change.
    pub(crate) async fn wait_for_record_change(&mut self) {
        while let Some(watcher) = &mut self.watcher {
            match watcher.next().await {
                WatchEvent::Put(kv) | WatchEvent::Deleted(kv) => {
                    self.backoff = Backoff::default();
                    if requests::unsigned(kv.mod_revision) > self.revision {
                        return;
                    }
                }
                WatchEvent::Released => {}
                WatchEvent::HistoryCompacted | WatchEvent::Rejected | WatchEvent::Disconnected => {
                    self.watcher = None;
                    sleep(self.backoff.next_pause()).await;
                }
            }
        }
    }

    /// Returns the candidate that should lead instead of the owner of the claim `key`, by the rule
    /// of [`ElectionView::preferred_over`]. Returns `None` if there is no such candidate. Ignores
    /// candidates whose claims are known to be absent.
    pub(crate) fn preferred_over<'a>(
        &self,
        view: &'a ElectionView,
        key: &[u8],
        fence: u64,
    ) -> Option<&'a Candidate> {
        view.preferred_over(key, fence, |candidate| self.absent.contains(&candidate.key))
    }

    /// Records that the claim of a candidate does not exist any more. The key of the claim is never
    /// used again.
    pub(crate) fn record_claim_absence(&mut self, candidate: &Candidate) {
        self.absent.insert(candidate.key.clone());
    }

    /// Returns true if the claim of a candidate exists. The method takes `&mut self` because this
    /// value contains a watch, which is not `Sync`. With `&self`, the future would not be `Send`.
    ///
    /// # Errors
    ///
    /// [`ClientError`] if no member responds or the service rejects the read.
    pub(crate) async fn has_claim(&mut self, candidate: &Candidate) -> Result<bool, ClientError> {
        let request = requests::read_queue_txn(&candidate.key, None);
        let response = self.channel.transact_idempotent(request).await?;
        Ok(requests::create_revision(&response, &candidate.key) == Some(candidate.fence))
    }
}
