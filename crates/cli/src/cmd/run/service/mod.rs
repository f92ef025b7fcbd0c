//! `tenure run --service`: runs members and clients of a lock service as separate processes,
//! injects faults, and verifies the result.

mod client;
mod clients;
mod drive;
mod entry_record;
mod members;
mod plan;
mod reader;
mod recorder;
mod slow_disk;
mod step_queue;
mod summary;
mod table;
mod value_check;
mod value_record;
mod verify;
mod writer;

pub(crate) use client::{Options as ClientOptions, run as client};
pub(crate) use writer::{Options as WriterOptions, run as writer};

use super::options::Options;
use super::unused_options;
use super::workspace::Workspace;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::interrupt::TerminationSignals;
use crate::cmd::machine;
use crate::cmd::output::warn_no_effect;
use plan::ServiceRunPlan;
use summary::ServiceRunSummary;

const LOCK_NAME: &str = "counter";

/// Runs the service and its clients with faults, verifies the result, and prints it.
///
/// The calling thread starts all members and clients, because the operating system ends a child
/// process together with the thread that started the child process.
///
/// # Errors
///
/// Returns an error if an option is invalid or the run fails. After a failed run, the directory of
/// the run remains.
pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let plan = ServiceRunPlan::new(options)?;
    for option in unused_options::of_service(options) {
        warn_no_effect(option, "a service");
    }
    let mut workspace = Workspace::new(options.dir.as_deref(), plan.members)?;
    let runtime = machine::current_thread_runtime()?;
    let outcome = runtime.block_on(async {
        let mut interrupts = TerminationSignals::new()?;
        drive::run_service_and_clients(&plan, workspace.path(), &mut interrupts).await
    });
    let record = outcome.map_err(|failure| {
        workspace.keep();
        failure.with_details_path(workspace.path())
    })?;
    let mut summary = ServiceRunSummary::new(&plan, record);
    if !summary.succeeded() {
        workspace.keep();
    }
    summary.directory = workspace.is_kept().then(|| workspace.path().display().to_string());
    options.format.print(&summary, || table::table(&summary))?;
    Ok(summary.status())
}
