//! Captures the output of a command that runs inside another program, such as a web page.

use std::cell::RefCell;
use std::io::{self, Write};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CapturedOutput {
    pub(super) stdout: String,
    /// Text that would otherwise be printed to standard error: the warnings and the error message.
    pub(super) stderr: String,
}

thread_local! {
    static CAPTURED: RefCell<Option<CapturedOutput>> = const { RefCell::new(None) };
}

/// Runs `act` on this thread, and returns its result and its output. The output contains the texts
/// that `act` passes to [`append_captured_stdout`] and [`print_stderr_line`] on this thread. A
/// capture inside `act` has a separate output.
pub(super) fn capture_output<T>(act: impl FnOnce() -> T) -> (T, CapturedOutput) {
    let before = CAPTURED.replace(Some(CapturedOutput::default()));
    let result = act();
    let output = CAPTURED.replace(before);
    (result, output.unwrap_or_default())
}

pub(super) fn is_capturing() -> bool {
    CAPTURED.with_borrow(Option::is_some)
}

/// Appends `text` to the captured standard output. Returns false, and does nothing, if the output
/// of this thread is not captured.
pub(super) fn append_captured_stdout(text: &str) -> bool {
    append(|output| output.stdout.push_str(text))
}

/// Prints a line with a warning or an error to standard error. If the output of this thread is
/// captured, appends the line to the captured text instead.
///
/// Ignores an error of the write, for instance if the reader of the pipe has ended. A panic instead
/// would end this program, which may hold a lock or serve clients.
pub(crate) fn print_stderr_line(line: &str) {
    if !append(|output| output.stderr.extend([line, "\n"])) {
        let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
    }
}

fn append(act: impl FnOnce(&mut CapturedOutput)) -> bool {
    CAPTURED.with_borrow_mut(|captured| captured.as_mut().map(act).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_captures_are_separate() {
        let (inner, outer) = capture_output(|| {
            assert!(append_captured_stdout("a"));
            let ((), inner) = capture_output(|| assert!(append_captured_stdout("b")));
            print_stderr_line("warned");
            inner
        });
        assert_eq!((&*inner.stdout, &*inner.stderr), ("b", ""));
        assert_eq!((&*outer.stdout, &*outer.stderr), ("a", "warned\n"));
        assert!(!append_captured_stdout("not captured"));
    }
}
