//! Elections: candidates, leaderships, transfers and observers.

use tracing::Instrument;

use crate::client::Client;
use crate::election::leadership::Leadership;
use crate::election::options::CampaignOptions;
use crate::election::records::Candidate;
use crate::error::ClientError;
use crate::lock::acquire::acquire;
use crate::lock::queue_entry::HandOver;
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
    /// This candidate has no identity, and its priority is 0, like that of a candidate of etcd's
    /// libraries. It never makes way for another candidate.
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
            acquire(self, name, value, HandOver::OnDeletion).instrument(span.clone()).await?;
        span.record("fence", claim.fence());
        Ok(Leadership::new(claim, name.to_owned()))
    }

    /// Takes part in an election as a candidate with an identity and a priority, and waits until
    /// this session is the leader.
    ///
    /// While a candidate with a higher priority waits, or a request for a transfer names another
    /// candidate, this one moves behind it in the queue. The queue of all candidates is that of
    /// [`campaign`](Session::campaign), so there is at most one leader, and fencing tokens grow.
    ///
    /// The priority is a preference, not a guarantee:
    ///
    /// - A leader is not deposed. [`Leadership::transfer_requested`] notifies it of the preferred
    ///   candidate, and it decides when to resign.
    /// - Candidates of [`campaign`](Session::campaign) and of the libraries of etcd never move.
    ///   Those ahead of the preferred candidate lead before it.
    /// - A preferred candidate whose process is suspended blocks the others until its lease
    ///   expires, as any suspended candidate does that is first in the queue.
    /// - A candidate of low priority never leads as long as others with a higher one take part.
    /// - An observer may report a candidate that is first and yields in the next moment. That
    ///   candidate does not lead: this future resolves only after the candidate has decided not to
    ///   yield.
    ///
    /// The candidate's record is a key below `NAME#election/`. With authentication, the user needs
    /// the right to read and write these keys as well.
    ///
    /// Dropping the future withdraws the candidacy.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile or another client deletes the claim,
    /// [`ClientError::Rejected`] if the service rejects a request. The candidacy is withdrawn.
    pub async fn campaign_with(
        &self,
        name: &str,
        options: CampaignOptions,
    ) -> Result<Leadership, ClientError> {
        let span = spans::campaign(self, name);
        let claim = candidacy::campaign(self, name, &options).instrument(span.clone()).await?;
        span.record("fence", claim.fence());
        Ok(Leadership::new(claim, name.to_owned()))
    }
}

impl Client {
    /// Reads the candidates of an election that have an identity, in the order of the queue. The
    /// first one leads, unless a candidate without an identity is ahead of it.
    ///
    /// Dropping the future has no effect.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] and [`ClientError::Rejected`]
    pub async fn candidates(&self, name: &str) -> Result<Vec<Candidate>, ClientError> {
        transfer::candidates(&self.channel, name).await
    }

    /// Requests that a waiting candidate becomes the next leader, and returns this candidate. The
    /// current leader is notified, see [`Leadership::transfer_requested`]. All other candidates
    /// that have an identity let this candidate pass: they move behind it in the queue.
    ///
    /// The request remains in force until the candidacy ends, also while the candidate leads. Later
    /// requests take precedence. Dropping the future may leave the request in place.
    ///
    /// # Errors
    ///
    /// [`ClientError::UnknownCandidate`] if no candidate has this identity.
    /// [`ClientError::Unavailable`]: the request may have taken effect. [`ClientError::Rejected`]
    pub async fn request_transfer(
        &self,
        name: &str,
        identity: &str,
    ) -> Result<Candidate, ClientError> {
        transfer::request(&self.channel, name, identity, 0).await
    }
}
