//! The clients of a log, as tasks of this command that speak with the nodes over sockets.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_daemon::log::{Client, Course, Patience};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cmd::run::plan::{LogPlan, Plan};

/// All clients, and what they have seen.
#[derive(Debug)]
pub(in crate::cmd::run) struct Clients {
    members: Vec<SocketAddr>,
    course: Course,
    working: JoinSet<()>,
}

impl Clients {
    /// Clients who will ask the members here, the first process's first.
    pub(in crate::cmd::run) fn new(members: Vec<SocketAddr>) -> Self {
        Clients { members, course: Course::default(), working: JoinSet::new() }
    }

    /// They begin; times count from `start`.
    pub(in crate::cmd::run) fn begin(&mut self, plan: &Plan, log: &LogPlan, start: Instant) {
        for number in 1..=log.clients {
            let client = Client {
                number,
                members: self.members.clone(),
                reads: number.is_multiple_of(4),
                most: plan.entries,
                until: plan.duration.map(|duration| start + duration),
                think: plan.think,
                seed: plan.seed,
                patience: Patience::default(),
            };
            self.working.spawn(client.work(start, self.course.clone()));
        }
    }

    /// How many are at work, or wait for an answer.
    pub(in crate::cmd::run) fn working(&mut self) -> usize {
        while self.working.try_join_next().is_some() {}
        self.working.len()
    }

    /// What they have asked so far.
    pub(in crate::cmd::run) fn course(&self) -> &Course {
        &self.course
    }

    /// Nobody waits for an answer any more.
    pub(in crate::cmd::run) fn abandon(&mut self) {
        self.working.abort_all();
    }

    /// How long the slowest may be about to ask again.
    pub(in crate::cmd::run) fn patience() -> Duration {
        let Patience { connect, answer, pause } = Patience::default();
        connect + answer + pause
    }
}
