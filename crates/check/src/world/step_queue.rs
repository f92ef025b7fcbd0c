//! Steps that take time. The messages of a step leave the process when the step ends.

use std::hash::{Hash, Hasher};

use tenure_core::{ProcessId, Protocol};

use crate::reduce::shifts::ShiftFunctions;
use crate::reduce::symmetry::{Renaming, SymmetryFunctions};
use crate::world::local::{ArmedTimer, disarm_timer};

/// A step that has not ended. The process has handled the input, but the messages have not left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnfinishedStep<P: Protocol> {
    /// Remaining units of synchronous time before the step may end. These units pass only while the
    /// step is the first of the queue.
    pub(crate) min_duration: u32,
    /// Remaining units of synchronous time in which the step must end. These units pass only while
    /// the step is the first of the queue.
    pub(crate) max_duration: u32,
    /// Messages that leave at the end of the step, in order.
    pub(crate) messages: Vec<(ProcessId, P::Message)>,
    /// Timers that start at the end of the step, in the order of [`Ord`] for timers.
    pub(crate) timers: Vec<ArmedTimer<P::Timer>>,
    /// Causal past of the process when it handled the input. The messages carry this past.
    pub(crate) past: Vec<u32>,
}

/// Steps of one process that have not ended, in order. Only the first step is in progress. The
/// steps are in a `Vec` and not in a `VecDeque`: a `Vec` compiles faster, and the steps are few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepQueue<P: Protocol>(Vec<UnfinishedStep<P>>);

impl<P: Protocol> Default for StepQueue<P> {
    fn default() -> Self {
        StepQueue(Vec::new())
    }
}

impl<P: Protocol> Hash for StepQueue<P> {
    /// Hashes each step in the queue. An empty queue therefore does not affect the fingerprint of a
    /// state. If steps take no time, the queue is always empty.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|step| step.hash(state));
    }
}

impl<P: Protocol> StepQueue<P> {
    pub(crate) fn first(&self) -> Option<&UnfinishedStep<P>> {
        self.0.first()
    }

    pub(crate) fn push(&mut self, step: UnfinishedStep<P>) {
        self.0.push(step);
    }

    /// Removes the step in progress and returns it. The next step is then in progress.
    pub(crate) fn pop(&mut self) -> Option<UnfinishedStep<P>> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Prevents this timer from starting at the end of any unfinished step.
    pub(crate) fn disarm_timer(&mut self, timer: &P::Timer) {
        for step in &mut self.0 {
            disarm_timer(&mut step.timers, timer);
        }
    }

    /// Lets one unit of synchronous time pass for the step in progress.
    pub(crate) fn advance_time(&mut self) {
        let Some(first) = self.0.first_mut() else { return };
        first.min_duration = first.min_duration.saturating_sub(1);
        first.max_duration =
            first.max_duration.checked_sub(1).expect("time does not pass while a step must end");
    }

    pub(crate) fn smallest_timestamp(
        &self,
        shifts: &ShiftFunctions<P>,
        config: &P::Config,
    ) -> Option<u64> {
        let messages = self.0.iter().flat_map(|step| &step.messages);
        messages.filter_map(|(_, sent)| (shifts.smallest_message_timestamp)(config, sent)).min()
    }

    pub(crate) fn lower_timestamps(
        &mut self,
        shifts: &ShiftFunctions<P>,
        config: &P::Config,
        by: u64,
    ) {
        let messages = self.0.iter_mut().flat_map(|step| &mut step.messages);
        messages.for_each(|(_, sent)| (shifts.lower_message_timestamps)(config, sent, by));
    }

    pub(crate) fn renamed(&self, symmetry: &SymmetryFunctions<P>, names: &Renaming) -> Self {
        let renamed = self.0.iter().map(|step| {
            let message = |(to, sent): &(ProcessId, P::Message)| {
                (names.new_name(*to), (symmetry.renamed_message)(sent, names))
            };
            UnfinishedStep {
                messages: step.messages.iter().map(message).collect(),
                timers: symmetry.renamed_timers(&step.timers, names),
                past: names.permuted(&step.past),
                ..*step
            }
        });
        StepQueue(renamed.collect())
    }
}
