//! Waits until a process that received SIGSTOP is suspended.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::process_state::state_of;

/// Waits until no thread of the process with this ID runs. On a busy machine, some threads continue
/// for a while after the signal was sent. Returns at once if the process does not exist.
///
/// # Panics
///
/// If a thread still runs after a minute.
pub(crate) fn wait_suspended(id: u32) {
    let is_suspended = || {
        let Ok(mut threads) = fs::read_dir(format!("/proc/{id}/task")) else { return true };
        threads.all(|thread| {
            let state = thread.ok().and_then(|thread| state_of(thread.path()));
            matches!(state, None | Some('T' | 't' | 'Z' | 'X'))
        })
    };
    for _ in 0..6_000 {
        if is_suspended() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("process {id} still runs a minute after SIGSTOP");
}
