//! What a trace says of its processes: who is up, waits, is inside, leads, and suspects whom.
//!
//! Everybody who judges a run, draws it or shows it while it runs asks the same of its records, and
//! writers differ: of a crash a simulator writes *crash* and *recover*, a parent *crash* and its
//! node *boot* or *recover*, a node that a stranger killed only that, in another session. Here
//! all come to the same.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use tenure_core::service::{agreement, election, log, mutex};
use tenure_core::{Fence, ProcessId, Term, Verdict};

use crate::format::{Asked, Kind, Record, Told, Who};

/// What the records so far say of each process.
#[derive(Clone, Debug, Default)]
pub struct Standings(HashMap<ProcessId, Standing>);

/// What the records so far say of a process.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Whether it is up.
    pub life: Life,
    /// The session of its last boot, if anybody wrote one down.
    pub session: Option<u64>,
    /// What lasts, and since when: one of each sort at most.
    pub lasting: Vec<(Hold, u64)>,
    /// That of its last entry.
    pub fence: Fence,
    /// Whether it is inside and has asked to exit.
    pub leaving: bool,
    /// Whom it believes to lead.
    pub leader: Option<Term>,
    /// Whom it suspects.
    pub suspects: BTreeSet<ProcessId>,
}

/// Whether a process is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// Nobody has said anything of it.
    #[default]
    Unknown,
    /// It is, if perhaps stopped.
    Up,
    /// It crashed.
    Down,
    /// It ended in good order.
    Ended,
}

/// What can last at a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It asked to enter and waits.
    Waiting,
    /// It is inside of the critical section.
    Inside,
    /// It leads, in the term of this number (0 where there are none).
    Leading(u64),
    /// It has the token.
    Token,
    /// It crashed.
    Down,
    /// It was stopped.
    Stopped,
}

/// Which of several things that may last at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Lock,
    Lead,
    Token,
    Down,
    Stopped,
}

impl Hold {
    pub(crate) const fn sort(self) -> Sort {
        match self {
            Hold::Waiting | Hold::Inside => Sort::Lock,
            Hold::Leading(_) => Sort::Lead,
            Hold::Token => Sort::Token,
            Hold::Down => Sort::Down,
            Hold::Stopped => Sort::Stopped,
        }
    }
}

/// What a record changes at its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It boots for the first time.
    Boots,
    /// It crashes: what lasted ends.
    Crashes,
    /// It is back: nothing lasts but what began since.
    Recovers,
    /// It ends in good order.
    Leaves,
    /// Something lasts from now on.
    Begins(Hold),
    /// Something has lasted, since then.
    Ends(Hold, u64),
    /// It was told who leads, or that nobody does.
    Believes(Option<Term>),
    /// It suspects somebody, or trusts again.
    Opines(ProcessId, Verdict),
}

impl Standings {
    /// Takes note of a record, and says what it changes at its process, in order.
    pub fn read(&mut self, record: &Record) -> Vec<Change> {
        let Some(at) = record.process.process() else { return Vec::new() };
        let mut changes = Vec::new();
        self.0.entry(at).or_default().read(record, &mut changes);
        changes
    }

    /// What is known of a process.
    pub fn of(&self, at: ProcessId) -> &Standing {
        static UNKNOWN: LazyLock<Standing> = LazyLock::new(Standing::default);
        self.0.get(&at).unwrap_or(&UNKNOWN)
    }

