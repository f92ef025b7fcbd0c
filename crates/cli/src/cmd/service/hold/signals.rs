//! The signals that somebody may send to a wrapper, and that are meant for its command.

use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// Those that are passed on.
const PASSED: [Signal; 8] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::WINCH,
];

/// Signals as they come.
#[derive(Debug)]
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    pub(super) fn new() -> io::Result<Signals> {
        let caught = PASSED.into_iter().map(|signal| {
            let kind = SignalKind::from_raw(signal.as_raw());
            Ok((signal, unix::signal(kind)?))
        });
        Ok(Signals(caught.collect::<io::Result<_>>()?))
    }

    /// Waits for the next.
    pub(super) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            for (signal, caught) in &mut self.0 {
                if caught.poll_recv(context).is_ready() {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Waits for one that ends a process that does nothing about it.
    pub(super) async fn fatal(&mut self) -> Signal {
        loop {
            match self.next().await {
                Signal::WINCH => {}
                signal => return signal,
            }
        }
    }
}
