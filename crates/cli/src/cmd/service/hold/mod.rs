//! `tenure lock` and `tenure elect`: run a command while this client holds a lock or leads an
//! election.

mod boot_clock;
mod break_requests;
mod channel;
mod elect;
mod exec_under;
mod guarded;
mod guardian;
mod held;
mod lock;
mod on_lost;
mod process_tree;
mod run;
mod signals;
mod supervise;

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tenure_trace::escape_invisible;

pub(crate) use elect::{Options as ElectOptions, run as elect};
pub(crate) use exec_under::{Options as ExecOptions, run as exec};
pub(crate) use guardian::{Options as GuardianOptions, run as guardian};
pub(crate) use lock::{Options as LockOptions, run as lock};

use crate::cmd::capture::print_stderr_line;
use crate::cmd::program;

/// Exit statuses that `lock` and `elect` themselves return in place of the command's exit status.
/// They differ from the statuses of shells, `env`, `timeout` and most programs.
pub(super) mod status {
    /// The lock was not acquired, or it was lost at once, so the command was not started.
    pub(crate) const NOT_ACQUIRED: u8 = 120;
    /// The lock was lost, another client broke it, another candidate must lead, or the guardian
    /// failed. So the command was ended, but some of its processes may still exist.
    pub(crate) const LOST: u8 = 121;
}

fn this_program() -> io::Result<Command> {
    /// Path of the running program. It remains valid after an upgrade has replaced the file.
    const RUNNING_EXECUTABLE: &str = "/proc/self/exe";
    let path = std::env::current_exe()?;
    let mut command = match Path::new(RUNNING_EXECUTABLE).exists() {
        true => Command::new(RUNNING_EXECUTABLE),
        false => Command::new(&path),
    };
    command.arg0(path.file_name().unwrap_or("tenure".as_ref()));
    Ok(command)
}

fn print_error(line: &str) {
    // Escapes the line, because it may contain text from the service or names of processes.
    print_stderr_line(&format!("{}: {}", program::name(), escape_invisible(line)));
}
