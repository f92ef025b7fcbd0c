//! Columnar form of a layout for the HTML page. Each field of the steps, messages and other items
//! is an array with one element per item. Each text is stored once, and the arrays contain its
//! index.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;
use tenure_core::ProcessId;

use super::super::layout::{DiagramLayout, ProcessCondition, StepCause};
use crate::format::{Record, RecordKind, RecordSubject};
use crate::verify::Verification;

/// Value that represents a missing index or process. Indices and processes count from 0.
const NONE: i64 = -1;

/// Texts and JSON values that occur on the page, each stored once. The arrays of the page refer to
/// them by their indices in `texts` and `data`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Interner {
    texts: Vec<String>,
    data: Vec<Box<RawValue>>,
    #[serde(skip)]
    text_places: HashMap<String, i64>,
    #[serde(skip)]
    data_places: HashMap<String, i64>,
}

impl Interner {
    pub(super) fn intern_text(&mut self, text: &str) -> i64 {
        if let Some(place) = self.text_places.get(text) {
            return *place;
        }
        let place = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.text_places.insert(text.to_owned(), place);
        place
    }

    fn intern_data(&mut self, data: &impl Serialize) -> i64 {
        let Ok(raw) = serde_json::value::to_raw_value(data) else { return NONE };
        if let Some(place) = self.data_places.get(raw.get()) {
            return *place;
        }
        let place = self.data.len() as i64;
        self.data_places.insert(raw.get().to_owned(), place);
        self.data.push(raw);
        place
    }
}

/// Records of the window, one array per field. Each record belongs to at most one step.
#[derive(Debug, Default, Serialize)]
pub(super) struct ColumnarRecords {
    /// For each record, its number in the trace, from 1, and its subject.
    #[serde(skip)]
    subjects: Vec<(u64, RecordSubject)>,
    /// For each record, the index of its step. The index is -1 if the record belongs to no step.
    step: Vec<i64>,
    /// For each record, the index of the name of its kind, in [`Interner::texts`].
    kind: Vec<i64>,
    /// For each record, the index of the text that describes it. The text of a state is empty.
    description: Vec<i64>,
    /// For each record, the index of its data in [`Interner::data`]; -1 if it has no data. For a
    /// message, the data is the content of the message.
    data: Vec<i64>,
}

impl ColumnarRecords {
    pub(super) fn push(&mut self, number: u64, record: &Record, interner: &mut Interner) {
        self.subjects.push((number, record.process));
        self.kind.push(interner.intern_text(record.kind.name()));
        // The page displays a state as a tree.
        let is_state = matches!(record.kind, RecordKind::State(_));
        let description = if is_state { String::new() } else { record.describe() };
        self.description.push(interner.intern_text(&description));
        self.data.push(match &record.kind {
            RecordKind::Command(command) => interner.intern_data(command),
            RecordKind::Event(event) => interner.intern_data(event),
            RecordKind::Access(access) => interner.intern_data(access),
            RecordKind::Suspicion { peer, verdict } => {
                interner.intern_data(&(peer.index(), verdict))
            }
            RecordKind::State(data) | RecordKind::Other { data: Some(data), .. } => {
                interner.intern_data(data)
            }
            kind => match kind
                .message_record()
                .and_then(|message_record| message_record.content.as_ref())
            {
                Some(content) => interner.intern_data(content),
                None => NONE,
            },
        });
    }

    /// Determines the step of each record. If a record begins a step, the record belongs to this
    /// step. Any other record of a process belongs to the last step of this process. Notes, losses
    /// and duplications of messages do not count as such a last step.
    pub(super) fn assign_steps(&mut self, layout: &DiagramLayout) {
        let mut steps = layout.steps.iter().enumerate().peekable();
        let mut last = vec![NONE; layout.process_count()];
        for (number, subject) in &self.subjects {
            let mut step = match subject {
                RecordSubject::Process(at) => last.get(at.index()).copied().unwrap_or(NONE),
                RecordSubject::Resource | RecordSubject::Parent => NONE,
            };
            while let Some((place, found)) =
                steps.next_if(|(_, step)| step.first_record_number <= *number)
            {
                step = place as i64;
                let counts = found.is_process_step() && !matches!(found.cause, StepCause::Note(_));
                if let (Some(at), true) = (found.at, counts) {
                    last[at.index()] = step;
                }
            }
            self.step.push(step);
        }
    }
}

