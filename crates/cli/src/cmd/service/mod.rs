//! Subcommands of the lock service, for members, clients and operators.

mod certificates;
mod client_description;
mod client_file;
mod endpoint;
mod etcd_flags;
mod hold;
mod locks;
mod member;
mod member_states;
mod serve;
mod snapshot;
#[cfg_attr(not(feature = "otel"), path = "no_span_export.rs")]
mod span_export;
pub(super) mod status;
mod user;

pub(super) use endpoint::{BlockingClient, EndpointOptions};

use clap::Subcommand;

use super::failure::{Failure, Status};
use super::run;

/// Subcommands of the lock service.
#[derive(Debug, Subcommand)]
pub(crate) enum Subcommands {
    Serve(Box<serve::Options>),
    Locks(locks::Options),
    Member(member::Options),
    Snapshot(snapshot::Options),
    Lock(hold::LockOptions),
    Elect(hold::ElectOptions),
    #[command(hide = true)]
    ExecUnder(hold::ExecOptions),
    #[command(hide = true)]
    Guardian(hold::GuardianOptions),
    #[command(hide = true)]
    ServiceClient(run::ClientOptions),
    #[command(hide = true)]
    ServiceWriter(run::WriterOptions),
}

impl Subcommands {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self {
            Subcommands::Serve(options) => serve::run(*options),
            Subcommands::Locks(options) => locks::run(&options),
            Subcommands::Member(options) => member::run(&options),
            Subcommands::Snapshot(options) => snapshot::run(options),
            Subcommands::Lock(options) => hold::lock(&options),
            Subcommands::Elect(options) => hold::elect(&options),
            Subcommands::ExecUnder(options) => hold::exec(&options),
            Subcommands::Guardian(options) => hold::guardian(&options),
            Subcommands::ServiceClient(options) => run::client(&options),
            Subcommands::ServiceWriter(options) => run::writer(&options),
        }
    }
}
