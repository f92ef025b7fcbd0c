//! State of each process as a trace describes it: up or down, waiting, inside, leading, suspecting.
//!
//! Programs that write traces describe a crash in different ways. A simulator writes *crash* and
//! *recover*. A parent process writes *crash*, and the node itself *boot* or *recover*. If a node
//! is killed from outside, its trace only shows that it boots again, in another session. This
//! module treats these descriptions alike.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use tenure_core::service::{agreement, election, log, mutex};
use tenure_core::{Fence, PeerVerdict, ProcessId, Term};

use crate::format::{Record, RecordKind, RecordSubject, RecordedCommand, RecordedEvent};

/// The state of each process after the records that were read so far.
#[derive(Clone, Debug, Default)]
pub struct ProcessStates(HashMap<ProcessId, ProcessState>);

/// The state of one process after the records that were read so far.
#[derive(Clone, Debug, Default)]
pub struct ProcessState {
    /// Status of the process, such as up or down.
    pub status: ProcessStatus,
    /// Session of the process since its last boot or recovery. `None` if no record shows either.
    pub session: Option<u64>,
    /// Conditions that hold now, each with the time at which the condition began. Some conditions
    /// exclude each other: the process never waits for the critical section while it is inside, and
    /// it leads in at most one term at a time.
    pub conditions: Vec<(ProcessCondition, u64)>,
    /// Fence of the process's last entry to the critical section. Before the first entry, it is
    /// [`Fence::NONE`].
    pub fence: Fence,
    /// True from the command of the user to exit until the process has exited or crashed.
    pub is_exiting: bool,
    /// Leader in which the process believes, with its term. `None` if the process knows no leader.
    pub leader: Option<Term>,
    /// Peers that the failure detector of the process suspects now.
    pub suspects: BTreeSet<ProcessId>,
}

/// Status of a process as its records show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessStatus {
    /// No record mentions the process, so its status is unknown.
    #[default]
    Unknown,
    /// The process is up. A process that is stopped by SIGSTOP is up as well.
    Up,
    /// The process crashed and has not recovered.
    Down,
    /// The process ended normally.
    Ended,
}

/// Condition that holds at a process for an interval of time, such as waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessCondition {
    /// The user of the process has requested to enter the critical section, and the process has not
    /// entered yet.
    Waiting,
    /// The process is inside the critical section.
    Inside,
    /// The process is the leader in this term. The term is 0 if the election has no terms.
    Leading(u64),
    /// The process has the token. Only diagrams contain this condition: [`ProcessStates`] does not
    /// track tokens.
    Token,
    /// The process is down after a crash.
    Down,
    /// The process is stopped by SIGSTOP.
    Stopped,
}

/// Group of conditions that exclude each other: at most one of them holds at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConditionGroup {
    Lock,
    Lead,
    Token,
    Down,
    Stopped,
}

impl ProcessCondition {
    pub(crate) const fn group(self) -> ConditionGroup {
        match self {
            ProcessCondition::Waiting | ProcessCondition::Inside => ConditionGroup::Lock,
            ProcessCondition::Leading(_) => ConditionGroup::Lead,
            ProcessCondition::Token => ConditionGroup::Token,
            ProcessCondition::Down => ConditionGroup::Down,
            ProcessCondition::Stopped => ConditionGroup::Stopped,
        }
    }
}

/// Change to the state of one process. One record of a trace causes the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessStateChange {
    /// The process boots for the first time.
    Boots,
    /// The process crashes. After this element, the list of changes contains the ends of all
    /// conditions that held.
    Crashes,
    /// The process recovers from a crash, or boots again after it ended. Before this element, the
    /// list of changes contains the end of each condition that held, including `Down`.
    Recovers,
    /// The process ends normally. The conditions that hold do not end.
    Terminates,
    /// A condition begins.
    ConditionBegins(ProcessCondition),
    /// A condition ends. The number is the time at which the condition began.
    ConditionEnds(ProcessCondition, u64),
    /// The process reports its leader, which may be the same as before, or reports that it has no
    /// leader.
    LeaderChanges(Option<Term>),
    /// The failure detector of the process begins to suspect a peer, or to trust it again.
    SuspicionChanges(ProcessId, PeerVerdict),
}

