//! Whoever leads is asked, if the user does not want to be served by any member: what another is
//! asked goes to the leader first, and comes back by way of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames;
use tokio::time::Instant;
use tonic::Status;

use crate::connection::{Connection, reached};
use crate::line::Line;

/// How long a member may take to say who leads.
const TOLD: Duration = Duration::from_secs(1);

/// After how long it is looked for again in the same term: whoever lost the connection to it may
/// reach it by then.
const AGAIN: Duration = Duration::from_secs(60);

/// In which term a leader was looked for, and when.
#[derive(Debug, Default)]
pub(crate) struct Sought(Mutex<Option<(u64, Instant)>>);

impl Sought {
    /// Whether it is to be looked for in a term; if so, it was.
    fn begin(&self, term: u64, now: Instant) -> bool {
        let mut sought = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = sought.is_none_or(|(then, at)| then != term || now - at >= AGAIN);
        if is_due {
            *sought = Some((term, now));
        }
        is_due
    }

    /// Nobody led.
    fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Line {
    /// Takes note of what a member said with its answer. If there is a term in which it was not
    /// looked for a leader, that begins, and nobody waits for it: what is asked meanwhile is asked
    /// of the same member as before, and what is followed there goes on.
    pub(crate) fn heard(self: &Arc<Self>, header: Option<&rpc::ResponseHeader>) {
        let Some(header) = header else { return };
        if self.has_choice() && self.sought.begin(header.raft_term, Instant::now()) {
            tokio::spawn(move_to_leader(self.clone()));
        }
    }
}

async fn move_to_leader(line: Arc<Line>) {
    let told = match line.used().await {
        Some((used, at)) => standing(&used).await.map(|it| (used, at, it)),
        None => Err(Status::unavailable("nobody is asked")),
    };
    let Ok((used, at, (member, leader @ 1..))) = told else {
        // Whoever is heard of next may know more.
        return line.sought.forget();
    };
    if member == leader {
        return;
    }
    let count = line.endpoints().len();
    for place in (at + 1..at + count).map(|place| place % count) {
        // Who cannot be asked is not the one to go to, whatever it is.
        if let Ok(Some(connection)) = reach(&line, place, leader).await {
            return line.change(&used, connection, place).await;
        }
    }
}

/// A connection to the member at one of the endpoints, if it is this one and says itself that it
/// leads.
async fn reach(line: &Line, place: usize, leader: u64) -> Result<Option<Connection>, Status> {
    let (endpoint, access) = (&line.endpoints()[place], line.access());
    let connection = reached(endpoint, access).await?;
    match standing(&connection).await? == (leader, leader) {
        // Only now, as members take their time to look at a password.
        true => connection.proven(access).await.map(Some),
        false => Ok(None),
    }
}

/// Which member it is, and which leads as far as it knows; 0 if it knows of none.
async fn standing(connection: &Connection) -> Result<(u64, u64), Status> {
    let asked = frames::written(&rpc::StatusRequest {});
    let answer = connection.ask("/etcdserverpb.Maintenance/Status", asked, TOLD).await?;
    let rpc::StatusResponse { header, leader, .. } = frames::read(answer)?;
    Ok((header.unwrap_or_default().member_id, leader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_is_looked_for_once_a_term_and_once_a_minute() {
        let (sought, now) = (Sought::default(), Instant::now());
        let terms = [3, 3, 4, 4].map(|term| sought.begin(term, now));
        assert_eq!(terms, [true, false, true, false]);
        sought.forget();
        assert!(sought.begin(4, now), "nobody led");
        assert!(!sought.begin(4, now + AGAIN / 2));
        assert!(sought.begin(4, now + AGAIN));
    }
}
