//! Between the requests of a member and its log: what is asked goes in, and what is committed goes
//! to the store, in the task that steps the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tenure_algorithms::agreement::RelayedLog;
use tenure_core::service::log::{
    Command as Asked, Content, Entry, Event as Said, Members, Payload,
};
use tenure_core::service::relayed_log::{Command, Event, Ticket};
use tenure_core::{ProcessId, ProcessSet, Term};
use tenure_runtime::Local;
use tenure_runtime::store::Registry;
use tenure_store::{At, Outcome};
use tokio::sync::oneshot;
use tracing::info;

use crate::errand::{Change, Errand, Released, Return, Undone, What, Written, encoded, written};
use crate::eviction::Eviction;
use crate::image;
use crate::length::Length;
use crate::state::{Shared, Standing, State};

/// What a task of this member asks.
#[derive(Debug)]
pub(crate) enum Ask {
    /// To have a command done.
    Do {
        /// Which, and for whom, as [`What`] is written.
        what: Arc<[u8]>,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Outcome, Undone>>,
    },
    /// To have taken all that anybody was told of before.
    Confirm {
        /// Where the answer goes.
        reply: oneshot::Sender<Return>,
    },
    /// To have the leader do something.
    Run {
        /// What.
        errand: Errand,
        /// Where the answer goes.
        reply: oneshot::Sender<Return>,
    },
    /// To have other members know that a lock is released.
    Tell {
        /// Which of them.
        whom: ProcessSet,
        /// Which lock.
        released: Released,
    },
    /// To have all members know where clients reach this one.
    Introduce {
        /// Where.
        urls: Vec<String>,
        /// Where the answer goes.
        reply: oneshot::Sender<Return>,
    },
    /// To let a snapshot stand for all entries up to an index.
    Compact {
        /// Which.
        index: u64,
        /// The snapshot.
        state: Vec<u8>,
    },
    /// To give the lead to another member.
    Transfer {
        /// The number of its process.
        to: usize,
        /// Where the answer goes.
        reply: oneshot::Sender<Return>,
    },
    /// To end in good order.
    Leave,
}

/// Who waits for what the log says.
#[derive(Debug)]
enum Asker {
    /// A task of this member that had an entry appended: told when it is taken.
    Proposer(oneshot::Sender<Result<Outcome, Undone>>),
    /// A task of this member.
    Task(oneshot::Sender<Return>),
    /// A member that had the members changed by this one, which leads.
    Member(ProcessId, Ticket),
}

/// The local side of a member's log.
#[derive(Debug)]
pub(crate) struct Desk {
    me: ProcessId,
    session: u64,
    shared: Arc<Shared>,
    tickets: u64,
    waiting: HashMap<u64, Asker>,
    /// How much of what will be told was heard when it was foretold.
    foretold: usize,
    is_over: bool,
    /// What was committed that this build cannot read.
    refused: Option<String>,
    length: Length,
    registry: Option<Registry>,
}

impl Desk {
    pub(crate) fn new(
        me: ProcessId,
        session: u64,
        shared: Arc<Shared>,
        registry: Option<Registry>,
    ) -> Self {
        Desk {
            me,
            session,
            shared,
            tickets: 0,
            waiting: HashMap::new(),
            foretold: 0,
            is_over: false,
            refused: None,
            length: Length::default(),
            registry,
        }
    }

    /// Somebody waits, under this ticket.
    fn ticket(&mut self, asker: Asker) -> u64 {
        let ticket = self.next_ticket();
        self.waiting.insert(ticket, asker);
        ticket
    }

    fn next_ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Takes a committed entry.
    fn take(&mut self, index: u64, Entry { term, content }: &Entry) {
        match content {
            Content::Nothing => {}
            Content::Payload(payload) => {
                // The log counts entries, which may be large.
                if self.length.add(payload.bytes().len()) {
                    self.shared.compaction.notify_one();
                }
                match postcard::from_bytes(payload.bytes()) {
                    Ok(written) => self.apply(At { index, term: *term }, written),
                    Err(_) => return self.refuse(format!("entry {index} of the log")),
                }
            }
            Content::Members(members) => {
                info!("the log is kept by {members} from entry {index} on");
                self.shared.members_are(Members::clone(members), index);
            }
        }
        self.shared.lock().taken = index;
    }

