//! Ctrl-C and its kin, for work that can stop and say what it knows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::{Failure, Status};
use super::program;

/// A flag that the first interrupt, from the keyboard or by the system, raises; the second one
/// ends the process as it always does.
pub(crate) fn flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(watch).clone()
}

/// Whether it was raised.
pub(crate) fn is_raised() -> bool {
    flag().load(Ordering::Relaxed)
}

/// Nothing, or the failure of work that was interrupted: what it has seen is not the whole.
pub(crate) fn check(says: &str) -> Result<(), Failure> {
    if is_raised() { Err(Failure::incomplete(format!("interrupted {says}"))) } else { Ok(()) }
}

/// Does the same to each; whoever interrupts is told after which of them.
pub(crate) fn one_by_one<'a, T>(
    items: impl IntoIterator<Item = (&'a str, T)>,
    mut act: impl FnMut(T) -> Result<Status, Failure>,
) -> Result<Status, Failure> {
    let (mut worst, mut last) = (Status::Held, None);
    for (name, item) in items {
        match act(item) {
            Err(failure) if failure.status == Status::Incomplete => {
                let after = |name| Failure::incomplete(format!("interrupted after {name}"));
                eprintln!("{}: {}", program::name(), last.map_or(failure, after));
                return Ok(worst.and(Status::Incomplete));
            }
            done => worst = worst.and(done?),
        }
        last = Some(name);
    }
    Ok(worst)
}

fn watch() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    // Whoever is told that there is a flag may rely on it: signals are caught from then on.
    let (ready, is_ready) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
            let Ok(mut interrupts) = Interrupts::of(&kinds) else { return };
            // Nobody else waits for this.
            let _ = ready.send(());
            interrupts.next().await;
            raised.store(true, Ordering::Relaxed);
            interrupts.next().await;
            std::process::exit(130);
        });
    });
    // Where signals cannot be caught, they do what they always do.
    let _ = is_ready.recv();
    flag
}

/// The user, or the system, wants a run to end.
#[derive(Debug)]
pub(crate) struct Interrupts(Vec<Signal>);

impl Interrupts {
    pub(crate) fn new() -> Result<Self, Failure> {
        Interrupts::of(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])
    }

    fn of(kinds: &[SignalKind]) -> Result<Self, Failure> {
        let signals = kinds.iter().copied().map(signal).collect::<Result<_, _>>();
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
