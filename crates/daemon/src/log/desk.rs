//! Between the clients of a member and its log.

use std::collections::{BTreeMap, VecDeque};

use tenure_core::service::log::{Command, Content, Entry, Event, Payload, Reason};
use tenure_core::{ProcessId, Protocol, Term};
use tenure_runtime::Local;
use tokio::sync::{oneshot, watch};

use super::machine::{Change, Machine, Outcome};
use super::wire::{Answer, Part, Question};

/// How many of the last entries are told of.
pub(super) const SHOWN: usize = 12;

/// What is asked of a member.
#[derive(Debug)]
pub(super) enum Ask {
    /// A client asks, and waits for the answer.
    Client(Question, oneshot::Sender<Answer>),
    /// The member is to leave.
    End,
}

/// How far a member has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// How many entries there were before the following, for which a snapshot stands.
    before: u64,
    /// By entry of its log, in order: the term.
    terms: Vec<u64>,
    /// How many of them it knows to be committed, and has applied.
    pub(super) committed: u64,
}

impl Standing {
    /// How many entries its log has come to.
    pub(super) fn stored(&self) -> u64 {
        self.before + self.terms.len() as u64
    }

    /// The terms of the last ones, at most so many.
    pub(super) fn last_terms(&self, most: usize) -> Vec<u64> {
        self.terms[self.terms.len().saturating_sub(most)..].to_vec()
    }

    /// What is before a snapshot is told again where it is kept.
    fn store(&mut self, index: u64, term: u64) {
        if index > self.stored() {
            self.terms.push(term);
        }
    }

    fn drop_from(&mut self, index: u64) {
        let kept = index.saturating_sub(self.before + 1);
        self.terms.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
    }

    /// A snapshot stands for all up to there, and nothing else is there any more.
    fn restore(&mut self, index: u64) {
        *self = Standing { before: index, terms: Vec::new(), committed: index };
    }

    /// A snapshot stands for all up to there, and the last ones are kept to be shown.
    fn compact(&mut self, index: u64) {
        let most = self.terms.len().saturating_sub(SHOWN);
        let many = index.saturating_sub(self.before).min(most as u64);
        self.terms.drain(..usize::try_from(many).unwrap_or(most));
        self.before += many;
    }
}

/// Who waits for an answer of the log.
#[derive(Debug)]
enum Waiting {
    Change(oneshot::Sender<Answer>),
    Get(Part, oneshot::Sender<Answer>),
    /// Nobody: we gave the lead away, or a snapshot to the log.
    Nobody,
}

/// The local side of a log: what clients ask becomes commands, and what is committed the state.
#[derive(Debug)]
pub(super) struct Desk {
    me: ProcessId,
    machine: Machine,
    /// How many commands there were in this life.
    tickets: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// By index, what came of it, while anybody here waits for it.
    outcomes: VecDeque<(u64, Outcome)>,
    leader: watch::Sender<Option<Term>>,
    standing: watch::Sender<Standing>,
    is_over: bool,
    /// What was committed that this build cannot read.
    refused: Option<String>,
    /// Who is to ask the next leader, as soon as somebody else stands for election.
    sent_on: Vec<oneshot::Sender<Answer>>,
}

impl Desk {
    pub(super) fn new(me: ProcessId) -> Self {
        Desk {
            me,
            machine: Machine::default(),
            tickets: 0,
            waiting: BTreeMap::new(),
            outcomes: VecDeque::new(),
            leader: watch::Sender::new(None),
            standing: watch::Sender::new(Standing::default()),
            is_over: false,
            refused: None,
            sent_on: Vec::new(),
        }
    }

    /// Who leads, as this member knows.
    pub(super) fn leadership(&self) -> watch::Receiver<Option<Term>> {
        self.leader.subscribe()
    }

    /// How far it has come.
    pub(super) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    fn ticket(&mut self, waiting: Waiting) -> u64 {
        self.tickets += 1;
        self.waiting.insert(self.tickets, waiting);
        self.tickets
    }

    fn answer(&mut self, ticket: u64, answer: impl FnOnce(&mut Self, Option<Part>) -> Answer) {
        let (part, user) = match self.waiting.remove(&ticket) {
            Some(Waiting::Change(user)) => (None, user),
            Some(Waiting::Get(part, user)) => (Some(part), user),
            Some(Waiting::Nobody) | None => return,
        };
        let answer = answer(self, part);
        // Whoever has gone does not want to know.
        let _ = user.send(answer);
    }

    /// The lead is about to be another's, who would not know yet.
    fn send_on(&mut self, ticket: u64) {
        if let Some(Waiting::Change(user) | Waiting::Get(_, user)) = self.waiting.remove(&ticket) {
            self.sent_on.push(user);
        }
    }

    /// What the log has at an index is done.
    fn apply(&mut self, index: u64, entry: &Entry) {
        if let Content::Payload(payload) = &entry.content {
            let Some(change) = Change::of(payload) else {
                return self.refuse(format!("entry {index} of the log"));
            };
            let outcome = self.machine.apply(change);
            if self.waiting.is_empty() {
                self.outcomes.clear();
            } else {
                self.outcomes.push_back((index, outcome));
            }
        }
        self.standing.send_modify(|standing| standing.committed = index);
    }

    /// What all members have and this one cannot read: without it, it would be another state.
    fn refuse(&mut self, what: String) {
        self.refused = Some(what + " is of another build of tenure");
    }

