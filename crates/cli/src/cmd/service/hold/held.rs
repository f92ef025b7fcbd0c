//! The locks or the leadership that `tenure lock` or `tenure elect` holds.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tenure_client::{ClientError, DeadlineChanges, Guard, Leadership, LossReason, Session};

use super::print_error;

/// Pause after the service has rejected a read of the candidates. Meanwhile an operator may correct
/// the permissions of the user.
const REJECTED_READ_PAUSE: Duration = Duration::from_secs(3);

/// The locks or the leadership that are held while a command runs. They belong to one session.
#[derive(Debug)]
pub(super) enum HeldClaims {
    /// Locks in the order of their names. There is at least one.
    Locks { session: Session, guards: Vec<Guard> },
    Leadership {
        leading: Leadership,
        /// True if this candidate has an identity, so that it can hand over to another candidate.
        has_identity: bool,
    },
}

impl HeldClaims {
    /// Returns the fencing tokens of the locks or the leadership, separated by commas.
    pub(super) fn comma_separated_fences(&self) -> String {
        let tokens: Vec<String> = self.claims().map(|(_, fence)| fence.to_string()).collect();
        tokens.join(",")
    }

    /// Returns the keys of the locks or the leadership, each with its fencing token.
    pub(super) fn claims(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let (guards, leadership) = match self {
            HeldClaims::Locks { guards, .. } => (&guards[..], None),
            HeldClaims::Leadership { leading, .. } => {
                (&[][..], Some((leading.key(), leading.fence())))
            }
        };
        guards.iter().map(|guard| (guard.key(), guard.fence())).chain(leadership)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            HeldClaims::Locks { session, .. } => session.deadline(),
            HeldClaims::Leadership { leading, .. } => leading.deadline(),
        }
    }

    pub(super) fn deadlines(&self) -> DeadlineChanges {
        match self {
            HeldClaims::Locks { session, .. } => session.deadline_changes(),
            HeldClaims::Leadership { leading, .. } => leading.deadline_changes(),
        }
    }

    /// Waits until one of the locks, or the leadership, is lost. Returns the reason.
    pub(super) async fn lost(&self) -> LossReason {
        type Loss<'a> = Pin<Box<dyn Future<Output = LossReason> + 'a>>;
        let guards = match self {
            HeldClaims::Locks { guards, .. } => guards,
            HeldClaims::Leadership { leading, .. } => return leading.lost().await,
        };
        let losses = guards.iter().map(|guard| Box::pin(guard.lost()) as Loss<'_>);
        let mut losses: Vec<Loss<'_>> = losses.collect();
        poll_fn(|context| {
            let mut polled = losses.iter_mut().map(|loss| loss.as_mut().poll(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }

    /// Waits until this leader must hand over to another candidate, which has a higher priority or
    /// was nominated as the next leader. Returns the reason why the leadership ends. Never resolves
    /// for locks or for a candidate without an identity.
    pub(super) async fn transfer_requested(&self) -> String {
        let HeldClaims::Leadership { leading, has_identity: true } = self else {
            return pending().await;
        };
        let mut is_reported = false;
        loop {
            let error = match leading.wait_until_transfer_due().await {
                Ok(candidate) => return format!("candidate '{}' is preferred", candidate.identity),
                // The loss is handled elsewhere.
                Err(ClientError::Lost(_)) => return pending().await,
                Err(error) => error,
            };
            if !is_reported {
                print_error(&format!("cannot read the candidates, trying again: {error}"));
                is_reported = true;
            }
            tokio::time::sleep(REJECTED_READ_PAUSE).await;
        }
    }

    /// Stores a value in the keys of the locks, for users to read. Ignores errors: the loss of a
    /// lock is detected elsewhere.
    pub(super) async fn set_lock_values(&self, value: &[u8]) {
        let HeldClaims::Locks { guards, .. } = self else { return };
        for guard in guards {
            let _ = guard.set_value(value).await;
        }
    }

    /// Releases the locks, or resigns the leadership. If the service cannot be reached, the lease
    /// expires later.
    pub(super) async fn release(self) {
        match self {
            HeldClaims::Locks { guards, .. } => {
                for guard in guards {
                    let _ = guard.release().await;
                }
            }
            HeldClaims::Leadership { leading, .. } => {
                let _ = leading.resign().await;
            }
        }
    }
}
