//! Runs commands of `tenure` inside another program, such as a page in a browser.

use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use tenure_check::{OnProgress, SearchProgress};
use tenure_lab::Lab;

use super::capture::capture_output;
use super::lab::RunFactory;
use super::{interrupt, program, run_line};

/// Exit status and output of a command that [`perform`] has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerformedCommand {
    /// Exit status that the process `tenure` would have.
    pub exit: u8,
    /// Text that a process would print to standard output.
    pub stdout: String,
    /// Warnings and the error message, which a process would print to standard error.
    pub stderr: String,
}

/// Function that a search calls at intervals with its progress. If the function returns false, the
/// search stops, and its undecided properties are incomplete.
pub type ProgressCallback = fn(&SearchProgress) -> bool;

static PROGRESS_CALLBACK: OnceLock<ProgressCallback> = OnceLock::new();

/// Sets the function that receives the progress of searches. Searches with `--from` do not call the
/// function. If a function is set already, keeps that function and returns false.
pub fn set_progress_callback(callback: ProgressCallback) -> bool {
    PROGRESS_CALLBACK.set(callback).is_ok()
}

/// Returns an observer that passes the progress of a search to the function that
/// [`set_progress_callback`] has set. If no function is set, returns `None`.
pub(super) fn callback_progress_observer() -> Option<OnProgress> {
    let callback = *PROGRESS_CALLBACK.get()?;
    Some(Arc::new(move |progress: &SearchProgress| {
        if !callback(progress) {
            interrupt::flag().store(true, Ordering::Relaxed);
        }
    }))
}

/// Performs a command with these arguments, such as `check`, `bully`, `-n`, `3`. Prints nothing,
/// but returns the output, formatted for a terminal of 100 columns without colours. The command
/// uses [`tenure_trace::files`] to read and write files, which may be in memory.
///
/// Only one command may run at a time, because an interrupt stops all running commands.
pub fn perform(arguments: &[String]) -> PerformedCommand {
    interrupt::flag().store(false, Ordering::Relaxed);
    let words = std::iter::once(OsString::from(program::name()));
    let words = words.chain(arguments.iter().map(OsString::from)).collect();
    let (status, output) =
        capture_output(|| program::run_with_arguments(arguments, || run_line(words)));
    PerformedCommand { exit: status as u8, stdout: output.stdout, stderr: output.stderr }
}

/// Creates a [`Lab`] without open sessions. Its runs simulate algorithms of the catalogue.
pub fn create_lab() -> Lab {
    Lab::new(RunFactory)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Number of progress reports of the searches in this thread.
        static REPORTS: Cell<u64> = const { Cell::new(0) };
    }

    fn performed(line: &str) -> PerformedCommand {
        perform(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn returns_texts_and_exit_status() {
        let held = performed("check ricart-agrawala -n 2");
        assert_eq!((held.exit, &*held.stderr), (0, ""));
        assert!(held.stdout.contains("mutual-exclusion"), "{}", held.stdout);
        let violated = performed("check ricart-agrawala -n 2 --variant clock-only-strict");
        assert_eq!(violated.exit, 1);
        assert!(violated.stdout.contains("mutual-exclusion violated after 6 steps"));
    }

    #[test]
    fn every_kind_of_search_reports_its_progress() {
        set_progress_callback(|_| {
            REPORTS.set(REPORTS.get() + 1);
            true
        });
        for line in [
            "check ricart-agrawala -n 2",
            "check ricart-agrawala -n 2 --measure messages",
            "check peterson-lock -n 2",
            "check byzantine-generals -n 4",
        ] {
            let before = REPORTS.get();
            let checked = performed(line);
            assert!(REPORTS.get() > before, "{line}: {checked:?}");
        }
    }

    #[test]
    fn returns_errors_and_warnings() {
        let unknown = performed("check nonsense");
        assert_eq!((unknown.exit, &*unknown.stdout), (2, ""));
        assert!(unknown.stderr.contains("nonsense"), "{}", unknown.stderr);
        let warned = performed("check central -n 2 --term-max 3");
        assert_eq!(warned.stderr, "tenure: --term-max has no effect on central\n");
    }
}
