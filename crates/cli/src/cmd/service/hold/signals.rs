//! Signals that the wrapper or the guardian receives, and passes on to the command.

use std::fs;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

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

/// Signals that suspend a process. The guardian catches them, because it must continue to run while
/// the command is suspended.
const STOPPING: [Signal; 3] = [Signal::TSTP, Signal::TTIN, Signal::TTOU];

#[derive(Debug)]
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Catches the signals that are passed on to the command. If this process already ignored a
    /// signal when it started, as under `nohup`, the signal is not caught. The command inherits
    /// this setting, and ignores the signal as well.
    pub(super) fn new() -> io::Result<Signals> {
        Signals::catch(&PASSED)
    }

    /// Catches the signals that are passed on to the command, and the signals that suspend a
    /// process.
    pub(super) fn new_for_guardian() -> io::Result<Signals> {
        Signals::catch(&[&PASSED[..], &STOPPING].concat())
    }

    fn catch(signals: &[Signal]) -> io::Result<Signals> {
        let ignored = ignored();
        let caught = signals.iter().filter(|it| ignored >> (it.as_raw() - 1) & 1 == 0);
        let caught = caught.map(|signal| {
            let kind = SignalKind::from_raw(signal.as_raw());
            Ok((*signal, unix::signal(kind)?))
        });
        Ok(Signals(caught.collect::<io::Result<_>>()?))
    }

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

    /// Waits for a signal whose default action is to end a process.
    pub(super) async fn fatal(&mut self) -> Signal {
        loop {
            match self.next().await {
                Signal::WINCH => {}
                signal => return signal,
            }
        }
    }
}

/// Returns the set of signals that this process ignores, as bits; signal 1 is the lowest bit.
/// Returns 0 if the system does not report the set.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}