impl ProcessStates {
    /// Applies a record to the state of its process. Returns the resulting changes of this state,
    /// in order.
    pub fn apply_record(&mut self, record: &Record) -> Vec<ProcessStateChange> {
        let Some(at) = record.process.process() else { return Vec::new() };
        let mut changes = Vec::new();
        self.0.entry(at).or_default().read(record, &mut changes);
        changes
    }

    /// Returns the state of a process. If no record mentions the process, returns the default
    /// state.
    pub fn state(&self, at: ProcessId) -> &ProcessState {
        static UNKNOWN: LazyLock<ProcessState> = LazyLock::new(ProcessState::default);
        self.0.get(&at).unwrap_or(&UNKNOWN)
    }

    /// Returns the numbers of the processes for which the condition holds, in ascending order.
    /// [`ProcessCondition::Leading`] holds only in its own term. Omits processes that have ended.
    pub fn process_numbers_in(&self, condition: ProcessCondition) -> Vec<u32> {
        let here = |process_state: &ProcessState| {
            process_state.status != ProcessStatus::Ended
                && process_state.condition_start(condition).is_some()
        };
        let all = self.0.iter().filter(|(_, process_state)| here(process_state));
        let mut numbers: Vec<u32> = all.map(|(at, _)| at.display_number()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Records that a process is outside the critical section and does not wait. A reader calls
    /// this method after it has skipped records about the lock.
    pub(crate) fn assume_outside(&mut self, at: ProcessId) {
        self.0.entry(at).or_default().end(ConditionGroup::Lock, &mut Vec::new());
    }
}

impl ProcessState {
    /// Returns true if the process has crashed or ended.
    pub const fn is_crashed_or_ended(&self) -> bool {
        matches!(self.status, ProcessStatus::Down | ProcessStatus::Ended)
    }

    /// Returns the time at which a condition began. Returns `None` if the condition does not hold.
    pub fn condition_start(&self, condition: ProcessCondition) -> Option<u64> {
        self.conditions.iter().find(|(lasts, _)| *lasts == condition).map(|(_, since)| *since)
    }

    fn read(&mut self, record: &Record, changes: &mut Vec<ProcessStateChange>) {
        let time = record.time;
        match &record.kind {
            RecordKind::Boot | RecordKind::Recover => self.on_boot(record.session, changes),
            _ if self.is_crashed_or_ended() => {}
            RecordKind::Crash => {
                self.status = ProcessStatus::Down;
                changes.push(ProcessStateChange::Crashes);
                self.clear_volatile(changes);
                self.begin(ProcessCondition::Down, time, changes);
            }
            RecordKind::End => {
                self.status = ProcessStatus::Ended;
                changes.push(ProcessStateChange::Terminates);
            }
            RecordKind::Stop if self.condition_start(ProcessCondition::Stopped).is_none() => {
                self.begin(ProcessCondition::Stopped, time, changes);
            }
            RecordKind::Continue => self.end(ConditionGroup::Stopped, changes),
            RecordKind::Command(command) => self.on_command(command, time, changes),
            RecordKind::Event(event) => self.on_event(event, record, changes),
            RecordKind::Suspicion { peer, verdict } => {
                let news = match verdict {
                    PeerVerdict::Suspect => self.suspects.insert(*peer),
                    PeerVerdict::Trust => self.suspects.remove(peer),
                };
                changes
                    .extend(news.then_some(ProcessStateChange::SuspicionChanges(*peer, *verdict)));
            }
            _ => {}
        }
        if self.status == ProcessStatus::Unknown {
            self.status = ProcessStatus::Up;
        }
    }

    /// Handles a report that the process has booted or recovered. The process and its parent may
    /// both report the same boot, with the same session. If the session has changed, or if the
    /// process was down or has ended, the report shows a recovery. If the session has changed while
    /// the process was up, the process must have crashed before.
    fn on_boot(&mut self, session: u64, changes: &mut Vec<ProcessStateChange>) {
        let before = self.session.replace(session);
        let again = before.is_some_and(|before| before != session);
        if again || self.is_crashed_or_ended() {
            changes.extend((!self.is_crashed_or_ended()).then_some(ProcessStateChange::Crashes));
            self.clear_volatile(changes);
            changes.push(ProcessStateChange::Recovers);
        } else {
            changes.extend(before.is_none().then_some(ProcessStateChange::Boots));
            self.end(ConditionGroup::Stopped, changes);
        }
        self.status = ProcessStatus::Up;
    }

    /// Ends all conditions of the process, and forgets the state that a process loses in a crash.
    fn clear_volatile(&mut self, changes: &mut Vec<ProcessStateChange>) {
        changes.extend(
            self.conditions
                .drain(..)
                .map(|(condition, since)| ProcessStateChange::ConditionEnds(condition, since)),
        );
        let ProcessState { status, session, fence, .. } = *self;
        *self = ProcessState { status, session, fence, ..ProcessState::default() };
    }

    fn on_command(
        &mut self,
        command: &RecordedCommand,
        time: u64,
        changes: &mut Vec<ProcessStateChange>,
    ) {
        match command.mutex() {
            Some(mutex::Command::Enter) => self.begin(ProcessCondition::Waiting, time, changes),
            Some(mutex::Command::Exit) => self.is_exiting = true,
            None => {}
        }
    }

    fn on_event(
        &mut self,
        event: &RecordedEvent,
        record: &Record,
        changes: &mut Vec<ProcessStateChange>,
    ) {
        match event.mutex() {
            Some(mutex::Event::Entered { fence }) => {
                self.fence = *fence;
                self.begin(ProcessCondition::Inside, record.time, changes);
            }
            Some(mutex::Event::Exited) => {
                self.end(ConditionGroup::Lock, changes);
                self.is_exiting = false;
            }
            None => {}
        }
        match event.election() {
            Some(election::Event::Elected { leader, term }) => {
                self.set_leader(Some(Term { leader: *leader, ..*term }), changes);
                if record.process == RecordSubject::Process(*leader) {
                    self.begin(ProcessCondition::Leading(term.number), record.time, changes);
                }
            }
            Some(election::Event::Deposed { .. }) => self.set_leader(None, changes),
            None => {}
        }
        if let RecordedEvent::Agreement(agreement::Event::Log(event)) = event {
            self.on_log_event(event, record, changes);
        }
    }

    fn on_log_event(
        &mut self,
        event: &log::Event,
        record: &Record,
        changes: &mut Vec<ProcessStateChange>,
    ) {
        match event {
            log::Event::Leading { term } => {
                let leader = record.process.process();
                let term = leader.map(|leader| Term { number: *term, leader });
                self.set_leader(term, changes);
                let number = term.map_or(0, |term| term.number);
                self.begin(ProcessCondition::Leading(number), record.time, changes);
            }
            log::Event::Following { term, leader } => {
                let term = leader.map(|leader| Term { number: *term, leader });
                self.set_leader(term, changes);
            }
            log::Event::Relaying { term, leader } => {
                self.set_leader(Some(Term { number: *term, leader: *leader }), changes);
            }
            _ => {}
        }
    }

    fn set_leader(&mut self, leader: Option<Term>, changes: &mut Vec<ProcessStateChange>) {
        self.leader = leader;
        self.end(ConditionGroup::Lead, changes);
        changes.push(ProcessStateChange::LeaderChanges(leader));
    }

    /// Begins a condition. If another condition of the same group holds, ends that condition first.
    fn begin(
        &mut self,
        condition: ProcessCondition,
        time: u64,
        changes: &mut Vec<ProcessStateChange>,
    ) {
        self.end(condition.group(), changes);
        self.conditions.push((condition, time));
        changes.push(ProcessStateChange::ConditionBegins(condition));
    }

    fn end(&mut self, group: ConditionGroup, changes: &mut Vec<ProcessStateChange>) {
        if let Some(place) =
            self.conditions.iter().position(|(condition, _)| condition.group() == group)
        {
            let (condition, since) = self.conditions.swap_remove(place);
            changes.push(ProcessStateChange::ConditionEnds(condition, since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P1: ProcessId = ProcessId(0);

    /// Applies records of the process P1. Each element of `kinds` contains the session and the kind
    /// of one record. Returns the state of P1 after the last record, and the changes that this
    /// record made.
    fn state_after(kinds: &[(u64, RecordKind)]) -> (ProcessState, Vec<ProcessStateChange>) {
        let mut process_states = ProcessStates::default();
        let mut last = Vec::new();
        for (time, (session, kind)) in kinds.iter().enumerate() {
            let record = Record::new(time as u64, P1, kind.clone()).in_session(*session);
            last = process_states.apply_record(&record);
        }
        (process_states.state(P1).clone(), last)
    }

    fn entered() -> RecordKind {
        RecordKind::Event(mutex::Event::Entered { fence: Fence(0, 1) }.into())
    }

    #[test]
    fn recognizes_crashes_of_all_writers() {
        let inside = ProcessStateChange::ConditionEnds(ProcessCondition::Inside, 1);
        let down = ProcessStateChange::ConditionEnds(ProcessCondition::Down, 2);
        for (dialect, expected) in [
            (
                vec![(0, RecordKind::Crash), (1, RecordKind::Recover)],
                vec![down, ProcessStateChange::Recovers],
            ),
            (
                vec![(0, RecordKind::Crash), (1, RecordKind::Boot)],
                vec![down, ProcessStateChange::Recovers],
            ),
            (
                vec![(1, RecordKind::Boot)],
                vec![ProcessStateChange::Crashes, inside, ProcessStateChange::Recovers],
            ),
            (
                vec![(1, RecordKind::Recover)],
                vec![ProcessStateChange::Crashes, inside, ProcessStateChange::Recovers],
            ),
        ] {
            let story = [vec![(0, RecordKind::Boot), (0, entered())], dialect].concat();
            let (process_state, last) = state_after(&story);
            assert_eq!(last, expected, "{story:?}");
            assert_eq!(
                (process_state.status, process_state.conditions),
                (ProcessStatus::Up, vec![])
            );
            let (_, again) = state_after(&[story, vec![(1, RecordKind::Recover)]].concat());
            assert_eq!(again, [], "the parent reports it too");
        }
    }

    #[test]
    fn log_events_set_leader_like_elections() {
        let event =
            |event: log::Event| (0, RecordKind::Event(RecordedEvent::Agreement(event.into())));
        let leads = event(log::Event::Leading { term: 3 });
        let (process_state, last) = state_after(std::slice::from_ref(&leads));
        let term = Term { number: 3, leader: P1 };
        assert_eq!(
            last,
            [
                ProcessStateChange::LeaderChanges(Some(term)),
                ProcessStateChange::ConditionBegins(ProcessCondition::Leading(3))
            ]
        );
        assert_eq!(process_state.leader, Some(term));
        let follows = event(log::Event::Following { term: 3, leader: None });
        let (process_state, last) = state_after(&[leads, follows]);
        assert_eq!(
            last,
            [
                ProcessStateChange::ConditionEnds(ProcessCondition::Leading(3), 0),
                ProcessStateChange::LeaderChanges(None)
            ]
        );
        assert_eq!((process_state.leader, process_state.conditions), (None, vec![]));
    }

    #[test]
    fn down_process_ignores_events_and_ended_one_keeps_state() {
        let (process_state, last) = state_after(&[(0, RecordKind::Crash), (0, entered())]);
        assert_eq!((last, process_state.conditions), (vec![], vec![(ProcessCondition::Down, 0)]));
        let (process_state, last) = state_after(&[(0, entered()), (0, RecordKind::End)]);
        assert_eq!(
            (last, process_state.is_crashed_or_ended()),
            (vec![ProcessStateChange::Terminates], true)
        );
        assert_eq!(process_state.condition_start(ProcessCondition::Inside), Some(0));
    }
}
