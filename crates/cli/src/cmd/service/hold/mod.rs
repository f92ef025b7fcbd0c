//! `tenure lock` and `tenure elect`: a command that runs while something is held.

mod boot_clock;
mod channel;
mod elect;
mod exec_under;
mod guarded;
mod guardian;
mod lock;
mod service;
mod signals;
mod supervise;
mod tree;

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tenure_trace::plain;

pub(crate) use elect::{Options as ElectOptions, run as elect};
pub(crate) use exec_under::{Options as ExecOptions, run as exec};
pub(crate) use guardian::{Options as GuardianOptions, run as guardian};
pub(crate) use lock::{Options as LockOptions, run as lock};

use crate::cmd::program;

/// The statuses of `lock` and `elect` that are not the command's. They are none that shells, `env`,
/// `timeout` and most programs end with.
pub(super) mod status {
    /// It was not acquired, so the command was not started.
    pub(crate) const NOT_ACQUIRED: u8 = 120;
    /// It was lost, or its guardian failed, so the command was ended.
    pub(crate) const LOST: u8 = 121;
}

/// A command that starts this program again.
fn itself() -> io::Result<Command> {
    /// This also works after the file was replaced, as by an upgrade.
    const RUNNING: &str = "/proc/self/exe";
    let path = std::env::current_exe()?;
    let mut command = match Path::new(RUNNING).exists() {
        true => Command::new(RUNNING),
        false => Command::new(&path),
    };
    command.arg0(path.file_name().unwrap_or("tenure".as_ref()));
    Ok(command)
}

/// Prints a line to standard error.
fn say(line: &str) {
    // It may contain text from the service, or names of processes.
    eprintln!("{}: {}", program::name(), plain(line));
}
