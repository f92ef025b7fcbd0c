//! The locks or the leadership that a wrapper holds.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use tenure_client::{Deadlines, Guard, Leadership, LossReason, Session};

/// The locks or the leadership that are held while a command runs. They belong to one session.
#[derive(Debug)]
pub(super) enum Held {
    /// Locks in the order of their names, at least one.
    Locks { session: Session, guards: Vec<Guard> },
    Office {
        leading: Leadership,
        /// True if the candidate has an identity, so that another candidate may be preferred.
        has_identity: bool,
    },
}

impl Held {
    /// Returns the fencing tokens, separated by commas.
    pub(super) fn fences(&self) -> String {
        let tokens: Vec<String> = self.claims().map(|(_, fence)| fence.to_string()).collect();
        tokens.join(",")
    }

    /// Returns the keys of the claims, with their fencing tokens.
    pub(super) fn claims(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let (guards, office) = match self {
            Held::Locks { guards, .. } => (&guards[..], None),
            Held::Office { leading, .. } => (&[][..], Some((leading.key(), leading.fence()))),
        };
        guards.iter().map(|guard| (guard.key(), guard.fence())).chain(office)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Held::Locks { session, .. } => session.deadline(),
            Held::Office { leading, .. } => leading.deadline(),
        }
    }

    pub(super) fn deadlines(&self) -> Deadlines {
        match self {
            Held::Locks { session, .. } => session.deadlines(),
            Held::Office { leading, .. } => leading.deadlines(),
        }
    }

    /// Waits until one of the locks, or the leadership, is lost.
    pub(super) async fn lost(&self) -> LossReason {
        type Loss<'a> = Pin<Box<dyn Future<Output = LossReason> + 'a>>;
        let guards = match self {
            Held::Locks { guards, .. } => guards,
            Held::Office { leading, .. } => return leading.lost().await,
        };
        let losses = guards.iter().map(|guard| Box::pin(guard.lost()) as Loss<'_>);
        let mut losses: Vec<Loss<'_>> = losses.collect();
        poll_fn(|context| {
            let mut polled = losses.iter_mut().map(|loss| loss.as_mut().poll(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }

    /// Waits until another candidate should lead, and returns the reason for which this leadership
    /// ends. Never resolves for locks, and for a candidate without an identity.
    pub(super) async fn transfer_requested(&self) -> String {
        if let Held::Office { leading, has_identity: true } = self
            && let Ok(candidate) = leading.transfer_requested().await
        {
            return format!("candidate '{}' is preferred", candidate.identity);
        }
        // An error means that the leadership is lost, or that the user may not read the records.
        pending().await
    }

    /// Stores a value in the keys of the locks. Ignores errors: the value is for users only, and
    /// the loss of a lock is detected otherwise.
    pub(super) async fn set_value(&self, value: &[u8]) {
        let Held::Locks { guards, .. } = self else { return };
        for guard in guards {
            let _ = guard.set_value(value).await;
        }
    }

    /// Releases the locks or resigns. If the service cannot be reached, the lease expires.
    pub(super) async fn release(self) {
        match self {
            Held::Locks { guards, .. } => {
                for guard in guards {
                    let _ = guard.release().await;
                }
            }
            Held::Office { leading, .. } => {
                let _ = leading.resign().await;
            }
        }
    }
}
