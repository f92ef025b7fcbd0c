//! Determines which faults `strace` can inject on this machine. Without `strace`, tests inject no
//! disk faults.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::skipped::report_skip;

/// Returns true if `strace` can make system calls of a child process fail. Otherwise, prints that a
/// test is skipped.
pub(crate) fn can_make_calls_fail() -> bool {
    let mut command = Command::new("strace");
    command.args(["-D", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null());
    is_usable(command.status().is_ok_and(|status| status.success()))
}

/// Returns true if `strace` can delay a process that already runs. Some systems allow this only to
/// root. Otherwise, prints that a test is skipped.
pub(crate) fn can_slow_disks() -> bool {
    is_usable(can_attach())
}

/// Prints that a test is skipped unless `strace` has worked. A machine may have `strace` but not
/// allow a process to trace another.
fn is_usable(has_worked: bool) -> bool {
    if !has_worked {
        let is_installed = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
        report_skip(if is_installed { "the right to trace a process" } else { "strace" });
    }
    has_worked
}

fn can_attach() -> bool {
    let Ok(mut slowed) = Command::new("sleep").arg("60").spawn() else { return false };
    let mut tracer = Command::new("strace");
    tracer.args(["-o", "/dev/null", "-p", &slowed.id().to_string()]);
    let tracer = tracer.stderr(Stdio::piped()).spawn();
    let message = tracer.ok().and_then(|mut tracer| {
        let mut line = String::new();
        let read = BufReader::new(tracer.stderr.take()?).read_line(&mut line);
        let _ = (tracer.kill(), tracer.wait());
        read.ok().map(|_| line)
    });
    let _ = (slowed.kill(), slowed.wait());
    message.is_some_and(|line| line.contains(" attached"))
}
