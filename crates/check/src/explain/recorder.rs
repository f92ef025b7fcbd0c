//! Records a run of the checker as a trace, with the same records as a simulation or a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT, VectorClock};
use tenure_trace::state::StateRecorder;
use tenure_trace::{MessageRecord, MessageSelector, Record, RecordKind, RecordSubject};

use crate::explain::replay::{Replay, ReplayedStep, STEP_ENDS_TEXT, TIME_PASSES_TEXT};
use crate::model::SearchModel;
use crate::model::step_content::{StepEffects, StepInput};
use crate::world::action::{Action, ActionKind};
use crate::world::rules::SearchRules;

/// A message in flight, with the session and the number by which the trace identifies the message.
#[derive(Clone, Debug)]
struct UndeliveredMessage {
    /// Id of the message; 0 for a message between applications.
    message: u32,
    /// Number of the message among the messages of its sender's session on this link, from 1.
    number: u64,
    /// Number of recoveries of the sender before it sent the message.
    session: u64,
    /// Vector clock of the sender when it sent the message.
    clock: VectorClock,
}

/// Records a run step by step. A step takes one unit of the trace's time.
pub(crate) struct ReplayRecorder {
    pub(super) model: Arc<dyn SearchModel>,
    records: Vec<Record>,
    /// Time of the last step, in ticks.
    now: u64,
    /// For each process: the number of its recoveries so far.
    sessions: Vec<u64>,
    clocks: Vec<VectorClock>,
    /// For each link: the number of messages sent in the sender's current session.
    numbers: BTreeMap<(ProcessId, ProcessId), u64>,
    /// For each link: the messages in flight, in the order of sending. The link from process *i* to
    /// process *j* of *n* has the index *i* × *n* + *j*.
    in_flight: Vec<Vec<UndeliveredMessage>>,
    states: StateRecorder,
    /// Index of the message that the next step takes, among the messages in flight on the link. If
    /// `None`, the next step takes the first message with the expected content.
    selected: Option<usize>,
}

impl ReplayRecorder {
    pub(crate) fn new(rules: &SearchRules) -> Self {
        let size = rules.layout.size;
        ReplayRecorder {
            model: Arc::clone(&rules.model),
            records: Vec::new(),
            now: 0,
            sessions: vec![0; size],
            clocks: vec![VectorClock::new(size as u32); size],
            numbers: BTreeMap::new(),
            in_flight: (0..size * size).map(|_| Vec::new()).collect(),
            states: StateRecorder::default(),
            selected: None,
        }
    }

    /// Records the boot of each process. If the process is down from the start, also records a
    /// crash.
    pub(crate) fn record_boots(&mut self, replay: &Replay) {
        for at in (0..self.sessions.len()).map(ProcessId::from_index) {
            self.note(at, RecordKind::Boot);
            if replay.is_down(at) {
                self.note(at, RecordKind::Crash);
                continue;
            }
            let effects = self.model.boot_effects(at, replay.local_state_id(at));
            self.effects(at, effects);
            self.record_state(at, replay);
        }
    }

    /// Takes a step in the replay, and records it.
    pub(crate) fn record_action(&mut self, replay: &mut Replay, action: Action) {
        let taken = replay.apply(action);
        let at = taken.at;
        self.record_step(taken, replay.is_down(at));
        self.record_state(at, replay);
    }

    /// Records a step that was taken, without the state after the step. If `receiver_was_down`,
    /// records a delivered message as lost.
    pub(crate) fn record_step(&mut self, taken: ReplayedStep, receiver_was_down: bool) {
        let at = taken.at;
        self.now += TICKS_PER_TIME_UNIT;
        match (taken.content, taken.kind) {
            (StepInput::Command(command), _) => {
                self.clocks[at.index()].tick(at);
                self.note(at, RecordKind::Command(command));
            }
            (StepInput::Timer(timer), _) => {
                self.note(at, RecordKind::Timer(format!("{timer:?}")));
            }
            (StepInput::Suspicion(peer, verdict), _) => {
                self.note(at, RecordKind::Suspicion { peer, verdict });
            }
            (StepInput::Message(from, to, message), step) => {
                self.record_message((from, to), message, step, receiver_was_down);
            }
            (StepInput::Split(side), _) => {
                let all_processes = (0..self.sessions.len()).map(ProcessId::from_index);
                let (one, other) = all_processes.partition(|at| side & 1 << at.0 != 0);
                self.record_run_event(RecordKind::Partition(vec![one, other]));
            }
            (StepInput::StepEnd, _) => self.note(at, RecordKind::Note(STEP_ENDS_TEXT.to_owned())),
            (StepInput::Nothing, ActionKind::Crash) => self.note(at, RecordKind::Crash),
            (StepInput::CrashBeforeSave, _) => {
                self.note(at, RecordKind::Unsaved);
                self.note(at, RecordKind::Crash);
            }
            (StepInput::Nothing, ActionKind::Mute) => self.note(at, RecordKind::Mute),
            (StepInput::Nothing, ActionKind::Recover) => {
                self.sessions[at.index()] += 1;
                self.numbers.retain(|(from, _), _| *from != at);
                self.note(at, RecordKind::Recover);
            }
            (StepInput::Nothing, _) => {
                self.record_run_event(RecordKind::Note(TIME_PASSES_TEXT.to_owned()));
            }
        }
        for choice in &taken.effects.choices {
            self.note(at, RecordKind::Choice(*choice));
        }
        self.effects(at, taken.effects);
    }

