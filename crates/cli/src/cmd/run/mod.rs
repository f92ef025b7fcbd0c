//! `tenure run`: the main job.

mod analysis;
mod cluster;
mod drive;
mod idle;
mod judging;
mod log;
mod member;
mod options;
mod plan;
mod progress;
mod pulse;
mod record;
mod schedule;
#[cfg(feature = "service")]
mod service;
mod summary;
mod table;
mod wires;
mod workspace;

pub(crate) use options::Options;
#[cfg(feature = "service")]
pub(crate) use service::{ClientOptions, WriterOptions, client, writer};

use serde::Serialize;
use serde_json::json;
use tenure_daemon::page::{About, LivePage, Source};

use super::failure::{Failure, Status};
use super::interrupt::Interrupts;
use super::output::{Format, no_effect, print, print_json};
use judging::Judging;
use plan::Plan;
use progress::JudgingLine;
use summary::Summary;
use workspace::Workspace;

/// Starts the cluster, hurts it, ends it, judges it and prints the table.
///
/// One thread does it all: the system ties a child's life to the thread that started it.
pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    #[cfg(feature = "service")]
    if options.service.is_some() {
        return service::run(&options);
    }
    #[cfg(not(feature = "service"))]
    if options.service.is_some() {
        return Err(super::service::absent("run --service"));
    }
    let asked = options.clone();
    let plan = Plan::new(options)?;
    let lock = plan.log.is_none().then_some(&*plan.service.mutex);
    for option in idle::of_nodes(&asked, lock) {
        no_effect(option, lock.unwrap_or("a log"));
    }
    let format = asked.format;
    let mut workspace = Workspace::new(plan.directory.as_deref(), plan.size)?;
    let runtime = super::machine::one_thread()?;
    let page = watch(&plan, &workspace)?;
    let outcome = runtime.block_on(measure(&plan, &workspace));
    // A judge that was interrupted is not waited for.
    runtime.shutdown_background();
    if let Some(page) = page {
        page.finish(&match &outcome {
            Ok(summary) => json!({"held": summary.held(), "summary": summary}),
            Err(failure) => json!({"held": false, "failed": failure.to_string()}),
        });
    }
    let mut summary = outcome.map_err(|failure| {
        workspace.keep();
        failure.see(workspace.path())
    })?;
    if !summary.held() || summary.is_undecided() {
        workspace.keep();
    }
    summary.lies_in(workspace.is_kept().then(|| workspace.path().display().to_string()));
    match format {
        Format::Json => print_json(&summary)?,
        Format::Text => print(&summary.table())?,
    }
    Ok(match (summary.held(), summary.is_undecided() || summary.was_interrupted()) {
        (false, _) => Status::Violated,
        (true, true) => Status::Incomplete,
        (true, false) => Status::Held,
    })
}

/// The result of a run, of a lock or of a log.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Lock(Box<Summary>),
    Log(Box<log::Summary>),
}

impl Outcome {
    fn held(&self) -> bool {
        match self {
            Outcome::Lock(summary) => summary.held(),
            Outcome::Log(summary) => summary.held(),
        }
    }

    /// Whether nobody can say if there was progress: the machine was late.
    fn is_undecided(&self) -> bool {
        match self {
            Outcome::Lock(summary) => summary.undecided,
            Outcome::Log(summary) => summary.undecided,
        }
    }

    fn was_interrupted(&self) -> bool {
        match self {
            Outcome::Lock(summary) => summary.interrupted,
            Outcome::Log(summary) => summary.interrupted,
        }
    }

    fn lies_in(&mut self, directory: Option<String>) {
        match self {
            Outcome::Lock(summary) => summary.directory = directory,
            Outcome::Log(summary) => summary.lies_in(directory),
        }
    }

    fn table(&self) -> String {
        match self {
            Outcome::Lock(summary) => table::table(summary),
            Outcome::Log(summary) => log::table(summary),
        }
    }
}

/// The page on which the run can be watched, if it is asked for.
fn watch(plan: &Plan, workspace: &Workspace) -> Result<Option<LivePage>, Failure> {
    let Some(listen) = plan.watch else { return Ok(None) };
    let log = plan.log.as_ref().map(|log| &log.name);
    let about = About {
        title: "tenure run".to_owned(),
        mutex: log.unwrap_or(&plan.service.mutex).clone(),
        election: log.unwrap_or(&plan.service.election).clone(),
        size: plan.size,
        own: None,
    };
    let source = Source::files(workspace.traces_to_be());
    let page = LivePage::open(listen, None, about, source)
        .map_err(|error| Failure::usage(format!("--watch: {error}")))?;
    eprintln!("watch it at {}", page.url());
    Ok(Some(page))
}

/// Runs the cluster and judges its traces meanwhile.
async fn measure(plan: &Plan, workspace: &Workspace) -> Result<Outcome, Failure> {
    let mut interrupts = Interrupts::new()?;
    let judging = Judging::begin(plan, workspace);
    let course = drive::drive(plan, workspace, &mut interrupts).await?;
    if plan.log.is_some() {
        record::history(&workspace.history(), &course.operations)?;
    }
    let _line = JudgingLine::begins();
    tokio::select! {
        judged = judging.end() => Ok(match &plan.log {
            Some(log) => Outcome::Log(Box::new(log::Summary::new(plan, log, judged?, course))),
            None => Outcome::Lock(Box::new(Summary::new(plan, judged?, course))),
        }),
        () = interrupts.next() => {
            Err(Failure::incomplete("interrupted before the traces were judged"))
        }
    }
}