    /// What came of the entry at an index, for which somebody here has waited.
    fn outcome(&mut self, index: u64) -> Answer {
        while let Some((at, outcome)) = self.outcomes.pop_front() {
            match outcome {
                Outcome::Counted(value) if at == index => return Answer::Counter(value),
                Outcome::Written if at == index => return Answer::Written,
                _ => {}
            }
        }
        Answer::Unknown
    }

    /// The state stands for all that was applied.
    fn compact(&mut self, index: u64) -> Command {
        let ticket = self.ticket(Waiting::Nobody);
        Command::Compact { ticket, index, state: self.machine.snapshot() }
    }

    /// The state is that of a snapshot.
    fn restore(&mut self, index: u64, state: &Payload) {
        let Some(machine) = Machine::of(state) else {
            return self.refuse(format!("the snapshot up to entry {index}"));
        };
        self.machine = machine;
        self.outcomes.clear();
        self.standing.send_modify(|standing| standing.restore(index));
    }

    fn follows(&mut self, term: u64, leader: Option<ProcessId>) {
        for user in self.sent_on.drain(..) {
            let _ = user.send(Answer::Refused { leader: leader.map(ProcessId::number) });
        }
        self.leader.send_replace(leader.map(|leader| Term { number: term, leader }));
    }

    fn number_of_leader(&self, known: Option<ProcessId>) -> Option<u32> {
        known.filter(|leader| *leader != self.me).map(ProcessId::number)
    }
}

impl<P: Protocol<Command = Command, Event = Event>> Local<P> for Desk {
    type Ask = Ask;

    fn ask(&mut self, ask: Ask) -> Option<Command> {
        match ask {
            Ask::Client(Question::Change(change), user) => {
                let ticket = self.ticket(Waiting::Change(user));
                Some(Command::Append { ticket, payload: change.payload() })
            }
            Ask::Client(Question::Get(part), user) => {
                let ticket = self.ticket(Waiting::Get(part, user));
                Some(Command::Read { ticket })
            }
            Ask::End => {
                self.is_over = true;
                None
            }
        }
    }

    fn told(&mut self, event: Event) -> Option<Command> {
        if self.refused.is_some() {
            return None;
        }
        match event {
            Event::Leading { term } => self.follows(term, Some(self.me)),
            Event::Following { term, leader } => self.follows(term, leader),
            Event::Stored { index, entry } => {
                self.standing.send_modify(|standing| standing.store(index, entry.term));
            }
            Event::Dropped { from } => {
                self.standing.send_modify(|standing| standing.drop_from(from));
            }
            Event::Committed { index, entry } => self.apply(index, &entry),
            Event::SnapshotNeeded { index } => return Some(self.compact(index)),
            Event::Compacted { ticket, index } => {
                self.waiting.remove(&ticket);
                self.standing.send_modify(|standing| standing.compact(index));
            }
            Event::Restored { index, state, .. } => self.restore(index, &state),
            Event::Acknowledged { ticket, index } => {
                self.answer(ticket, |desk, _| desk.outcome(index));
            }
            Event::Answered { ticket, .. } => self.answer(ticket, |desk, part| match part {
                Some(Part::Counter) => Answer::Counter(desk.machine.counter()),
                Some(Part::Register) => Answer::Register(desk.machine.register()),
                None => Answer::Unknown,
            }),
            Event::Declined { ticket, reason: Reason::HandingOver, .. } => self.send_on(ticket),
            Event::Declined { ticket, leader, .. } => self.answer(ticket, |desk, _| {
                Answer::Refused { leader: desk.number_of_leader(leader) }
            }),
            Event::Unknown { ticket } => self.answer(ticket, |_, _| Answer::Unknown),
            other => {
                if let Some(ticket) = other.answers() {
                    self.waiting.remove(&ticket);
                }
            }
        }
        None
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn refuses(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    fn leader(&self) -> Option<Term> {
        *self.leader.borrow()
    }

    fn farewell(&mut self) -> Option<Command> {
        Some(Command::HandOver { ticket: self.ticket(Waiting::Nobody) })
    }

    fn leads_on_until_relieved(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use tenure_algorithms::agreement::raft_log::RaftLog;
    use tenure_core::ProcessSet;
    use tenure_core::service::log::Members;

    use super::*;

    fn desk_told(events: impl IntoIterator<Item = Event>) -> Desk {
        let mut desk = Desk::new(ProcessId(0));
        for event in events {
            Local::<RaftLog>::told(&mut desk, event);
        }
        desk
    }

    fn refusal(desk: &Desk) -> Option<&str> {
        Local::<RaftLog>::refuses(desk)
    }

    #[test]
    fn what_another_build_appended_is_refused_and_so_is_all_behind_it() {
        let desk =
            desk_told((1..).zip(["add-1.1", "multiply-1.2", "add-1.3"]).map(|(index, word)| {
                let content = Content::Payload(Payload::new(word.as_bytes()));
                Event::Committed { index, entry: Entry { term: 1, content } }
            }));
        assert_eq!(refusal(&desk), Some("entry 2 of the log is of another build of tenure"));
        assert_eq!((desk.machine.counter(), desk.standing.borrow().committed), (1, 1));
    }

    #[test]
    fn a_snapshot_of_another_build_is_refused() {
        let state = Payload::new(*b"42");
        let members = Box::new(Members::of(ProcessSet::first(1)));
        let desk = desk_told([Event::Restored { index: 9, term: 1, members, state }]);
        let why = "the snapshot up to entry 9 is of another build of tenure";
        assert_eq!(refusal(&desk), Some(why));
    }
}
