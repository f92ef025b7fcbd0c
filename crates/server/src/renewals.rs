//! What the time of leases has proposed: notes of what is left of them, renewals that have to be
//! noted, and ends. Each entry of the log is about many leases.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tenure_store::{Command, LeaseChange, LeaseId, Note};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, sleep_until, timeout_at};

use crate::leases::{LATE, MOST};
use crate::member::Member;
use crate::refusal::Refusal;
use crate::state::State;

/// How often leases are looked at, at least.
const PAUSE: Duration = Duration::from_millis(100);

/// Time in which a leader that was not scheduled reads the renewals that have arrived, before it
/// ends leases.
const READING: Duration = Duration::from_millis(100);

/// Shortest time from one entry with renewals to the next, at each member. It bounds the number of
/// entries, whatever the number of sessions; a renewal that comes alone waits for nothing.
const TOGETHER: Duration = Duration::from_millis(50);

/// A renewal that is answered when an entry says that all of the lease is left.
#[derive(Debug)]
pub(crate) struct Renewed {
    lease: LeaseId,
    ttl: u64,
    /// The term of the leader that wants it noted.
    term: u64,
    reply: oneshot::Sender<Result<bool, Refusal>>,
}

/// The renewals of this member's clients that have to be noted.
#[derive(Debug)]
pub(crate) struct Renewals(mpsc::UnboundedSender<Renewed>);

impl Renewals {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Renewed>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Renewals(sender), receiver)
    }

    /// Has it noted that all of a lease is left. Returns false if that had no effect, as another
    /// member leads or the lease is gone.
    pub(crate) async fn note(
        &self,
        lease: LeaseId,
        ttl: u64,
        term: u64,
        deadline: tokio::time::Instant,
    ) -> Result<bool, Refusal> {
        let (reply, answer) = oneshot::channel();
        let renewed = Renewed { lease, ttl, term, reply };
        self.0.send(renewed).map_err(|_| Refusal::STOPPED)?;
        let noted = timeout_at(deadline, answer).await.map_err(|_| Refusal::TIMED_OUT)?;
        noted.map_err(|_| Refusal::STOPPED)?
    }
}

/// Proposes renewals, those that wait together by one entry, for as long as the member exists.
pub(crate) async fn note_renewals(
    member: Weak<Member>,
    mut asked: mpsc::UnboundedReceiver<Renewed>,
) {
    let mut waiting = Vec::new();
    let mut next = tokio::time::Instant::now();
    while asked.recv_many(&mut waiting, MOST).await > 0 {
        sleep_until(next).await;
        while waiting.len() < MOST
            && let Ok(renewed) = asked.try_recv()
        {
            waiting.push(renewed);
        }
        next = tokio::time::Instant::now() + TOGETHER;
        let Some(member) = member.upgrade() else { return };
        let mut terms = BTreeMap::<u64, Vec<Renewed>>::new();
        for renewed in waiting.drain(..) {
            terms.entry(renewed.term).or_default().push(renewed);
        }
        for (term, together) in terms {
            note_together(&member, term, together).await;
        }
    }
}

async fn note_together(member: &Member, term: u64, together: Vec<Renewed>) {
    let all = |it: &Renewed| Note { lease: it.lease, left: it.ttl, renewed: 0 };
    let leases = together.iter().map(all).collect();
    let noted = member.propose(Command::Checkpoint { term, leases }).await;
    // In the term of another leader it notes nothing.
    let noted = noted.map(|outcome| outcome.leases.into_iter().collect::<HashSet<_>>());
    for Renewed { lease, ttl, reply, .. } in together {
        let full = LeaseChange::Left { lease, seconds: ttl };
        // The client may have stopped waiting.
        let _ = reply.send(match &noted {
            Ok(noted) => Ok(noted.contains(&full)),
            Err(refusal) => Err(refusal.clone()),
        });
    }
}

/// Proposes what comes of the time of leases, for as long as there is a member.
pub(crate) async fn keep_time(member: Weak<Member>) {
    let mut expected = Instant::now();
    loop {
        let Some(member) = member.upgrade() else { return };
        if expected.elapsed() > LATE {
            sleep(READING).await;
        }
        let now = Instant::now();
        let due = member.look(|State { leases, store, .. }| leases.due(store, now));
        due.into_iter().for_each(|command| drop(tokio::spawn(decide(member.clone(), command))));
        let next = member.look(|state| state.leases.next());
        let pause = next.map_or(PAUSE, |next| next.saturating_duration_since(now).min(PAUSE));
        drop(member);
        expected = now + pause;
        sleep(pause).await;
    }
}

/// Has a command about leases committed, or takes note that its outcome is unknown.
async fn decide(member: Arc<Member>, command: Command) {
    if member.propose(command.clone()).await.is_err() {
        member.look(|state| state.leases.unanswered(&command, Instant::now()));
    }
}

impl Member {
    /// Notes what is left of leases, if this member leads: the next leader counts from there.
    pub(crate) async fn note_leases(&self) {
        let now = Instant::now();
        let notes = self.look(|State { leases, store, .. }| leases.notes(store, now));
        for note in notes {
            // What is not noted is counted from what was noted before.
            let _ = self.propose(note).await;
        }
    }
}
