//! `tenure lock` and `tenure elect`: a command that runs while something is held.

mod child;
mod elect;
mod exec;
mod lock;
mod service;
mod signals;
mod supervise;

pub(crate) use elect::{Options as ElectOptions, run as elect};
pub(crate) use exec::{Options as ExecOptions, run as exec};
pub(crate) use lock::{Options as LockOptions, run as lock};

/// The statuses of `lock` and `elect` that are not the command's. They are none that shells, `env`,
/// `timeout` and most programs end with.
pub(super) mod status {
    /// It was not acquired, so the command was not started.
    pub(crate) const NOT_ACQUIRED: u8 = 120;
    /// It was lost, so the command was ended.
    pub(crate) const LOST: u8 = 121;
}