    /// The numbers of those at whom this lasts and who have not ended.
    pub fn who(&self, hold: Hold) -> Vec<u32> {
        let here =
            |standing: &Standing| standing.life != Life::Ended && standing.since(hold).is_some();
        let all = self.0.iter().filter(|(_, standing)| here(standing));
        let mut numbers: Vec<u32> = all.map(|(at, _)| at.number()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Records of a process about the lock were passed over: it is taken to be outside.
    pub(crate) fn pass_over(&mut self, at: ProcessId) {
        self.0.entry(at).or_default().end(Sort::Lock, &mut Vec::new());
    }
}

impl Standing {
    /// Whether it crashed or ended.
    pub const fn is_down(&self) -> bool {
        matches!(self.life, Life::Down | Life::Ended)
    }

    /// Since when this lasts, if it does.
    pub fn since(&self, hold: Hold) -> Option<u64> {
        self.lasting.iter().find(|(lasts, _)| *lasts == hold).map(|(_, since)| *since)
    }

    fn read(&mut self, record: &Record, changes: &mut Vec<Change>) {
        let time = record.time;
        match &record.kind {
            Kind::Boot | Kind::Recover => self.starts(record.session, changes),
            _ if self.is_down() => {}
            Kind::Crash => {
                self.life = Life::Down;
                changes.push(Change::Crashes);
                self.forgets(changes);
                self.begin(Hold::Down, time, changes);
            }
            Kind::End => {
                self.life = Life::Ended;
                changes.push(Change::Leaves);
            }
            Kind::Stop if self.since(Hold::Stopped).is_none() => {
                self.begin(Hold::Stopped, time, changes);
            }
            Kind::Continue => self.end(Sort::Stopped, changes),
            Kind::Command(asked) => self.asks(asked, time, changes),
            Kind::Event(told) => self.is_told(told, record, changes),
            Kind::Suspicion { peer, verdict } => {
                let news = match verdict {
                    Verdict::Suspect => self.suspects.insert(*peer),
                    Verdict::Trust => self.suspects.remove(peer),
                };
                changes.extend(news.then_some(Change::Opines(*peer, *verdict)));
            }
            _ => {}
        }
        if self.life == Life::Unknown {
            self.life = Life::Up;
        }
    }

    /// It boots, for whatever time; both it and its parent may say so.
    fn starts(&mut self, session: u64, changes: &mut Vec<Change>) {
        let before = self.session.replace(session);
        let again = before.is_some_and(|before| before != session);
        if again || self.is_down() {
            changes.extend((!self.is_down()).then_some(Change::Crashes));
            self.forgets(changes);
            changes.push(Change::Recovers);
        } else {
            changes.extend(before.is_none().then_some(Change::Boots));
            self.end(Sort::Stopped, changes);
        }
        self.life = Life::Up;
    }

    /// What does not outlive a crash.
    fn forgets(&mut self, changes: &mut Vec<Change>) {
        changes.extend(self.lasting.drain(..).map(|(hold, since)| Change::Ends(hold, since)));
        let Standing { life, session, fence, .. } = *self;
        *self = Standing { life, session, fence, ..Standing::default() };
    }

    fn asks(&mut self, asked: &Asked, time: u64, changes: &mut Vec<Change>) {
        match asked.mutex() {
            Some(mutex::Command::Enter) => self.begin(Hold::Waiting, time, changes),
            Some(mutex::Command::Exit) => self.leaving = true,
            None => {}
        }
    }

    fn is_told(&mut self, told: &Told, record: &Record, changes: &mut Vec<Change>) {
        match told.mutex() {
            Some(mutex::Event::Entered { fence }) => {
                self.fence = *fence;
                self.begin(Hold::Inside, record.time, changes);
            }
            Some(mutex::Event::Exited) => {
                self.end(Sort::Lock, changes);
                self.leaving = false;
            }
            None => {}
        }
        match told.election() {
            Some(election::Event::Elected { leader, term }) => {
                self.believes(Some(Term { leader: *leader, ..*term }), changes);
                if record.process == Who::Process(*leader) {
                    self.begin(Hold::Leading(term.number), record.time, changes);
                }
            }
            Some(election::Event::Deposed { .. }) => self.believes(None, changes),
            None => {}
        }
        if let Told::Agreement(agreement::Event::Log(event)) = told {
            self.is_told_by_log(event, record, changes);
        }
    }

    /// Whoever keeps a log has a leader as well.
    fn is_told_by_log(&mut self, event: &log::Event, record: &Record, changes: &mut Vec<Change>) {
        match event {
            log::Event::Leading { term } => {
                let leader = record.process.process();
                let term = leader.map(|leader| Term { number: *term, leader });
                self.believes(term, changes);
                let number = term.map_or(0, |term| term.number);
                self.begin(Hold::Leading(number), record.time, changes);
            }
            log::Event::Following { term, leader } => {
                let term = leader.map(|leader| Term { number: *term, leader });
                self.believes(term, changes);
            }
            log::Event::Relaying { term, leader } => {
                self.believes(Some(Term { number: *term, leader: *leader }), changes);
            }
            _ => {}
        }
    }

    fn believes(&mut self, leader: Option<Term>, changes: &mut Vec<Change>) {
        self.leader = leader;
        self.end(Sort::Lead, changes);
        changes.push(Change::Believes(leader));
    }

    /// Something begins, in place of what lasted of its sort.
    fn begin(&mut self, hold: Hold, time: u64, changes: &mut Vec<Change>) {
        self.end(hold.sort(), changes);
        self.lasting.push((hold, time));
        changes.push(Change::Begins(hold));
    }

    fn end(&mut self, sort: Sort, changes: &mut Vec<Change>) {
        if let Some(place) = self.lasting.iter().position(|(hold, _)| hold.sort() == sort) {
            let (hold, since) = self.lasting.swap_remove(place);
            changes.push(Change::Ends(hold, since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P1: ProcessId = ProcessId(0);

    /// What is known of a process, and what was the last change, after these kinds in sessions.
    fn told(kinds: &[(u64, Kind)]) -> (Standing, Vec<Change>) {
        let mut standings = Standings::default();
        let mut last = Vec::new();
        for (time, (session, kind)) in kinds.iter().enumerate() {
            let record = Record::new(time as u64, P1, kind.clone()).in_session(*session);
            last = standings.read(&record);
        }
        (standings.of(P1).clone(), last)
    }

    fn entered() -> Kind {
        Kind::Event(mutex::Event::Entered { fence: Fence(0, 1) }.into())
    }

    #[test]
    fn a_crash_is_one_in_every_dialect() {
        let inside = Change::Ends(Hold::Inside, 1);
        let down = Change::Ends(Hold::Down, 2);
        for (dialect, expected) in [
            (vec![(0, Kind::Crash), (1, Kind::Recover)], vec![down, Change::Recovers]),
            (vec![(0, Kind::Crash), (1, Kind::Boot)], vec![down, Change::Recovers]),
            (vec![(1, Kind::Boot)], vec![Change::Crashes, inside, Change::Recovers]),
            (vec![(1, Kind::Recover)], vec![Change::Crashes, inside, Change::Recovers]),
        ] {
            let story = [vec![(0, Kind::Boot), (0, entered())], dialect].concat();
            let (standing, last) = told(&story);
            assert_eq!(last, expected, "{story:?}");
            assert_eq!((standing.life, standing.lasting), (Life::Up, vec![]));
            let (_, again) = told(&[story, vec![(1, Kind::Recover)]].concat());
            assert_eq!(again, [], "its parent says so as well");
        }
    }

    #[test]
    fn who_keeps_a_log_leads_and_follows_as_in_an_election() {
        let event = |event: log::Event| (0, Kind::Event(Told::Agreement(event.into())));
        let leads = event(log::Event::Leading { term: 3 });
        let (standing, last) = told(std::slice::from_ref(&leads));
        let term = Term { number: 3, leader: P1 };
        assert_eq!(last, [Change::Believes(Some(term)), Change::Begins(Hold::Leading(3))]);
        assert_eq!(standing.leader, Some(term));
        let follows = event(log::Event::Following { term: 3, leader: None });
        let (standing, last) = told(&[leads, follows]);
        assert_eq!(last, [Change::Ends(Hold::Leading(3), 0), Change::Believes(None)]);
        assert_eq!((standing.leader, standing.lasting), (None, vec![]));
    }

    #[test]
    fn who_is_down_hears_nothing_and_who_ends_keeps_what_it_knew() {
        let (standing, last) = told(&[(0, Kind::Crash), (0, entered())]);
        assert_eq!((last, standing.lasting), (vec![], vec![(Hold::Down, 0)]));
        let (standing, last) = told(&[(0, entered()), (0, Kind::End)]);
        assert_eq!((last, standing.is_down()), (vec![Change::Leaves], true));
        assert_eq!(standing.since(Hold::Inside), Some(0));
    }
}
