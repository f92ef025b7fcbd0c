//! Elections: candidates, leaderships, transfers and observers.

use tracing::Instrument;

use crate::client::Client;
use crate::election::leadership::Leadership;
use crate::election::options::CampaignOptions;
use crate::election::records::Candidate;
use crate::error::ClientError;
use crate::lock::acquire::acquire;
use crate::lock::queue_entry::HandOverEvent;
use crate::session::Session;
use crate::telemetry::spans;

mod candidacy;
pub(crate) mod leadership;
pub(crate) mod observer;
pub(crate) mod options;
mod record_watcher;
pub(crate) mod records;
pub(crate) mod transfer;
pub(crate) mod work;

impl Session {
    /// Takes part in an election as a candidate, and waits until this session is the leader.
    /// Observers of the election then receive `value`.
    ///
    /// This candidate has no identity, and its priority is 0, like a candidate of etcd's libraries.
    /// This candidate never moves behind another candidate.
    ///
    /// Dropping the future withdraws the candidacy.
    ///
    /// # Errors
    ///
    /// As [`Session::campaign_with`].
    pub async fn campaign(
        &self,
        name: &str,
        value: impl Into<Vec<u8>>,
    ) -> Result<Leadership, ClientError> {
        let span = spans::campaign(self, name);
        let value = value.into();
        let claim =
            acquire(self, name, value, HandOverEvent::OnDeletion).instrument(span.clone()).await?;
        span.record("fence", claim.fence());
        Ok(Leadership::new(claim, name.to_owned()))
    }

    /// Takes part in an election as a candidate with an identity and a priority, and waits until
    /// this session is the leader.
    ///
    /// This candidate moves behind a waiting candidate with a higher priority. It also moves behind
    /// a candidate that a request for a transfer names. Candidates of
    /// [`campaign`](Session::campaign) wait in the same queue. There is therefore at most one
    /// leader, and fencing tokens grow.
    ///
    /// The priority is a preference, not a guarantee:
    ///
    /// - A leader is not deposed. [`Leadership::wait_until_transfer_due`] notifies the leader of
    ///   the preferred candidate, and the leader decides when to resign.
    /// - Candidates of [`campaign`](Session::campaign) and of the libraries of etcd never move. If
    ///   such a candidate is ahead of the preferred candidate, it leads first.
    /// - If the process of a preferred candidate is suspended, the candidate blocks all candidates
    ///   behind it in the queue until its lease expires.
    /// - A waiting candidate does not become the leader as long as candidates with a higher
    ///   priority wait, unless a request for a transfer names it.
    /// - An observer may report a candidate that is first in the queue and yields a moment later.
    ///   This candidate does not lead, because its call of this method has not returned.
    ///
    /// The identity and the priority are stored in a key below `NAME#election/`. With
    /// authentication, the user needs the right to read and write these keys as well.
    ///
    /// Dropping the future withdraws the candidacy.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile or another client deletes the claim, and
    /// [`ClientError::Rejected`] if the service rejects a request. After an error, the candidacy is
    /// withdrawn.
    pub async fn campaign_with(
        &self,
        name: &str,
        options: CampaignOptions,
    ) -> Result<Leadership, ClientError> {
        let span = spans::campaign(self, name);
        let claim =
            candidacy::campaign_with_options(self, name, &options).instrument(span.clone()).await?;
        span.record("fence", claim.fence());
        Ok(Leadership::new(claim, name.to_owned()))
    }
}

impl Client {
    /// Reads the candidates of an election that have an identity, in the order of the queue. The
    /// first returned candidate is the leader, except if a candidate without an identity leads.
    ///
    /// Dropping the future has no effect.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within ten seconds to one of the reads,
    /// and [`ClientError::Rejected`] if the service rejects a read.
    pub async fn identified_candidates(&self, name: &str) -> Result<Vec<Candidate>, ClientError> {
        transfer::read_leader_and_candidates(&self.channel, name).await
    }

    /// Requests that a waiting candidate becomes the next leader, and returns this candidate. The
    /// current leader is notified through [`Leadership::wait_until_transfer_due`]. Each waiting
    /// candidate that has an identity and is ahead of this candidate in the queue moves behind it.
    ///
    /// The request remains in force until the candidate leaves the election or its leadership ends.
    /// If the identity belongs to the leader, the leader stays, and candidates with a higher
    /// priority no longer cause a transfer. A later request takes precedence over an earlier
    /// request. If the future is dropped, the request may be in force.
    ///
    /// # Errors
    ///
    /// [`ClientError::UnknownCandidate`] if no candidate has this identity,
    /// [`ClientError::Unavailable`] if no member responds within ten seconds, and
    /// [`ClientError::Rejected`] if the service rejects a request. After
    /// [`ClientError::Unavailable`], the request may have taken effect.
    pub async fn request_transfer(
        &self,
        name: &str,
        identity: &str,
    ) -> Result<Candidate, ClientError> {
        transfer::request_transfer(&self.channel, name, identity, 0).await
    }
}
