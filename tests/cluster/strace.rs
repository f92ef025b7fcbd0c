//! Determines which faults `strace` can inject on this machine. Without `strace`, tests inject no
//! disk faults.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Returns true if `strace` can make system calls of a child process fail.
pub(crate) fn can_make_calls_fail() -> bool {
    let mut command = Command::new("strace");
    command.args(["-D", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns true if `strace` can delay a process that already runs. Some systems allow this only to
/// root.
pub(crate) fn can_slow_disks() -> bool {
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
