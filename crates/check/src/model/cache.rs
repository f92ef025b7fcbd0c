//! Cache of the model for one thread. If the cache contains a step, the search obtains its result
//! by a few lookups and additions, without running the handler again.

use std::sync::Arc;

#[cfg(doc)]
use crate::model::intern::NO_ID;
use crate::model::intern::{Interned, Replacement};
use crate::model::memo::Memo;
use crate::model::{LocalFacts, MonitorStateFacts};
use crate::world::VIOLATED_MONITOR;
use crate::world::action::{MAX_OUTCOMES, ProcessInput};
use crate::world::network::QueueItem;
use crate::world::rules::SearchRules;

/// A range of rows in a list: the index of its first row, and the number of rows.
type Span = (u32, u32);

/// Facts about the queue of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedQueue {
    pub(crate) fingerprint: u64,
    /// True if a message of this queue must be delivered before time passes.
    pub(crate) is_urgent: bool,
    /// Smallest timestamp in the messages of the queue. `None` if they contain no timestamp, or if
    /// the search does not need it.
    pub(crate) smallest_timestamp: Option<u64>,
    /// Messages of the queue, as a range of `StepCache::items`.
    items: Span,
}

/// One outcome of an input in a local state: the result of the step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CachedOutcome {
    /// Id of the local state after the step.
    pub(crate) local: u32,
    /// Fingerprint of the new local state minus the fingerprint of the old one. The step adds this
    /// difference to the fingerprint of the global state.
    pub(crate) fingerprint_change: u64,
    /// Id of the observation of the monitors. 0 if they observe nothing.
    pub(crate) observation: u32,
    pub(crate) weight: u16,
    /// Messages that the step sends, as a range of `StepCache::sent`.
    sent: Span,
    /// Position in `more_outcomes`, counted from 1, of the next outcome of the same input. 0 for
    /// the last outcome.
    next: u32,
}

/// A message that a step sends: its id, the slot of its link, and the index of its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentMessage {
    pub(crate) packet: u32,
    pub(crate) slot: u32,
    pub(crate) to: u32,
}

/// Results of steps in one model, cached by one thread. The cache also contains facts about the
/// parts of global states.
pub(crate) struct StepCache {
    rules: Arc<SearchRules>,
    /// For each local state, by id: facts about the state, and a range of indices. The entries of
    /// `inputs` in this range are the commands, timers and notifications that may occur in the
    /// state.
    locals: Vec<Option<(LocalFacts, Span)>>,
    /// Inputs that may occur in local states, each with its fairness label.
    inputs: Vec<(ProcessInput, u32)>,
    queues: Vec<Option<CachedQueue>>,
    items: Vec<QueueItem>,
    /// First outcome for each local state and each input that occurred in it.
    outcomes: Memo<CachedOutcome>,
    /// All outcomes of an input except the first one. The outcomes of one input form a linked list,
    /// in which `next` leads to the following outcome.
    more_outcomes: Vec<CachedOutcome>,
    sent: Vec<SentMessage>,
    /// Replacements of queues to which a message is appended.
    pushes: Memo<Replacement>,
    /// Replacements of queues in which a message is duplicated.
    duplications: Memo<Replacement>,
    /// For each monitor: the replacements of its states by observations.
    judged: Vec<Memo<Replacement>>,
    after_time_unit: Memo<Replacement>,
    shifted: Memo<Replacement>,
    renamed: Memo<u64>,
    /// For each monitor: the facts about its states, by id.
    monitors: Vec<Vec<Option<MonitorStateFacts>>>,
    /// True if a cached step sends a message to a process other than the sender's successor on the
    /// ring of all processes.
    pub(crate) has_sent_off_ring: bool,
    /// Local state and input with which a handler ran last, for the report of a panic. `None` if no
    /// handler has run since the search last reset this field.
    pub(crate) last_handler: Option<(u32, ProcessInput)>,
}

impl StepCache {
    pub(crate) fn new(rules: Arc<SearchRules>) -> Self {
        let monitors = rules.layout.monitor_count;
        StepCache {
            rules,
            locals: Vec::new(),
            inputs: Vec::new(),
            queues: Vec::new(),
            items: Vec::new(),
            outcomes: Memo::new(),
            more_outcomes: Vec::new(),
            sent: Vec::new(),
            pushes: Memo::new(),
            duplications: Memo::new(),
            judged: vec![Memo::new(); monitors],
            after_time_unit: Memo::new(),
            shifted: Memo::new(),
            renamed: Memo::new(),
            monitors: vec![Vec::new(); monitors],
            has_sent_off_ring: false,
            last_handler: None,
        }
    }

