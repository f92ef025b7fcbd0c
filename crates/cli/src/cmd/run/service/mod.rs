//! `tenure run --service`: members of a lock service and clients of it, all processes of their
//! own; what was done to them, and what came of that.

mod claim;
mod client;
mod clients;
mod drive;
mod judge;
mod members;
mod plan;
mod reader;
mod recorder;
mod slow;
mod summary;
mod table;
mod value;
mod values;
mod writer;

pub(crate) use client::{Options as ClientOptions, run as client};
pub(crate) use writer::{Options as WriterOptions, run as writer};

use super::idle;
use super::options::Options;
use super::workspace::Workspace;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::interrupt::Interrupts;
use crate::cmd::machine;
use crate::cmd::output::{Format, no_effect, print, print_json};
use plan::Plan;
use summary::Summary;

/// The lock that all clients want.
const LOCK: &str = "counter";

/// Starts everybody, hurts the members, ends everybody, judges and prints the table.
///
/// One thread does it all: the system ties a child's life to the thread that started it.
pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let plan = Plan::new(options)?;
    for option in idle::of_service(options) {
        no_effect(option, "a service");
    }
    let mut workspace = Workspace::new(options.dir.as_deref(), plan.members)?;
    let runtime = machine::one_thread()?;
    let outcome = runtime.block_on(async {
        let mut interrupts = Interrupts::new()?;
        drive::drive(&plan, workspace.path(), &mut interrupts).await
    });
    let course = outcome.map_err(|failure| {
        workspace.keep();
        failure.see(workspace.path())
    })?;
    let mut summary = Summary::new(&plan, course);
    if !summary.held() {
        workspace.keep();
    }
    summary.directory = workspace.is_kept().then(|| workspace.path().display().to_string());
    match options.format {
        Format::Json => print_json(&summary)?,
        Format::Text => print(&table::table(&summary))?,
    }
    Ok(summary.status())
}
