//! Handles Ctrl-C and SIGTERM for commands that can stop early and report a partial result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
#[cfg(not(target_family = "wasm"))]
use std::task::Poll;
#[cfg(not(target_family = "wasm"))]
use std::thread;

#[cfg(not(target_family = "wasm"))]
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::capture::print_stderr_line;
use super::failure::{Failure, Status};
use super::program;

/// Returns the flag that the first SIGINT (Ctrl-C) or SIGTERM sets. The first call of this function
/// installs the signal handlers. A second signal ends the process with the exit status 130.
pub(crate) fn flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(watch).clone()
}

pub(crate) fn is_interrupted() -> bool {
    flag().load(Ordering::Relaxed)
}

/// Returns an error if the process was interrupted, because the caller's result would be partial.
/// The error message is `interrupted`, followed by `when`.
pub(crate) fn fail_if_interrupted(when: &str) -> Result<(), Failure> {
    if is_interrupted() { Err(Failure::incomplete(format!("interrupted {when}"))) } else { Ok(()) }
}

/// Applies `act` to each item, and returns the worst status. If `act` fails with the status
/// incomplete, which means an interrupt, stops and returns at least [`Status::Incomplete`]. In this
/// case, prints an error that names the last completed item, or prints the failure if there is no
/// such item. Returns any other failure of `act`.
pub(crate) fn run_each_until_interrupted<'a, T>(
    items: impl IntoIterator<Item = (&'a str, T)>,
    mut act: impl FnMut(T) -> Result<Status, Failure>,
) -> Result<Status, Failure> {
    let (mut worst, mut last) = (Status::Success, None);
    for (name, item) in items {
        match act(item) {
            Err(failure) if failure.status == Status::Incomplete => {
                let after = |name| Failure::incomplete(format!("interrupted after {name}"));
                let failure = last.map_or(failure, after);
                print_stderr_line(&format!("{}: {failure}", program::name()));
                return Ok(worst.worse(Status::Incomplete));
            }
            outcome => worst = worst.worse(outcome?),
        }
        last = Some(name);
    }
    Ok(worst)
}

/// Creates the flag. A web page receives no signals, so the program that embeds Tenure sets the
/// flag.
#[cfg(target_family = "wasm")]
fn watch() -> Arc<AtomicBool> {
    Arc::default()
}

#[cfg(not(target_family = "wasm"))]
fn watch() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    // Waits until the handlers are installed, so that callers can rely on the flag.
    let (ready, is_ready) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
            let Ok(mut interrupts) = TerminationSignals::catch(&kinds) else { return };
            // Ignores an error, because the receiver is gone only if the process is ending.
            let _ = ready.send(());
            interrupts.next().await;
            raised.store(true, Ordering::Relaxed);
            interrupts.next().await;
            std::process::exit(130);
        });
    });
    // Ignores an error: if the signals cannot be caught, they keep their default action.
    let _ = is_ready.recv();
    flag
}

#[cfg(not(target_family = "wasm"))]
#[derive(Debug)]
pub(crate) struct TerminationSignals(Vec<Signal>);

#[cfg(not(target_family = "wasm"))]
impl TerminationSignals {
    /// Catches the signals SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn new() -> Result<Self, Failure> {
        TerminationSignals::catch(&[
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ])
    }

    pub(crate) fn catch(kinds: &[SignalKind]) -> Result<Self, Failure> {
        let signals = kinds.iter().copied().map(signal).collect::<Result<_, _>>();
        signals.map(TerminationSignals).map_err(Failure::cannot("install signal handlers"))
    }

    /// Resolves when one of the caught signals arrives.
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
