//! `tenure run`: runs a cluster of real processes and verifies the result.

mod analysis;
mod cluster;
mod drive;
mod link_proxies;
mod node_process;
mod options;
mod parent_trace;
mod plan;
mod progress;
mod responsiveness;
mod schedule;
#[cfg(feature = "service")]
mod service;
mod summary;
mod table;
mod unused_options;
mod verifier;
mod workspace;

pub(crate) use options::Options;
#[cfg(feature = "service")]
pub(crate) use service::{ClientOptions, WriterOptions, client, writer};

use serde_json::json;
use tenure_daemon::page::{LivePage, PageEventSource, PageRunInfo};

use super::capture::print_stderr_line;
use super::failure::{Failure, Status};
use super::interrupt::TerminationSignals;
use super::output::warn_no_effect;
use super::progress_bar::progress_line;
use plan::NodeRunPlan;
use summary::NodeRunSummary;
use verifier::BackgroundVerifier;
use workspace::Workspace;

/// Runs the cluster with its faults, verifies the traces, and prints the result. With `--service`,
/// runs a lock service and its clients instead.
///
/// The calling thread starts all nodes. The nodes are child processes, and the operating system
/// kills a node when the thread that started the node ends. Other work, such as the verification,
/// may run in other threads.
///
/// # Errors
///
/// Returns an error if an option is invalid, if the run fails, or if an interrupt arrives during
/// the verification. After a run that failed or was interrupted in this way, the directory of the
/// run remains.
pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    #[cfg(feature = "service")]
    if options.service.is_some() {
        return service::run(&options);
    }
    #[cfg(not(feature = "service"))]
    if options.service.is_some() {
        return Err(super::service::not_in_this_build("run --service"));
    }
    let plan = NodeRunPlan::new(options)?;
    let lock = &plan.algorithms.mutex;
    for option in unused_options::of_nodes(&plan.options, lock) {
        warn_no_effect(option, lock);
    }
    let mut workspace = Workspace::new(plan.options.dir.as_deref(), plan.size)?;
    let runtime = super::machine::current_thread_runtime()?;
    let page = open_page(&plan, &workspace)?;
    let outcome = runtime.block_on(run_and_verify(&plan, &workspace));
    // After an interrupt, the verification may still run in its own thread. The command does not
    // wait for that thread.
    runtime.shutdown_background();
    if let Some(page) = page {
        page.finish(&match &outcome {
            Ok(summary) => json!({"held": summary.succeeded(), "summary": summary}),
            Err(failure) => json!({"held": false, "failed": failure.to_string()}),
        });
    }
    let mut summary = outcome.map_err(|failure| {
        workspace.keep();
        failure.with_details_path(workspace.path())
    })?;
    if !summary.succeeded() || summary.undecided {
        workspace.keep();
    }
    summary.directory = workspace.is_kept().then(|| workspace.path().display().to_string());
    plan.options.format.print(&summary, || table::table(&summary))?;
    Ok(match (summary.succeeded(), summary.undecided || summary.interrupted) {
        (false, _) => Status::Violated,
        (true, true) => Status::Incomplete,
        (true, false) => Status::Success,
    })
}

fn open_page(plan: &NodeRunPlan, workspace: &Workspace) -> Result<Option<LivePage>, Failure> {
    let Some(listen) = plan.options.watch else { return Ok(None) };
    let about = PageRunInfo {
        title: "tenure run".to_owned(),
        mutex: plan.algorithms.mutex.clone(),
        election: plan.algorithms.election.clone(),
        size: plan.size,
        own: None,
    };
    let source = PageEventSource::from_trace_files(workspace.trace_paths());
    let page = LivePage::start(listen, None, about, source)
        .map_err(|error| Failure::usage(format!("--watch: {error}")))?;
    print_stderr_line(&format!("open {} to watch the run", page.url()));
    Ok(Some(page))
}

async fn run_and_verify(
    plan: &NodeRunPlan,
    workspace: &Workspace,
) -> Result<NodeRunSummary, Failure> {
    let mut interrupts = TerminationSignals::new()?;
    let verifier = BackgroundVerifier::start(plan, workspace);
    let observations = drive::run_nodes(plan, workspace, &mut interrupts).await?;
    let line = progress_line(None, "{spinner} {msg}");
    line.set_message("verifying the traces");
    let summary = tokio::select! {
        verified = verifier.finish() => {
            verified.map(|verified| NodeRunSummary::new(plan, verified, observations))
        }
        () = interrupts.next() => {
            Err(Failure::incomplete("interrupted before the traces were verified"))
        }
    };
    line.finish_and_clear();
    summary
}