    /// Records an event that concerns the whole run, such as a partition.
    pub(crate) fn record_run_event(&mut self, kind: RecordKind) {
        self.records.push(Record::new(self.now, RecordSubject::Parent, kind));
    }

    /// Records the state of a process after its boot or a step. Records nothing if the process is
    /// down or its state has not changed.
    fn record_state(&mut self, at: ProcessId, replay: &Replay) {
        let changed =
            replay.state(at).and_then(|state| self.states.state_record_if_changed(at, &state));
        if let Some(state) = changed {
            self.note(at, state);
        }
    }

    /// Returns the id of the message in flight that `pick` selects. If `applications` is true,
    /// `pick` selects among the messages between applications, and otherwise among the messages of
    /// the protocol. A message between applications has the id 0. Returns `None` if there is no
    /// such message.
    pub(crate) fn find_message_id(
        &self,
        pick: &MessageSelector,
        applications: bool,
    ) -> Option<u32> {
        let index = self.index(pick, applications)?;
        Some(self.in_flight[self.link(pick.from, pick.to)][index].message)
    }

    /// Makes the next step take the message that `pick` selects. If `applications` is true, `pick`
    /// selects among the messages between applications, and otherwise among the messages of the
    /// protocol. Without this call, the step takes the first message with the expected content.
    pub(crate) fn set_next_message(&mut self, pick: &MessageSelector, applications: bool) {
        self.selected = self.index(pick, applications);
    }

    fn index(&self, pick: &MessageSelector, applications: bool) -> Option<usize> {
        let link = self.in_flight.get(self.link(pick.from, pick.to))?;
        let mut indices = (0..link.len()).filter(|at| (link[*at].message == 0) == applications);
        let kind = |id| if id == 0 { "" } else { self.model.message_name(id) };
        let named = |at: usize| (pick.from, pick.to, kind(link[at].message));
        let index = pick.index_in(indices.clone().map(named))?;
        indices.nth(index)
    }

    /// Returns the records. If `has_ended`, a last record states that the run ends in its last
    /// state.
    pub(crate) fn finish(mut self, has_ended: bool) -> Vec<Record> {
        if has_ended {
            self.records.push(Record::new(
                self.now + TICKS_PER_TIME_UNIT,
                RecordSubject::Parent,
                RecordKind::End,
            ));
        }
        self.records
    }

    fn record_message(
        &mut self,
        (from, to): (ProcessId, ProcessId),
        message: u32,
        step: ActionKind,
        receiver_was_down: bool,
    ) {
        if step == ActionKind::Send {
            self.send(from, to, 0);
            return;
        }
        let link = self.link(from, to);
        let queue = &mut self.in_flight[link];
        let first = || queue.iter().position(|sent| sent.message == message);
        let index = self.selected.take().or_else(first);
        let index = index.expect("a delivered message was sent");
        let sent = queue[index].clone();
        if step == ActionKind::Duplicate {
            queue.insert(index, sent.clone());
        } else {
            queue.remove(index);
        }
        let model = Arc::clone(&self.model);
        let message_record = |peer| record_of(&*model, message, peer, sent.session, sent.number);
        match step {
            ActionKind::Lose => self.note(from, RecordKind::Drop(message_record(to))),
            ActionKind::Duplicate => self.note(from, RecordKind::Duplicate(message_record(to))),
            _ if receiver_was_down => self.note(from, RecordKind::Drop(message_record(to))),
            _ => {
                self.clocks[to.index()].merge(&sent.clock);
                self.note(to, RecordKind::Receive(message_record(from)));
            }
        }
    }

    fn link(&self, from: ProcessId, to: ProcessId) -> usize {
        from.index() * self.sessions.len() + to.index()
    }

    fn effects(&mut self, at: ProcessId, effects: StepEffects) {
        for event in effects.events {
            self.note(at, RecordKind::Event(event));
        }
        for (to, message) in effects.messages {
            self.send(at, to, message);
        }
    }

    fn send(&mut self, from: ProcessId, to: ProcessId, message: u32) {
        let number = self.numbers.entry((from, to)).or_insert(0);
        *number += 1;
        let (number, session) = (*number, self.sessions[from.index()]);
        let message_record = record_of(&*self.model, message, to, session, number);
        self.note(from, RecordKind::Send(message_record));
        let clock = self.clocks[from.index()].clone();
        let sent = UndeliveredMessage { message, number, session, clock };
        let link = self.link(from, to);
        self.in_flight[link].push(sent);
    }

    fn note(&mut self, at: ProcessId, kind: RecordKind) {
        let is_command = matches!(kind, RecordKind::Command(_));
        let mut record = Record::new(self.now, at, kind).in_session(self.sessions[at.index()]);
        if is_command {
            record = record.with_clock(self.clocks[at.index()].clone());
        }
        self.records.push(record);
    }
}

/// Returns the record of a message. The id 0 denotes a message between applications.
fn record_of(
    model: &dyn SearchModel,
    message: u32,
    peer: ProcessId,
    session: u64,
    number: u64,
) -> MessageRecord {
    match message {
        0 => MessageRecord::between_users(peer, session, number),
        message => model.message_record(message, peer, session, number),
    }
}