    /// Returns an estimate of the memory of this cache, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let memos = [&self.pushes, &self.duplications, &self.after_time_unit, &self.shifted];
        let memos = memos.into_iter().chain(&self.judged).map(Memo::bytes).sum::<usize>();
        memos
            + self.outcomes.bytes()
            + self.locals.capacity() * size_of::<Option<(LocalFacts, Span)>>()
            + self.queues.capacity() * size_of::<Option<CachedQueue>>()
            + self.items.capacity() * size_of::<QueueItem>()
            + self.more_outcomes.capacity() * size_of::<CachedOutcome>()
            + self.sent.capacity() * size_of::<SentMessage>()
            + self.inputs.capacity() * size_of::<(ProcessInput, u32)>()
    }

    #[inline]
    pub(crate) fn local_facts(&mut self, id: u32) -> LocalFacts {
        self.local_row(id).0
    }

    /// Returns the commands, timers and notifications that may occur in a local state, as indices
    /// in `inputs`.
    #[inline]
    pub(crate) fn enabled_inputs(&mut self, id: u32) -> impl Iterator<Item = usize> + use<> {
        range(self.local_row(id).1)
    }

    #[inline]
    fn local_row(&mut self, id: u32) -> (LocalFacts, Span) {
        if let Some(Some(row)) = self.locals.get(id as usize) {
            return *row;
        }
        let (facts, inputs) = self.rules.model.local_facts_and_inputs(id);
        let row = (facts, append_span(&self.inputs, inputs.len()));
        self.inputs.extend(inputs);
        *entry_for_id(&mut self.locals, id) = Some(row);
        row
    }

    /// Returns the input at an index that [`Self::enabled_inputs`] has returned, and its fairness
    /// label.
    pub(crate) fn enabled_input(&self, index: usize) -> (ProcessInput, u32) {
        self.inputs[index]
    }

    /// Returns an input that may occur in a local state. `index` counts the enabled inputs of this
    /// state from 0.
    pub(crate) fn enabled_input_at(&mut self, local: u32, index: usize) -> ProcessInput {
        let (_, (first, _)) = self.local_row(local);
        self.inputs[first as usize + index].0
    }

    #[inline]
    pub(crate) fn cached_queue(&mut self, id: u32) -> CachedQueue {
        if let Some(Some(row)) = self.queues.get(id as usize) {
            return *row;
        }
        let facts = self.rules.network.queue_facts(id);
        let smallest_timestamp =
            if self.rules.has_shift_functions { self.smallest_in(id) } else { None };
        let row = CachedQueue {
            fingerprint: facts.fingerprint,
            is_urgent: facts.is_urgent,
            smallest_timestamp,
            items: append_span(&self.items, facts.items.len()),
        };
        self.items.extend(facts.items);
        *entry_for_id(&mut self.queues, id) = Some(row);
        row
    }

    fn smallest_in(&self, queue: u32) -> Option<u64> {
        let network = &self.rules.network;
        let messages =
            network.packets_in(queue).into_iter().map(|id| network.packet_by_id(id).message);
        messages
            .filter(|message| *message != 0)
            .filter_map(|message| self.rules.model.smallest_message_timestamp(message))
            .min()
    }

    #[inline]
    pub(crate) fn item_indices(
        &self,
        row: CachedQueue,
    ) -> impl ExactSizeIterator<Item = usize> + use<> {
        range(row.items)
    }

    #[inline]
    pub(crate) fn item_at(&self, index: usize) -> QueueItem {
        self.items[index]
    }

    /// Returns a message of a queue. `index` counts the items of this queue from 0.
    pub(crate) fn item_of(&self, row: CachedQueue, index: usize) -> QueueItem {
        self.items[row.items.0 as usize + index]
    }

    /// Returns the first outcome of the input `cause` in a local state. Runs the handler if the
    /// outcome is not cached.
    #[inline]
    pub(crate) fn first_outcome(&mut self, local: u32, cause: ProcessInput) -> CachedOutcome {
        let key = u64::from(local) << 32 | u64::from(cause.code());
        match self.outcomes.get(key) {
            Some(first) => first,
            None => self.compute_outcomes(key, local, cause),
        }
    }

    /// Returns the outcome after `row` among the outcomes of the same input in the same local
    /// state. `None` if `row` is the last outcome.
    #[inline]
    pub(crate) fn next_outcome(&self, row: CachedOutcome) -> Option<CachedOutcome> {
        let index = row.next.checked_sub(1)?;
        Some(self.more_outcomes[index as usize])
    }

    /// Returns the outcome with this index of the input `cause` in a local state. Panics if the
    /// input has fewer outcomes.
    pub(crate) fn outcome_at(
        &mut self,
        local: u32,
        cause: ProcessInput,
        index: usize,
    ) -> CachedOutcome {
        let mut row = self.first_outcome(local, cause);
        for _ in 0..index {
            row = self.next_outcome(row).expect("a cause keeps its outcomes");
        }
        row
    }

    fn compute_outcomes(&mut self, key: u64, local: u32, cause: ProcessInput) -> CachedOutcome {
        let before = self.local_facts(local).fingerprint;
        self.last_handler = Some((local, cause));
        let outcomes = self.rules.model.outcomes(local, cause);
        assert!(!outcomes.is_empty() && outcomes.len() <= MAX_OUTCOMES);
        let mut row = CachedOutcome::default();
        for (index, outcome) in outcomes.into_iter().enumerate().rev() {
            let sent = append_span(&self.sent, outcome.packets.len());
            for id in outcome.packets {
                let packet = self.rules.network.packet_by_id(id);
                let layout = self.rules.layout;
                let slot = layout.link_slot(packet.from, packet.to, packet.message == 0) as u32;
                self.has_sent_off_ring |= !layout.is_ring_link(slot as usize);
                self.sent.push(SentMessage { packet: id, slot, to: packet.to });
            }
            row = CachedOutcome {
                local: outcome.local.id,
                fingerprint_change: outcome.local.fingerprint.wrapping_sub(before),
                observation: outcome.observation,
                weight: outcome.weight,
                sent,
                next: row.next,
            };
            if index > 0 {
                self.more_outcomes.push(row);
                row.next =
                    u32::try_from(self.more_outcomes.len()).expect("fewer than 2^32 outcomes");
            }
        }
        self.outcomes.insert(key, row);
        row
    }

    #[inline]
    pub(crate) fn sent_indices(&self, row: CachedOutcome) -> impl Iterator<Item = usize> + use<> {
        range(row.sent)
    }

    #[inline]
    pub(crate) fn sent_message(&self, index: usize) -> SentMessage {
        self.sent[index]
    }

    /// Appends a message to a queue, and returns the replacement of the queue. Its id is [`NO_ID`]
    /// if the link is full.
    #[inline]
    pub(crate) fn replacement_after_push(&mut self, queue: u32, packet: u32) -> Replacement {
        let key = u64::from(queue) << 32 | u64::from(packet);
        if let Some(change) = self.pushes.get(key) {
            return change;
        }
        let pushed = self.rules.network.queue_with_appended(queue, packet);
        let change = Replacement::new(pushed, self.cached_queue(queue).fingerprint);
        self.pushes.insert(key, change);
        change
    }

    /// Duplicates a message in a queue, and returns the replacement of the queue. Its id is
    /// [`NO_ID`] if the link is full or the queue does not contain the message.
    pub(crate) fn replacement_after_duplication(&mut self, queue: u32, packet: u32) -> Replacement {
        let key = u64::from(queue) << 32 | u64::from(packet);
        if let Some(change) = self.duplications.get(key) {
            return change;
        }
        let duplicated = self.rules.network.queue_with_duplicate(queue, packet);
        let change = Replacement::new(duplicated, self.cached_queue(queue).fingerprint);
        self.duplications.insert(key, change);
        change
    }

    /// Returns the replacement of a monitor's state that an observation causes. Its id is
    /// [`VIOLATED_MONITOR`] if the observation violates the property.
    #[inline]
    pub(crate) fn judge(&mut self, index: usize, monitor: u32, observation: u32) -> Replacement {
        let key = u64::from(monitor) << 32 | u64::from(observation);
        if let Some(change) = self.judged[index].get(key) {
            return change;
        }
        let judged = self.rules.model.judge(index, monitor, observation);
        let violated = Interned { id: VIOLATED_MONITOR, fingerprint: 0 };
        let before = self.monitor_state_facts(index, monitor).fingerprint;
        let change = Replacement::new(Some(judged.unwrap_or(violated)), before);
        self.judged[index].insert(key, change);
        change
    }

    /// Returns the facts about a state of a monitor. `index` is the index of the monitor, and
    /// `monitor` is the id of the state.
    pub(crate) fn monitor_state_facts(&mut self, index: usize, monitor: u32) -> MonitorStateFacts {
        if let Some(Some(facts)) = self.monitors[index].get(monitor as usize) {
            return *facts;
        }
        let facts = self.rules.model.monitor_state_facts(index, monitor);
        *entry_for_id(&mut self.monitors[index], monitor) = Some(facts);
        facts
    }

    /// Returns the replacement of a local state or a queue when one unit of time passes. `id` is
    /// the id of this state or queue.
    pub(crate) fn advance_time(&mut self, id: u32, is_queue: bool) -> Replacement {
        let key = u64::from(is_queue) << 32 | u64::from(id);
        if let Some(change) = self.after_time_unit.get(key) {
            return change;
        }
        let (after_time_unit, before) = if is_queue {
            (self.rules.network.after_time_unit(id), self.cached_queue(id).fingerprint)
        } else {
            (self.rules.model.after_time_unit(id), self.local_facts(id).fingerprint)
        };
        let change = Replacement::new(Some(after_time_unit), before);
        self.after_time_unit.insert(key, change);
        change
    }

    /// Returns the replacement of a part of a global state when all its timestamps decrease by
    /// `by`.
    pub(crate) fn shift(&mut self, part: SlotKind, id: u32, by: u64) -> Replacement {
        assert!(by < 1 << 24, "stamps grow by less than 2^24");
        let key = u64::from(id) << 32 | by << 8 | part.code();
        if let Some(change) = self.shifted.get(key) {
            return change;
        }
        let (shifted, before) = match part {
            SlotKind::Local => {
                (self.rules.model.shifted_local(id, by), self.local_facts(id).fingerprint)
            }
            SlotKind::Queue => (self.shifted_queue(id, by), self.cached_queue(id).fingerprint),
            SlotKind::Monitor(index) => {
                let before = self.monitor_state_facts(index, id).fingerprint;
                (self.rules.model.shifted_monitor(index, id, by), before)
            }
        };
        let change = Replacement::new(Some(shifted), before);
        self.shifted.insert(key, change);
        change
    }

    /// Returns the fingerprint of a part of a global state under the renaming with this index.
    /// Returns 0 for a monitor, because canonical fingerprints omit the monitors.
    pub(crate) fn renamed_fingerprint(&mut self, part: SlotKind, id: u32, renaming: usize) -> u64 {
        let key = u64::from(id) << 32 | (renaming as u64) << 8 | part.code();
        if let Some(print) = self.renamed.get(key) {
            return print;
        }
        let model = &self.rules.model;
        let print = match part {
            SlotKind::Local => model.renamed_local_fingerprint(id, renaming),
            SlotKind::Queue => {
                self.rules.network.renamed_fingerprint(id, model.renaming(renaming), |message| {
                    model.renamed_message_fingerprint(message, renaming)
                })
            }
            SlotKind::Monitor(_) => 0,
        };
        self.renamed.insert(key, print);
        print
    }

    fn shifted_queue(&self, queue: u32, by: u64) -> Interned {
        self.rules.network.queue_with_mapped_messages(queue, |(mut packet, print)| {
            if packet.message == 0 {
                return (packet, print);
            }
            let shifted = self.rules.model.shifted_message(packet.message, by);
            packet.message = shifted.id;
            (packet, shifted.fingerprint)
        })
    }
}

/// Kind of a slot of a global state that can contain timestamps or process names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    Local,
    Queue,
    /// State of the monitor at this index.
    Monitor(usize),
}

impl SlotKind {
    /// Returns a number that identifies the kind in the keys of a [`Memo`].
    fn code(self) -> u64 {
        match self {
            SlotKind::Local => 1,
            SlotKind::Queue => 2,
            SlotKind::Monitor(index) => 3 + index as u64,
        }
    }
}

/// Returns the span of `count` rows that will be appended to `rows`.
fn append_span<T>(rows: &[T], count: usize) -> Span {
    let first = u32::try_from(rows.len()).expect("fewer than 2^32 rows");
    (first, count as u32)
}

fn range((first, count): Span) -> std::ops::Range<usize> {
    first as usize..(first + count) as usize
}

/// Returns the element for `id` in a cache that is indexed by ids. Enlarges the cache if it has no
/// such element.
pub(crate) fn entry_for_id<T: Clone>(rows: &mut Vec<Option<T>>, id: u32) -> &mut Option<T> {
    let index = id as usize;
    if rows.len() <= index {
        rows.resize(index + 1, None);
    }
    &mut rows[index]
}
