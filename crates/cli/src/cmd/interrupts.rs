//! Ctrl-C and its kin.

use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cmd::failure::Failure;

/// The user, or the system, wants the run to end.
#[derive(Debug)]
pub(crate) struct Interrupts(Vec<Signal>);

impl Interrupts {
    pub(crate) fn new() -> Result<Self, Failure> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let signals = kinds.into_iter().map(signal).collect::<Result<_, _>>();
        signals
            .map(Interrupts)
            .map_err(|error| Failure::environment(format!("cannot watch for signals: {error}")))
    }

    /// Returns at the next of them.
    pub(crate) async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let mut signals = self.0.iter_mut();
            match signals.any(|signal| signal.poll_recv(context).is_ready()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