    fn apply(&mut self, at: At, Written { by, what }: Written) {
        let outcome = match what {
            What::Command(asker, command) => self.shared.lock().apply(at, &asker, command),
            What::Introduction { process, urls } => {
                self.shared.lock().urls.insert(process, urls);
                return;
            }
        };
        let (process, session, ticket) = by;
        if (ProcessId(process), session) != (self.me, self.session) {
            return;
        }
        if let Some(Asker::Proposer(reply)) = self.waiting.remove(&ticket) {
            // Whoever has gone away does not want to know.
            let _ = reply.send(Ok(outcome));
        }
    }

    fn append(&self, ticket: u64, what: &[u8]) -> Command {
        let written = written((self.me.0, self.session, ticket), what);
        Command::Log(Asked::Append { ticket, payload: Payload::new(written) })
    }

    /// What the log said of a ticket of ours.
    fn learn(&mut self, ticket: u64, said: Return) -> Option<Command> {
        match self.waiting.remove(&ticket)? {
            Asker::Member(to, ticket) => {
                return Some(Command::Reply { to, ticket, reply: payload(&said) });
            }
            Asker::Task(reply) => drop(reply.send(said)),
            Asker::Proposer(reply) => drop(reply.send(Err(match said {
                Return::Undone(undone) => undone,
                // It was taken as part of a snapshot, and not told one by one.
                _ => Undone::Unknown,
            }))),
        }
        None
    }

    /// A member asks something of this one, which leads, as a majority has confirmed.
    fn run(&mut self, by: ProcessId, theirs: Ticket, errand: Errand) -> Command {
        let said = match errand {
            Errand::Renew(lease) => {
                let term = self.shared.standing.borrow().term;
                let mut state = self.shared.lock();
                let State { store, leases, .. } = &mut *state;
                Return::Renewed { term, renewal: leases.renew(lease, term, store) }
            }
            Errand::Left(lease) => {
                let (state, now) = (self.shared.lock(), Instant::now());
                let known = state.store.lease(lease);
                let left = |ttl| state.leases.left(lease, now).map_or(ttl, |left| left.as_secs());
                Return::Left(known.map(|known| left(known.left)))
            }
            Errand::Leases => {
                let state = self.shared.lock();
                Return::Leases(state.leases.by_expiry(&state.store))
            }
            Errand::Change(change) => {
                let ticket = self.ticket(Asker::Member(by, theirs));
                let Members { voters, learners, .. } =
                    changed(self.shared.lock().members.clone(), change);
                return Command::Log(Asked::ChangeMembers { ticket, voters, learners });
            }
        };
        Command::Reply { to: by, ticket: theirs, reply: payload(&said) }
    }

    fn stands(&self, leader: Option<ProcessId>, term: u64) {
        let leader = leader.map(ProcessId::index);
        match leader {
            Some(leader) if leader == self.me.index() => info!("leads in term {term}"),
            Some(leader) => info!("follows {} in term {term}", ProcessId::at(leader)),
            None => info!("knows no leader in term {term}"),
        }
        let mut state = self.shared.lock();
        let State { store, leases, .. } = &mut *state;
        match leader == Some(self.me.index()) {
            true => leases.leads(term, store, Instant::now()),
            false => leases.follows(),
        }
        drop(state);
        self.shared.standing.send_replace(Standing { leader, term });
    }

    /// Only another build writes what this one cannot read. Whoever left it out would differ from
    /// all others from then on.
    fn refuse(&mut self, what: String) {
        self.refused = Some(format!("{what} is of another build of tenure"));
    }

