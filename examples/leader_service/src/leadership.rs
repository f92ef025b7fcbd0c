//! The leadership of this copy of the service, for its request handlers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure_client::{Client, ClientError, Leadership};

/// Pause after a failed request to the lock service, before the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The current leadership of this copy. It is empty while another copy leads. A clone of this
/// handle refers to the same leadership.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeadershipHandle {
    current: Arc<Mutex<Option<Arc<Leadership>>>>,
}

impl LeadershipHandle {
    /// Returns the fencing token if this copy leads.
    ///
    /// Each call compares the deadline with the clock. A process that was paused therefore knows
    /// that it no longer leads, even before any task of the runtime has noticed.
    pub(crate) fn fence(&self) -> Option<u64> {
        let current = self.current();
        let leadership = current.as_ref()?;
        (leadership.deadline()? > Instant::now()).then(|| leadership.fence())
    }

    /// Runs for ever: campaigns, leads until the leadership is lost, and campaigns again.
    pub(crate) async fn campaign(self, client: Client, address: SocketAddr, ttl: Duration) {
        loop {
            if let Err(error) = self.lead(&client, address, ttl).await {
                println!("cannot campaign: {error}");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }

    async fn lead(
        &self,
        client: &Client,
        address: SocketAddr,
        ttl: Duration,
    ) -> Result<(), ClientError> {
        let session = client.session(ttl).await?;
        // Observers of the election see the address, and can send requests there.
        let leadership = Arc::new(session.campaign("leader", address.to_string()).await?);
        println!("leads with fencing token {}", leadership.fence());
        *self.current() = Some(leadership.clone());
        let reason = leadership.lost().await;
        *self.current() = None;
        println!("leads no more: {reason}");
        Ok(())
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Leadership>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
