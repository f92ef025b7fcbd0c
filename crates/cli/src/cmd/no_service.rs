//! The command without the lock service, whose subcommands say where it is.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::failure::{Failure, Status};

/// What is done at a lock service.
#[derive(Debug, Subcommand)]
pub(crate) enum Subcommands {
    /// A lock and election server that clients of etcd talk to (not in this build)
    Serve(Whatever),
    /// The locks and offices of a lock service (not in this build)
    Locks(Whatever),
    /// The members of a lock service (not in this build)
    Member(Whatever),
    /// Backups of a lock service (not in this build)
    Snapshot(Whatever),
    /// Run a command while a lock is held at a lock service (not in this build)
    Lock(Whatever),
    /// Run a command while it leads at a lock service (not in this build)
    Elect(Whatever),
}

/// Options that mean something where there is a service.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Whatever {
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
        Err(absent(name))
    }
}

/// What is said to whoever asks this build for something of the service.
pub(super) fn absent(asked: &str) -> Failure {
    Failure::usage(format!(
        "`tenure {asked}` is not in this build, which is without the lock service; \
         `cargo install --path crates/cli` installs all of it"
    ))
}