    fn said(&mut self, event: Said) -> Option<Command> {
        if self.refused.is_some() {
            return None;
        }
        match event {
            Said::Leading { term } => self.stands(Some(self.me), term),
            Said::Following { term, leader } => self.stands(leader, term),
            Said::Relaying { term, leader } => self.stands(Some(leader), term),
            Said::Committed { index, entry } => self.take(index, &entry),
            Said::Acknowledged { ticket, .. }
            | Said::Answered { ticket, .. }
            | Said::HandedOver { ticket }
            | Said::MembersChanged { ticket, .. } => return self.learn(ticket, Return::Done),
            Said::Declined { ticket, reason, .. } => {
                return self.learn(ticket, Return::Undone(Undone::Declined(reason)));
            }
            Said::Unknown { ticket } => return self.learn(ticket, Return::Undone(Undone::Unknown)),
            Said::SnapshotNeeded { .. } if self.length.is_due() => {
                self.shared.compaction.notify_one();
            }
            Said::Restored { index, state, members, .. } => self.restore(index, &state, *members),
            // A process that takes the place of a member has the history of that in its log.
            Said::Removed { at } if self.has_joined() => self.evict(Eviction::Removed { at }),
            Said::Forgotten { last, acknowledged } if self.has_joined() => {
                self.evict(Eviction::Forgotten { last, acknowledged });
            }
            // Its predecessor has acknowledged that.
            Said::Forgotten { .. } => self.evict(Eviction::StillMember),
            Said::SnapshotNeeded { .. }
            | Said::Stored { .. }
            | Said::Dropped { .. }
            | Said::Removed { .. }
            | Said::Compacted { .. } => {}
        }
        None
    }

    fn has_joined(&self) -> bool {
        self.registry.as_ref().is_none_or(Registry::has_joined)
    }

    /// Ends the log, as this member must not take part any more.
    fn evict(&mut self, why: Eviction) {
        self.shared.evict(why);
        self.is_over = true;
    }

    /// The store is that of a snapshot.
    fn restore(&mut self, index: u64, state: &Payload, members: Members) {
        self.length = Length::behind(state.bytes().len());
        match image::read(state.bytes()) {
            Ok((urls, store)) => {
                let mut state = self.shared.lock();
                state.replace(store, index);
                state.urls = urls;
                drop(state);
                self.shared.members_are(members, index);
            }
            Err(_) => self.refuse(format!("the snapshot up to entry {index}")),
        }
    }

    /// Another member has told of a lock that is released. Only a newer build tells what this one
    /// cannot read.
    fn hear(&self, what: &Payload) {
        if let Ok(released) = postcard::from_bytes(what.bytes()) {
            self.shared.lock().release(&released);
        }
    }
}

impl Local<RelayedLog> for Desk {
    type Ask = Ask;

    fn ask(&mut self, ask: Ask) -> Option<Command> {
        Some(match ask {
            Ask::Do { what, reply } => {
                let ticket = self.ticket(Asker::Proposer(reply));
                self.append(ticket, &what)
            }
            Ask::Tell { whom, released } => Command::Tell { whom, what: payload(&released) },
            Ask::Introduce { urls, reply } => {
                let ticket = self.ticket(Asker::Task(reply));
                self.append(ticket, &encoded(&What::Introduction { process: self.me.0, urls }))
            }
            Ask::Compact { index, state } => {
                let ticket = self.next_ticket();
                self.length.replaced(state.len());
                Command::Log(Asked::Compact { ticket, index, state: Payload::new(state) })
            }
            Ask::Confirm { reply } => {
                Command::Log(Asked::Read { ticket: self.ticket(Asker::Task(reply)) })
            }
            Ask::Run { errand, reply } => {
                let ticket = self.ticket(Asker::Task(reply));
                Command::Ask { ticket, question: payload(&errand) }
            }
            Ask::Transfer { to, reply } => {
                let ticket = self.ticket(Asker::Task(reply));
                Command::Log(Asked::Transfer { ticket, to: ProcessId::at(to) })
            }
            Ask::Leave => {
                self.is_over = true;
                return None;
            }
        })
    }

