//! Placeholders for the subcommands of the lock service, in a build without that service.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::failure::{Failure, Status};

/// Subcommands of the lock service.
#[derive(Debug, Subcommand)]
pub(crate) enum Subcommands {
    /// Run a lock and election server for clients of etcd (not in this build)
    Serve(IgnoredArgs),
    /// Show the locks and elections of a lock service (not in this build)
    Locks(IgnoredArgs),
    /// Manage the members of a lock service (not in this build)
    Member(IgnoredArgs),
    /// Manage backups of a lock service (not in this build)
    Snapshot(IgnoredArgs),
    /// Run a command while holding a lock (not in this build)
    Lock(IgnoredArgs),
    /// Run a command while leading (not in this build)
    Elect(IgnoredArgs),
}

/// Any arguments; they are ignored.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct IgnoredArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

impl Subcommands {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let name = match self {
            Subcommands::Serve(_) => "serve",
            Subcommands::Locks(_) => "locks",
            Subcommands::Member(_) => "member",
            Subcommands::Snapshot(_) => "snapshot",
            Subcommands::Lock(_) => "lock",
            Subcommands::Elect(_) => "elect",
        };
        Err(not_in_this_build(name))
    }
}

pub(super) fn not_in_this_build(subcommand: &str) -> Failure {
    Failure::usage(format!(
        "`tenure {subcommand}` is not available: this build excludes the lock service; install it \
         with `cargo install --path crates/cli`"
    ))
}
