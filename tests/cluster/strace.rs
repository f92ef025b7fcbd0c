//! What `strace` may do on this machine, for whom there is no other way to hurt a disk.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Whether it can make system calls fail of what it starts.
pub(crate) fn can_make_calls_fail() -> bool {
    let mut command = Command::new("strace");
    command.args(["-D", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether it can slow down what runs already, which some systems allow to root alone.
pub(crate) fn can_slow_disks() -> bool {
    let Ok(mut slowed) = Command::new("sleep").arg("60").spawn() else { return false };
    let mut tracer = Command::new("strace");
    tracer.args(["-o", "/dev/null", "-p", &slowed.id().to_string()]);
    let tracer = tracer.stderr(Stdio::piped()).spawn();
    let says = tracer.ok().and_then(|mut tracer| {
        let mut line = String::new();
        let read = BufReader::new(tracer.stderr.take()?).read_line(&mut line);
        let _ = (tracer.kill(), tracer.wait());
        read.ok().map(|_| line)
    });
    let _ = (slowed.kill(), slowed.wait());
    says.is_some_and(|line| line.contains(" attached"))
}
