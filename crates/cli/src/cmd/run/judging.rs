//! The run is judged while it goes on.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tenure_core::service::{agreement, log};
use tenure_core::{ProcessId, Service};
use tenure_daemon::log::ledger::Ledger;
use tenure_trace::live::{Follow, Next};
use tenure_trace::{Judge, Judgement, Kind, MergeError, Record, Told, Verification, segment};
use tokio::task::{JoinHandle, spawn_blocking};

use super::analysis::{Analysis, Coordinator};
use super::plan::Plan;
use super::workspace::Workspace;
use crate::cmd::failure::Failure;

/// How long the judge rests when it has read all that there is.
const REST: Duration = Duration::from_millis(50);

/// How many records the judge reads before it looks up.
const BREATH: u64 = 4096;

/// What a judge has to say in the end.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) verification: Verification,
    pub(super) analysis: Analysis,
    /// The log, where one was kept.
    pub(super) ledger: Ledger,
}

/// A judge at work. Dropping it sends it away.
#[derive(Debug)]
pub(super) struct Judging {
    /// Nothing is added to the traces any more.
    over: Arc<AtomicBool>,
    /// Nobody wants to hear the verdict any more.
    abandoned: Arc<AtomicBool>,
    task: JoinHandle<Result<Judged, Failure>>,
}

impl Judging {
    /// Begins, as soon as there is more than one file of a trace, or when the run is over: short
    /// runs have the machine for themselves.
    pub(super) fn begin(plan: &Plan, workspace: &Workspace) -> Judging {
        let (over, abandoned) = (Arc::default(), Arc::default());
        let bench = Bench {
            traces: workspace.traces_to_be(),
            // Where there is no lock and no log, nobody entered anything.
            only_election: !plan.lock && plan.log.is_none(),
            coordinator: plan.coordinator,
            over: Arc::clone(&over),
            abandoned: Arc::clone(&abandoned),
        };
        let task = spawn_blocking(move || bench.judge());
        Judging { over, abandoned, task }
    }

    /// The verdict on a run that is over.
    pub(super) async fn end(mut self) -> Result<Judged, Failure> {
        self.over.store(true, Ordering::Release);
        match (&mut self.task).await {
            Ok(judged) => judged,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Failure::incomplete("the judge was sent away")),
            },
        }
    }
}

impl Drop for Judging {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Release);
    }
}

/// What the judge works with.
struct Bench {
    traces: Vec<PathBuf>,
    only_election: bool,
    coordinator: Coordinator,
    over: Arc<AtomicBool>,
    abandoned: Arc<AtomicBool>,
}

impl Bench {
    fn judge(self) -> Result<Judged, Failure> {
        while !self.is_over() && !self.traces.iter().any(|trace| segment(trace, 2).exists()) {
            self.rest()?;
        }
        let traces: Vec<_> = self.traces.iter().filter(|trace| trace.exists()).cloned().collect();
        let mut follow = Follow::open(&traces, &self.over).map_err(Failure::environment)?;
        let mut header = follow.header().clone();
        if self.only_election {
            header.service = Service::Election;
        }
        let mut judge = Judge::new(&header);
        let mut analysis = Analysis::default();
        let (mut ledger, mut sessions) = (Ledger::default(), HashMap::new());
        let mut shelf = Shelf::default();
        for read in 1_u64.. {
            if read.is_multiple_of(BREATH) {
                self.look_up()?;
                shelf.tidy(&mut follow, &judge);
            }
            match follow
                .read_next()
                .map_err(|error| Failure::environment(MergeError::from(error)))?
            {
                Next::Record(record) => {
                    judge.read(&record);
                    analysis.read(&record, self.coordinator);
                    enter(&mut ledger, &mut sessions, &record);
                }
                Next::Later => {
                    self.rest()?;
                    shelf.tidy(&mut follow, &judge);
                }
                Next::End => break,
            }
        }
        Ok(Judged { verification: judge.finish_with(follow.seams()), analysis, ledger })
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn rest(&self) -> Result<(), Failure> {
        thread::sleep(REST);
        self.look_up()
    }

    /// Whether anybody still waits for the verdict.
    fn look_up(&self) -> Result<(), Failure> {
        if self.abandoned.load(Ordering::Acquire) {
            return Err(Failure::incomplete("nobody waits for the verdict"));
        }
        Ok(())
    }
}

/// Takes down what a record says of a log. In another session than before, a process had crashed.
fn enter(ledger: &mut Ledger, sessions: &mut HashMap<ProcessId, u64>, record: &Record) {
    let Some(at) = record.process.process() else { return };
    let session = sessions.entry(at).or_insert(record.session);
    if record.session > *session {
        *session = record.session;
        ledger.crashed(at);
    }
    match &record.kind {
        Kind::Crash => ledger.crashed(at),
        Kind::Event(Told::Agreement(agreement::Event::Log(told))) => match told {
            log::Event::Leading { term } => ledger.leads(at, *term),
            log::Event::Committed { index, entry } => ledger.committed(at, *index, entry),
            log::Event::Compacted { index, .. } => ledger.compacted(at, *index),
            log::Event::Restored { index, state, .. } => ledger.restored(at, *index, state),
            _ => {}
        },
        _ => {}
    }
}

/// The files that were judged and are still there: the last one of each trace, and all that there
/// were when something was found.
#[derive(Debug, Default)]
struct Shelf {
    last: HashMap<usize, PathBuf>,
    found: bool,
}

impl Shelf {
    fn tidy(&mut self, follow: &mut Follow, judge: &Judge) {
        for (trace, file) in follow.finished() {
            self.put(trace, file, judge);
        }
    }

    /// A file was judged, and is not the one that is written.
    fn put(&mut self, trace: usize, file: PathBuf, judge: &Judge) {
        if !self.found && judge.clone().finish().verdict == Judgement::Violated {
            self.found = true;
            // What is here now is around it, and stays.
            self.last.clear();
        }
        if let Some(before) = self.last.insert(trace, file) {
            // A file that cannot be deleted takes room, and is of no other harm.
            let _ = fs::remove_file(before);
        }
    }
}
