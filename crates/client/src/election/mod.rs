//! Elections: candidates, leaderships and observers.

use crate::election::leadership::Leadership;
use crate::error::ClientError;
use crate::lock::acquire::acquire;
use crate::lock::queue_entry::HandOver;
use crate::session::Session;

pub(crate) mod leadership;
pub(crate) mod observer;

impl Session {
    /// Takes part in an election as a candidate, and waits until this session is the leader.
    /// Observers of the election then receive `value`.
    ///
    /// Dropping the future withdraws the candidacy.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub async fn campaign(
        &self,
        name: &str,
        value: impl Into<Vec<u8>>,
    ) -> Result<Leadership, ClientError> {
        acquire(self, name, value.into(), HandOver::OnDeletion).await.map(Leadership::new)
    }
}
