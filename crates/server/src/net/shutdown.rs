//! Shutdown of a member: open calls end with the error that etcd returns.

use std::time::Duration;

use crate::log::state::SharedState;
use crate::member::Member;

/// Time after the beginning of a shutdown during which calls may still respond.
const RESPONSE_GRACE_PERIOD: Duration = Duration::from_millis(100);

impl SharedState {
    /// Starts the shutdown of this member. All open calls end after [`RESPONSE_GRACE_PERIOD`]. A
    /// call that begins later ends this time after its beginning.
    pub(crate) fn stop_serving(&self) {
        self.is_stopping.send_replace(true);
    }
}

impl Member {
    /// Resolves when this member has begun to shut down and [`RESPONSE_GRACE_PERIOD`] has passed. A
    /// call that waits here must then end.
    pub(crate) fn wait_for_shutdown_grace(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut is_stopping = self.shared.is_stopping.subscribe();
        async move {
            // If the sender was dropped, the member has stopped.
            let _ = is_stopping.wait_for(|is_stopping| *is_stopping).await;
            tokio::time::sleep(RESPONSE_GRACE_PERIOD).await;
        }
    }
}