    fn told(&mut self, event: Event) -> Option<Command> {
        match event {
            Event::Log(event) => self.said(event),
            Event::Asked { by, ticket, question } => {
                // Only a newer build asks what this one cannot read.
                let errand = postcard::from_bytes(question.bytes()).ok()?;
                Some(self.run(by, ticket, errand))
            }
            Event::Told { what } => {
                match self.foretold.checked_sub(1) {
                    Some(left) => self.foretold = left,
                    None => self.hear(&what),
                }
                None
            }
            Event::Replied { ticket, reply } => {
                let said = postcard::from_bytes(reply.bytes());
                self.learn(ticket, said.unwrap_or(Return::Undone(Undone::Unknown)))
            }
        }
    }

    /// What is released is so whatever this member has yet to save. It is told in the same order
    /// once more, and what comes later comes behind that.
    fn foretold(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Told { what } = event {
                self.hear(what);
                self.foretold += 1;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn refuses(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    fn leader(&self) -> Option<Term> {
        let Standing { leader, term } = *self.shared.standing.borrow();
        leader.map(|leader| Term { number: term, leader: ProcessId::at(leader) })
    }

    fn farewell(&mut self) -> Option<Command> {
        Some(Command::Log(Asked::HandOver { ticket: self.next_ticket() }))
    }

    fn leads_on_until_relieved(&self) -> bool {
        true
    }
}

/// Who keeps the log after a change.
fn changed(mut members: Members, change: Change) -> Members {
    let Members { voters, learners, .. } = &mut members;
    let (Change::Add(who) | Change::AddLearner(who) | Change::Promote(who) | Change::Remove(who)) =
        change;
    let who = ProcessId(who);
    for side in [&mut *voters, &mut *learners] {
        side.remove(who);
    }
    match change {
        Change::Add(_) | Change::Promote(_) => drop(voters.insert(who)),
        Change::AddLearner(_) => drop(learners.insert(who)),
        Change::Remove(_) => {}
    }
    members
}

fn payload(said: &impl serde::Serialize) -> Payload {
    Payload::new(encoded(said))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::ProcessSet;
    use tenure_runtime::Failure;
    use tokio::time::timeout;

    use super::*;
    use crate::backup::begin_with;
    use crate::config::Config;
    use crate::member::{ServeError, owner};
    use crate::server::Server;

    #[test]
    fn what_another_build_appended_is_refused_and_so_is_all_behind_it() {
        let shared = Arc::new(Shared::new(Members::of(ProcessSet::first(1))));
        let mut desk = Desk::new(ProcessId(0), 1, shared.clone(), None);
        let grant = desk.append(1, &encoded(&What::Command(tenure_store::Asker::Member, grant())));
        let Command::Log(Asked::Append { payload: grant, .. }) = grant else { panic!("an append") };
        let unread = Payload::new(&b"\xff\xff"[..]);
        for (index, payload) in [(1, grant.clone()), (2, unread), (3, grant)] {
            let content = Content::Payload(payload);
            desk.told(Event::Log(Said::Committed { index, entry: Entry { term: 1, content } }));
        }
        assert_eq!(desk.refuses(), Some("entry 2 of the log is of another build of tenure"));
        assert_eq!(shared.lock().taken, 1);
    }

    fn grant() -> tenure_store::Command {
        tenure_store::Command::Grant { lease: 1, ttl: 60 }
    }

    #[tokio::test]
    async fn a_member_that_another_build_wrote_the_snapshot_of_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = Config { data_dir: Some(folder.path().into()), ..Config::default() };
        config.listen_client_urls = "http://127.0.0.1:0".into();
        let plan = config.plan().expect("a plan");
        let begun = begin_with(folder.path(), &owner(&config, &plan), b"\0tnstore\x01".to_vec());
        begun.expect("data of a member");
        let server = Server::start(&config).await.expect("a member");
        let ended = timeout(Duration::from_secs(20), server.run(std::future::pending())).await;
        let ended = ended.expect("it ends");
        let Err(ServeError::Failure(Failure::Refused(why))) = ended else { panic!("{ended:?}") };
        assert_eq!(why, "the snapshot up to entry 1 is of another build of tenure");
    }
}
