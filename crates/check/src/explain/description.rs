//! A run in words, one line per step.

use std::fmt;

use tenure_core::service::mutex;
use tenure_trace::{Record, RecordKind, Trace};

use crate::explain::replay::{STEP_ENDS_TEXT, TIME_PASSES_TEXT};

/// Description of a run, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepwiseDescription {
    /// Number of processes.
    pub size: u32,
    /// Steps in order, including the entries that do not count as steps: see
    /// [`StepDescription::is_uncounted`].
    pub steps: Vec<StepDescription>,
    /// Index in `steps` of the first step of a cycle. The run repeats the steps from this index to
    /// the last step forever. `None` if the run ends without a cycle.
    pub repeats_from: Option<usize>,
}

/// Description of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDescription {
    /// Input of the step, for instance "P2 receives request from P1".
    pub input: String,
    /// Events that the step causes, for instance "P2 enters".
    pub events: Vec<String>,
    /// True if this entry is not counted as a step of the run. Such an entry records that time
    /// passes, or that a process completes a step that it began in an earlier entry.
    pub is_uncounted: bool,
}

impl StepwiseDescription {
    /// Describes a trace written by the checker, in which all records of a step have the same time.
    pub(crate) fn from_checker_trace(trace: &Trace) -> Self {
        let steps = trace.records.chunk_by(|one, other| one.time == other.time);
        StepwiseDescription {
            size: trace.header.n,
            steps: steps.filter_map(StepDescription::of).collect(),
            repeats_from: None,
        }
    }

    /// Returns the number of steps of the run. Does not count entries for which
    /// [`StepDescription::is_uncounted`] is true.
    pub fn step_count(&self) -> usize {
        self.steps.iter().filter(|step| !step.is_uncounted).count()
    }

    /// Returns the number of counted steps that the run repeats forever. 0 if the run ends without
    /// a cycle.
    pub(crate) fn repeated_step_count(&self) -> u32 {
        let cycle = self.repeats_from.map_or(&[][..], |from| &self.steps[from..]);
        let steps = cycle.iter().filter(|step| !step.is_uncounted).count();
        u32::try_from(steps).expect("a run has fewer than 2^32 steps")
    }

    /// Returns the input of each step in words, without the events of the step. Omits entries for
    /// which [`StepDescription::is_uncounted`] is true.
    pub fn step_inputs(&self) -> Vec<String> {
        let steps = self.steps.iter().filter(|step| !step.is_uncounted);
        steps.map(|step| step.input.clone()).collect()
    }
}

impl StepDescription {
    /// Describes the records of one step. The first record is the input of the step. Returns `None`
    /// for the boot of a process, and for the end of the run.
    fn of(records: &[Record]) -> Option<Self> {
        let is_command = |command| match &records[0].kind {
            RecordKind::Command(issued) => issued.mutex() == Some(&command),
            _ => false,
        };
        let events = records.iter().filter(|record| match &record.kind {
            // An exit after the request to exit is not listed, because the request implies it.
            RecordKind::Event(event) => {
                event.mutex() != Some(&mutex::Event::Exited) || !is_command(mutex::Command::Exit)
            }
            _ => false,
        });
        let events = events.map(Record::describe).collect();
        let (step, is_uncounted) = match &records[0].kind {
            RecordKind::Boot | RecordKind::End => return None,
            RecordKind::Note(note) if note == TIME_PASSES_TEXT => (note.clone(), true),
            RecordKind::Note(note) if note == STEP_ENDS_TEXT => {
                (format!("{note} of {}", records[0].process), true)
            }
            _ => (records[0].describe(), false),
        };
        Some(StepDescription { input: step, events, is_uncounted })
    }
}

impl fmt::Display for StepwiseDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (index, step) in self.steps.iter().enumerate() {
            if self.repeats_from == Some(index) {
                writeln!(f, "     and from here on, again and again:")?;
            }
            if step.is_uncounted {
                writeln!(f, "     ({})", step.input)?;
                continue;
            }
            number += 1;
            write!(f, "{number:>4} {}", step.input)?;
            for event in &step.events {
                write!(f, "; {event}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