/// Steps of the diagram in trace order, one array per field.
#[derive(Serialize)]
pub(super) struct ColumnarSteps {
    /// For each step, the time since the previous step of the diagram, in ticks or nanoseconds. For
    /// the first step, its time. Negative if a clock was set back. The difference of two times of
    /// 64 bits may need 65 bits.
    time: Vec<i128>,
    /// For each step, the index of its process; -1 if it has no process.
    at: Vec<i64>,
    /// For each step, the number in the trace of its first record.
    record: Vec<u64>,
    /// For each step, its cause: the index of a variant of [`StepCause`].
    mark: Vec<u8>,
    /// For each step, the index of the text that describes its cause; -1 if the cause has no text.
    description: Vec<i64>,
    /// For each step, the index of the message that was received, lost or duplicated in this step;
    /// -1 if there is no such message.
    about: Vec<i64>,
    /// For each step, the value of its Lamport clock; 0 if the step has no clock.
    clock: Vec<u64>,
}

impl ColumnarSteps {
    pub(super) fn from_layout(layout: &DiagramLayout, interner: &mut Interner) -> Self {
        let mut before = 0;
        let mut time = Vec::with_capacity(layout.steps.len());
        for step in &layout.steps {
            time.push(i128::from(step.time) - before);
            before = i128::from(step.time);
        }
        let each = layout.steps.iter();
        ColumnarSteps {
            time,
            at: each.clone().map(|step| process(step.at)).collect(),
            record: each.clone().map(|step| step.first_record_number).collect(),
            mark: each.clone().map(|step| code(&step.cause)).collect(),
            description: each.clone().map(|step| cause_text(&step.cause, interner)).collect(),
            about: each.clone().map(|step| place(about(&step.cause).or(step.received))).collect(),
            clock: each.map(|step| step.clock.first().copied().unwrap_or(0)).collect(),
        }
    }
}

fn process(at: Option<ProcessId>) -> i64 {
    place(at.map(ProcessId::index))
}

fn place(place: Option<usize>) -> i64 {
    place.map_or(NONE, |place| place as i64)
}

const fn code(cause: &StepCause) -> u8 {
    match cause {
        StepCause::Receives => 0,
        StepCause::UnknownCause => 1,
        StepCause::OtherCause(_) => 2,
        StepCause::Crashes => 3,
        StepCause::Recovers => 4,
        StepCause::Loses(_) => 5,
        StepCause::Duplicates(_) => 6,
        StepCause::Network(_) => 7,
        StepCause::Note(_) => 8,
    }
}

fn cause_text(cause: &StepCause, names: &mut Interner) -> i64 {
    match cause {
        StepCause::OtherCause(text) | StepCause::Network(text) | StepCause::Note(text) => {
            names.intern_text(text)
        }
        _ => NONE,
    }
}

const fn about(cause: &StepCause) -> Option<usize> {
    match cause {
        StepCause::Loses(arrow) | StepCause::Duplicates(arrow) => Some(*arrow),
        _ => None,
    }
}

/// Messages of the diagram, one array per field.
#[derive(Serialize)]
pub(super) struct ColumnarMessages {
    from: Vec<usize>,
    to: Vec<usize>,
    message: Vec<i64>,
    layer: Vec<i64>,
    /// For each message, the index of the step that sent it; -1 if the window contains no such
    /// step.
    sent: Vec<i64>,
    /// For each message, the index of the step in which it arrived or was lost; -1 if the window
    /// contains no such step.
    ended: Vec<i64>,
    /// For each message, the index of its [`MessageOutcome`](super::super::MessageOutcome) variant.
    fate: Vec<u8>,
    /// For each message: 1 if it carries a token, otherwise 0.
    token: Vec<u8>,
}

