//! The clients of a log, as tasks of this process that connect to the nodes.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_daemon::log::{Client, ClientTimeouts, OperationLog};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cmd::run::plan::{LogPlan, Plan};

/// All clients, and their operations.
#[derive(Debug)]
pub(in crate::cmd::run) struct Clients {
    members: Vec<SocketAddr>,
    course: OperationLog,
    working: JoinSet<()>,
}

impl Clients {
    /// Creates clients for nodes at these addresses, the first process's first.
    pub(in crate::cmd::run) fn new(members: Vec<SocketAddr>) -> Self {
        Clients { members, course: OperationLog::default(), working: JoinSet::new() }
    }

    /// Starts the clients. Times are relative to `start`.
    pub(in crate::cmd::run) fn begin(&mut self, plan: &Plan, log: &LogPlan, start: Instant) {
        for number in 1..=log.clients {
            let client = Client {
                number,
                members: self.members.clone(),
                is_read_only: number.is_multiple_of(4),
                max_operations: plan.entries,
                deadline: plan.duration.map(|duration| start + duration),
                max_think_time: plan.think,
                seed: plan.seed,
                timeouts: ClientTimeouts::default(),
            };
            self.working.spawn(client.run(start, self.course.clone()));
        }
    }

    /// Returns the number of clients that are working or waiting for a response.
    pub(in crate::cmd::run) fn working(&mut self) -> usize {
        while self.working.try_join_next().is_some() {}
        self.working.len()
    }

    /// Returns their operations so far.
    pub(in crate::cmd::run) fn record(&self) -> &OperationLog {
        &self.course
    }

    /// Stops all clients.
    pub(in crate::cmd::run) fn abandon(&mut self) {
        self.working.abort_all();
    }

    /// Returns the longest time until a client retries.
    pub(in crate::cmd::run) fn max_retry_time() -> Duration {
        let ClientTimeouts { connect, response: answer, max_pause: pause } =
            ClientTimeouts::default();
        connect + answer + pause
    }
}
