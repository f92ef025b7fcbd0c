//! Verifies the traces of a run while the run continues.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tenure_core::Service;
use tenure_trace::live::{NextRecord, TraceFollower};
use tenure_trace::{Judgement, MergeError, TraceVerifier, Verification, segment_path};
use tokio::task::{JoinHandle, spawn_blocking};

use super::analysis::{CoordinatorKind, RunFigures};
use super::plan::NodeRunPlan;
use super::workspace::Workspace;
use crate::cmd::failure::Failure;

/// Interval at which the verification looks for new records in the traces.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Number of records after which the verification checks again whether it was cancelled.
const RECORDS_PER_CHECK: u64 = 4096;

#[derive(Debug)]
pub(super) struct VerifiedRun {
    pub(super) verification: Verification,
    pub(super) figures: RunFigures,
}

/// A verification that runs in another thread. Dropping this value cancels the verification.
#[derive(Debug)]
pub(super) struct BackgroundVerifier {
    /// True after the end of the run, when the nodes and the parent write no more records.
    run_ended: Arc<AtomicBool>,
    /// True if the verification is cancelled, because its result is not needed.
    abandoned: Arc<AtomicBool>,
    task: JoinHandle<Result<VerifiedRun, Failure>>,
}

impl BackgroundVerifier {
    /// Starts the verification in another thread. The thread begins to read when a trace has two
    /// files, or when the run has ended. In a short run, each trace has one file, so the
    /// verification does not slow down the nodes.
    pub(super) fn start(plan: &NodeRunPlan, workspace: &Workspace) -> BackgroundVerifier {
        let (run_ended, abandoned) = (Arc::default(), Arc::default());
        let task = Task {
            traces: workspace.trace_paths(),
            // In a run without a lock, only the election is verified.
            only_election: !plan.uses_lock,
            coordinator: plan.coordinator,
            run_ended: Arc::clone(&run_ended),
            abandoned: Arc::clone(&abandoned),
        };
        let handle = spawn_blocking(move || task.verify());
        BackgroundVerifier { run_ended, abandoned, task: handle }
    }

    /// Verifies the traces to their end and returns the result. The caller must call this function
    /// only after the run has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if a trace cannot be read, or if the verification was cancelled.
    pub(super) async fn finish(mut self) -> Result<VerifiedRun, Failure> {
        self.run_ended.store(true, Ordering::Release);
        match (&mut self.task).await {
            Ok(result) => result,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Failure::incomplete("the verification was cancelled")),
            },
        }
    }
}

impl Drop for BackgroundVerifier {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Release);
    }
}

struct Task {
    traces: Vec<PathBuf>,
    only_election: bool,
    coordinator: CoordinatorKind,
    run_ended: Arc<AtomicBool>,
    abandoned: Arc<AtomicBool>,
}

impl Task {
    fn verify(self) -> Result<VerifiedRun, Failure> {
        while !self.has_ended() && !self.traces.iter().any(|trace| segment_path(trace, 2).exists())
        {
            self.wait()?;
        }
        let traces: Vec<_> = self.traces.iter().filter(|trace| trace.exists()).cloned().collect();
        let mut follow =
            TraceFollower::open(&traces, &self.run_ended).map_err(Failure::environment)?;
        let mut header = follow.common_header().clone();
        if self.only_election {
            header.service = Service::Election;
        }
        let mut judge = TraceVerifier::new(&header);
        let mut analysis = RunFigures::default();
        let mut segments = SegmentStore::default();
        for read in 1_u64.. {
            if read.is_multiple_of(RECORDS_PER_CHECK) {
                self.check_cancelled()?;
                segments.delete_finished(&mut follow, &judge);
            }
            match follow
                .next_record()
                .map_err(|error| Failure::environment(MergeError::from(error)))?
            {
                NextRecord::Record(record) => {
                    judge.verify_record(&record);
                    analysis.add_record(&record, self.coordinator);
                }
                NextRecord::Later => {
                    self.wait()?;
                    segments.delete_finished(&mut follow, &judge);
                }
                NextRecord::End => break,
            }
        }
        Ok(VerifiedRun {
            verification: judge.finish_with(follow.merge_report()),
            figures: analysis,
        })
    }

    fn has_ended(&self) -> bool {
        self.run_ended.load(Ordering::Acquire)
    }

    fn wait(&self) -> Result<(), Failure> {
        thread::sleep(POLL_INTERVAL);
        self.check_cancelled()
    }

    fn check_cancelled(&self) -> Result<(), Failure> {
        if self.abandoned.load(Ordering::Acquire) {
            return Err(Failure::incomplete("the verification was cancelled"));
        }
        Ok(())
    }
}

/// Deletes trace files that are verified. Keeps the last verified file of each trace until the next
/// file of this trace is verified. If a violation is found, keeps all files that exist at that
/// time.
#[derive(Debug, Default)]
struct SegmentStore {
    /// Last verified file of each trace, by the index of the trace.
    last: HashMap<usize, PathBuf>,
    /// True if the verification has found a violation.
    violated: bool,
}

impl SegmentStore {
    fn delete_finished(&mut self, follow: &mut TraceFollower, judge: &TraceVerifier) {
        for (trace, file) in follow.take_completed_files() {
            self.finish_segment(trace, file, judge);
        }
    }

    /// Records that `file` of the trace with the index `trace` is complete and verified. Deletes
    /// the previous file of this trace, unless the previous file existed when the first violation
    /// was found.
    fn finish_segment(&mut self, trace: usize, file: PathBuf, judge: &TraceVerifier) {
        if !self.violated && judge.clone().finish().verdict == Judgement::Violated {
            self.violated = true;
            // The existing files show the context of the violation, so they are kept.
            self.last.clear();
        }
        if let Some(before) = self.last.insert(trace, file) {
            // Ignores an error, because a remaining file only takes space.
            let _ = fs::remove_file(before);
        }
    }
}