impl ColumnarMessages {
    pub(super) fn from_layout(layout: &DiagramLayout, interner: &mut Interner) -> Self {
        let each = layout.arrows.iter();
        let layer = |arrow: &super::super::MessageArrow| format!("{:?}", arrow.layer);
        ColumnarMessages {
            from: each.clone().map(|arrow| arrow.from.index()).collect(),
            to: each.clone().map(|arrow| arrow.to.index()).collect(),
            message: each.clone().map(|arrow| interner.intern_text(&arrow.message)).collect(),
            layer: each.clone().map(|arrow| interner.intern_text(&layer(arrow))).collect(),
            sent: each.clone().map(|arrow| place(arrow.sent_in_step)).collect(),
            ended: each.clone().map(|arrow| place(arrow.ended_in_step)).collect(),
            fate: each.clone().map(|arrow| arrow.outcome as u8).collect(),
            token: each.map(|arrow| u8::from(arrow.carries_token)).collect(),
        }
    }
}

/// Intervals in which a condition held at a process, one array per field.
#[derive(Serialize)]
pub(super) struct ColumnarConditions {
    at: Vec<usize>,
    /// For each interval, the index of a variant of [`ProcessCondition`].
    condition: Vec<u8>,
    /// For each interval, the index of the step in which it began; -1 if the window contains no
    /// such step.
    from: Vec<i64>,
    /// For each interval, the index of the step in which it ended; -1 if the window contains no
    /// such step.
    until: Vec<i64>,
    /// For each interval, the number of the term in which the process leads; 0 for other
    /// conditions, and for elections without terms.
    term: Vec<u64>,
}

impl ColumnarConditions {
    pub(super) fn from_layout(layout: &DiagramLayout) -> Self {
        let each = layout.spans.iter();
        let condition = |condition| match condition {
            ProcessCondition::Waiting => 0,
            ProcessCondition::Inside => 1,
            ProcessCondition::Leading(_) => 2,
            ProcessCondition::Token => 3,
            ProcessCondition::Down => 4,
            ProcessCondition::Stopped => 5,
        };
        let term =
            |condition| if let ProcessCondition::Leading(number) = condition { number } else { 0 };
        ColumnarConditions {
            at: each.clone().map(|span| span.at.index()).collect(),
            condition: each.clone().map(|span| condition(span.condition)).collect(),
            from: each.clone().map(|span| place(span.from)).collect(),
            until: each.clone().map(|span| place(span.until)).collect(),
            term: each.map(|span| term(span.condition)).collect(),
        }
    }
}

/// Intervals in which the network was partitioned, one array per field.
#[derive(Serialize)]
pub(super) struct ColumnarPartitions {
    /// For each interval, the index of the step in which it began; -1 if the window contains no
    /// such step.
    from: Vec<i64>,
    /// For each interval, the index of the step in which it ended; -1 if the window contains no
    /// such step.
    until: Vec<i64>,
    /// For each interval, the indices of the processes on each side.
    sides: Vec<Vec<Vec<usize>>>,
}

impl ColumnarPartitions {
    pub(super) fn from_layout(layout: &DiagramLayout) -> Self {
        let each = layout.partition_spans.iter();
        let side = |side: &Vec<ProcessId>| side.iter().map(|at| at.index()).collect();
        ColumnarPartitions {
            from: each.clone().map(|region| place(region.from)).collect(),
            until: each.clone().map(|region| place(region.until)).collect(),
            sides: each.map(|region| region.sides.iter().map(side).collect()).collect(),
        }
    }
}

/// Violations in the window, one array per field.
#[derive(Serialize)]
pub(super) struct ColumnarViolations {
    step: Vec<usize>,
    until: Vec<i64>,
    processes: Vec<Vec<usize>>,
}

impl ColumnarViolations {
    pub(super) fn from_layout(layout: &DiagramLayout) -> Self {
        let each = layout.violation_marks.iter();
        ColumnarViolations {
            step: each.clone().map(|mark| mark.step).collect(),
            until: each.clone().map(|mark| place(mark.conflict_end_step)).collect(),
            processes: each
                .map(|mark| mark.conflicting_processes.iter().map(|at| at.index()).collect())
                .collect(),
        }
    }
}

/// Returns, for each violation, the index of the step in which it occurred. The index is -1 if the
/// window contains no such step. `first_time` is the time of the first record, as the diagram
/// counts it. The times of violations are relative to `first_time`.
pub(super) fn violation_steps(
    layout: &DiagramLayout,
    verification: &Verification,
    first_time: u64,
) -> Vec<i64> {
    let steps = verification.violations.iter().map(|it| layout.step_of_violation(it, first_time));
    steps.map(place).collect()
}
