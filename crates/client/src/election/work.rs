//! Work that only the leader performs. The work stops before the leadership passes to the next
//! leader.

use tokio::sync::watch;

use crate::election::leadership::Leadership;
use crate::election::records::Candidate;
use crate::error::{ClientError, LossReason};

/// Signal that the leadership should pass to another candidate, so that the work stops. Clones
/// receive the same signal.
#[derive(Clone, Debug)]
pub struct TransferSignal(watch::Receiver<Option<Candidate>>);

impl TransferSignal {
    /// Waits until the leadership should pass to another candidate, and returns that candidate. The
    /// work should then stop. If no transfer is requested while the work runs, the future stays
    /// pending. Dropping the future loses no notification.
    pub async fn successor(&mut self) -> Candidate {
        let requested = self.0.wait_for(Option::is_some).await.map(|it| it.clone());
        match requested {
            Ok(Some(candidate)) => candidate,
            // The call of `lead` has ended, so the signal is never sent.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Returns true if the work should stop.
    pub fn is_requested(&self) -> bool {
        self.0.borrow().is_some()
    }
}

impl Leadership {
    /// Runs the work of the leader, and resigns after the work has ended. The work of the next
    /// leader therefore starts only after the work of this leader has stopped.
    ///
    /// The work receives a [`TransferSignal`], and should end soon after the signal. The signal is
    /// sent when [`wait_until_transfer_due`](Leadership::wait_until_transfer_due) resolves. The
    /// leadership continues until the work has ended. If the leadership is lost before the work has
    /// ended, the future of the work is dropped at once. If the work has started tasks or threads,
    /// its destructors must stop them.
    ///
    /// Dropping the future drops the work first, and then resigns.
    ///
    /// ```no_run
    /// # async fn serve() {}
    /// # async fn run(session: tenure_client::Session) -> Result<(), tenure_client::ClientError> {
    /// use tenure_client::CampaignOptions;
    ///
    /// let options = CampaignOptions::new("host-7").priority(1);
    /// let leadership = session.campaign_with("scheduler", options).await?;
    /// let work = leadership.lead(async |mut transfer| {
    ///     tokio::select! {
    ///         () = serve() => {}
    ///         next = transfer.successor() => println!("{} leads next", next.identity),
    ///     }
    /// });
    /// work.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The reason of the loss, if the leadership was lost before the work ended.
    pub async fn lead<W, F, T>(self, work: W) -> Result<T, LossReason>
    where
        W: FnOnce(TransferSignal) -> F,
        F: Future<Output = T>,
    {
        let (sender, receiver) = watch::channel(None);
        let finished = {
            let mut work = std::pin::pin!(work(TransferSignal(receiver)));
            let mut requested = std::pin::pin!(self.wait_until_transfer_due());
            let mut lost = std::pin::pin!(self.lost());
            let mut is_watched = true;
            loop {
                tokio::select! {
                    biased;
                    reason = &mut lost => break Err(reason),
                    result = &mut work => break Ok(result),
                    candidate = &mut requested, if is_watched => {
                        is_watched = false;
                        match candidate {
                            Ok(candidate) => {
                                sender.send_replace(Some(candidate));
                            }
                            // The branch of `lost` handles the end of the leadership.
                            Err(ClientError::Lost(_)) => {}
                            Err(error) => {
                                tracing::warn!(%error, "transfer of leadership is not watched");
                            }
                        }
                    }
                }
            }
        };
        if finished.is_ok() {
            // If no member confirms the request, the session repeats it in the background.
            let _ = self.resign().await;
        }
        finished
    }
}
