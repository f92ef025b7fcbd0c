//! Messages of one sender that may be in flight together.
//!
//! Two messages of a process can be in flight together only if the process sends both on one path
//! of its steps. An answer to a message *m* is a message that is sent only after *m* was delivered.
//! When the process receives an answer to *m*, *m* is no longer in flight. So the analysis follows
//! only paths on which the process receives no answer to *m*.

use crate::explore::successors::SuccessorWorker;
use crate::reduce::id_hash::{IdMap, IdSet};
use crate::world::action::ProcessInput;

/// A step of one process: the local states before and after it, its input, and the messages that it
/// sends.
#[derive(Clone, Debug)]
pub(crate) struct LocalStep {
    from: u32,
    to: u32,
    cause: ProcessInput,
    sent: Vec<u32>,
}

/// Steps of one process, indexed by the local states in which they begin and end, and by the
/// messages that they send.
#[derive(Clone, Debug, Default)]
struct ProcessSteps {
    initial: Vec<u32>,
    steps: Vec<LocalStep>,
    /// For each local state: the indices of the steps that begin in it.
    leaving: IdMap<u32, Vec<usize>>,
    /// For each local state: the indices of the steps that end in it.
    entering: IdMap<u32, Vec<usize>>,
    /// For each message: the indices of the steps that send it.
    sending: IdMap<u32, Vec<usize>>,
}

/// For each process: the local steps that the certificate of a search has collected.
pub(crate) struct LocalSteps {
    processes: Vec<ProcessSteps>,
    /// For each message *m*: the messages of the same sender that may be delivered while *m* is in
    /// flight.
    together: IdMap<u32, IdSet<u32>>,
}

impl ProcessSteps {
    fn add(&mut self, step: LocalStep) {
        let index = self.steps.len();
        self.leaving.entry(step.from).or_default().push(index);
        self.entering.entry(step.to).or_default().push(index);
        for packet in &step.sent {
            self.sending.entry(*packet).or_default().push(index);
        }
        self.steps.push(step);
    }

    fn senders(&self, message: u32) -> impl Iterator<Item = &LocalStep> {
        let indices = self.sending.get(&message).into_iter().flatten();
        indices.map(move |index| &self.steps[*index])
    }

    /// Returns the local states that can be reached from the states in `begin`. Follows only the
    /// steps that `is_open` accepts.
    fn after(
        &self,
        begin: impl Iterator<Item = u32>,
        is_open: impl Fn(&LocalStep) -> bool,
    ) -> IdSet<u32> {
        self.reachable(begin, &self.leaving, |step| is_open(step).then_some(step.to))
    }

    /// Returns the local states from which a state in `end` can be reached. Follows only the steps
    /// that `is_open` accepts.
    fn before(
        &self,
        end: impl Iterator<Item = u32>,
        is_open: impl Fn(&LocalStep) -> bool,
    ) -> IdSet<u32> {
        self.reachable(end, &self.entering, |step| is_open(step).then_some(step.from))
    }

    fn reachable(
        &self,
        begin: impl Iterator<Item = u32>,
        steps_at: &IdMap<u32, Vec<usize>>,
        next: impl Fn(&LocalStep) -> Option<u32>,
    ) -> IdSet<u32> {
        let mut open: Vec<u32> = begin.collect();
        let mut found: IdSet<u32> = open.iter().copied().collect();
        while let Some(local) = open.pop() {
            for index in steps_at.get(&local).into_iter().flatten() {
                let Some(local) = next(&self.steps[*index]) else { continue };
                if found.insert(local) {
                    open.push(local);
                }
            }
        }
        found
    }
}

impl LocalSteps {
    /// Creates a collection without steps. For each process, `initial` contains the local states in
    /// which the process can start.
    pub(crate) fn starting_at(initial: Vec<Vec<u32>>) -> Self {
        let of = |initial| ProcessSteps { initial, ..ProcessSteps::default() };
        LocalSteps { processes: initial.into_iter().map(of).collect(), together: IdMap::default() }
    }

    /// Adds one step for each outcome of the input `cause` in a local state of a process.
    pub(crate) fn add(
        &mut self,
        worker: &mut SuccessorWorker,
        process: usize,
        local: u32,
        cause: ProcessInput,
    ) {
        let mut outcome = Some(worker.cache.first_outcome(local, cause));
        while let Some(row) = outcome {
            let sent =
                worker.cache.sent_indices(row).map(|index| worker.cache.sent_message(index).packet);
            let sent = sent.collect();
            self.processes[process].add(LocalStep { from: local, to: row.local, cause, sent });
            outcome = worker.cache.next_outcome(row);
        }
    }

    /// Forgets the results of [`LocalSteps::can_coexist`]. Must be called after steps were
    /// added.
    pub(crate) fn forget_results(&mut self) {
        self.together.clear();
    }

    /// Returns true if the message `other` may be delivered while `message` is in flight. Both
    /// messages go from the process `from` to the process `to`.
    pub(crate) fn can_coexist(
        &mut self,
        message: u32,
        other: u32,
        (from, to): (usize, usize),
    ) -> bool {
        if !self.together.contains_key(&message) {
            let together = self.messages_beside(message, from, to);
            self.together.insert(message, together);
        }
        self.together[&message].contains(&other)
    }

    /// Follows the paths on which the process `from` sends `message`, and returns all messages that
    /// `from` sends on these paths. Omits paths on which `from` receives an answer to `message`,
    /// because `message` is then no longer in flight.
    fn messages_beside(&self, message: u32, from: usize, to: usize) -> IdSet<u32> {
        let answers = self.answers(message, from, to);
        let is_open = |step: &LocalStep| match step.cause {
            ProcessInput::Deliver(delivered) => !answers.contains(&delivered),
            _ => true,
        };
        let mine = &self.processes[from];
        let begin = mine.after(mine.initial.iter().copied(), is_open);
        let senders = || {
            let senders = mine.senders(message);
            senders.filter(|step| is_open(step) && begin.contains(&step.from))
        };
        let after = mine.after(senders().map(|step| step.to), is_open);
        let before = mine.before(senders().map(|step| step.from), is_open);
        let is_on_path = |step: &LocalStep| {
            let has_sent = after.contains(&step.from) || step.sent.contains(&message);
            begin.contains(&step.from) && (has_sent || before.contains(&step.to)) && is_open(step)
        };
        let steps = mine.steps.iter().filter(|step| is_on_path(step));
        steps.flat_map(|step| step.sent.iter().copied()).collect()
    }

    /// Returns the answers to `message`, which the process `from` sends to the process `to`. An
    /// answer is a message that `to` sends only after it has received `message`. If `from` can send
    /// `message` more than once, returns an empty set.
    fn answers(&self, message: u32, from: usize, to: usize) -> IdSet<u32> {
        let (mine, theirs) = (&self.processes[from], &self.processes[to]);
        let later = mine.after(mine.senders(message).map(|step| step.to), |_| true);
        if mine.senders(message).any(|step| later.contains(&step.from)) {
            return IdSet::default();
        }
        let is_other = |step: &LocalStep| step.cause != ProcessInput::Deliver(message);
        let begin = theirs.after(theirs.initial.iter().copied(), is_other);
        let is_independent = |step: &LocalStep| is_other(step) && begin.contains(&step.from);
        let mut answers: IdSet<u32> = theirs.sending.keys().copied().collect();
        for step in theirs.steps.iter().filter(|step| is_independent(step)) {
            for packet in &step.sent {
                answers.remove(packet);
            }
        }
        answers
    }
}
