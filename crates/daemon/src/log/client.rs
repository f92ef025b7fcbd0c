//! Client that retries requests where that is safe.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::history::{Completion, Observation, Operation, OperationKind};
use super::state_machine::{Change, OperationId};
use super::wire::{MAX_LINE_BYTES, Part, Request, Response};

/// Timeouts of a client.
#[derive(Clone, Copy, Debug)]
pub struct ClientTimeouts {
    /// Time to connect to a member.
    pub connect: Duration,
    /// Time for a response, after which the client tries another member.
    pub response: Duration,
    /// Upper bound on the random pause before a retry without a known leader.
    pub max_pause: Duration,
}

impl Default for ClientTimeouts {
    fn default() -> Self {
        ClientTimeouts {
            connect: Duration::from_millis(200),
            response: Duration::from_secs(1),
            max_pause: Duration::from_millis(20),
        }
    }
}

/// Record of the operations of all clients.
#[derive(Clone, Debug, Default)]
pub struct OperationLog(Arc<Mutex<OperationRecords>>);

#[derive(Debug, Default)]
struct OperationRecords {
    operations: Vec<Operation>,
    completed: u64,
    rejections: u64,
    retries: u64,
}

impl OperationLog {
    /// Ignores the poison: each record is written in one step.
    fn records(&self) -> MutexGuard<'_, OperationRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all operations, in the order of their first requests.
    pub fn operations(&self) -> Vec<Operation> {
        self.records().operations.clone()
    }

    /// Returns the number of completed operations.
    pub fn completed(&self) -> u64 {
        self.records().completed
    }

    /// Returns the number of rejected requests.
    pub fn rejections(&self) -> u64 {
        self.records().rejections
    }

    /// Records the first request of an operation, and returns its index.
    fn record_start(&self, operation: Operation) -> usize {
        let mut records = self.records();
        records.operations.push(operation);
        records.operations.len() - 1
    }

    /// Records the result of the operation at an index so far.
    fn record_completion(&self, index: usize, end: Completion) {
        let mut records = self.records();
        records.operations[index].end = end;
        records.completed += u64::from(matches!(end, Completion::Answered(..)));
    }

    /// Returns the number of requests that were repeated though they may have had an effect.
    pub fn retries(&self) -> u64 {
        self.records().retries
    }
}

/// Client of a group, which executes one operation after another.
///
/// It repeats a rejected request at the reported leader. It repeats a request without a response if
/// that is safe: a read has no effect, and an increment is identified by its tag. A write without a
/// response stays unknown.
#[derive(Debug)]
pub struct Client {
    /// Number of the client, unique in its group.
    pub number: u32,
    /// Addresses of the members, in the order of their numbers.
    pub members: Vec<SocketAddr>,
    /// True if the client only reads.
    pub is_read_only: bool,
    /// Upper bound on the number of operations.
    pub max_operations: Option<u64>,
    /// Time after which no operation begins.
    pub deadline: Option<Instant>,
    /// Upper bound on the random pause between operations.
    pub max_think_time: Duration,
    /// Seed of the operations and of the first member.
    pub seed: u64,
    /// Timeouts of its requests.
    pub timeouts: ClientTimeouts,
}

/// Result of one request.
enum Attempt {
    Answered(Response),
    /// The request was not sent.
    NotSent,
    /// The request was sent, and no response was received.
    NoResponse,
}

/// State of a running client.
struct ClientRun<'a> {
    client: &'a Client,
    rng: fastrand::Rng,
    /// Index of the current member.
    member: usize,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Executes operations and records them with times since `start`. An operation that is pending
    /// when the future is dropped stays unknown.
    pub fn run(
        self,
        start: Instant,
        log: OperationLog,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.run_all(start, log))
    }

    async fn run_all(self, start: Instant, log: OperationLog) {
        let rng = fastrand::Rng::with_seed(self.seed ^ u64::from(self.number) << 32);
        let mut run = ClientRun { client: &self, rng, member: 0, connection: None };
        run.member = run.rng.usize(..self.members.len());
        for number in 1..=self.max_operations.unwrap_or(u64::MAX) {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return;
            }
            let tag = OperationId { client: self.number, number };
            let kind = run.draw_kind();
            let now = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
            let operation = Operation { tag, kind, asked_at: now(), end: Completion::Unknown };
            let index = log.record_start(operation);
            let observation = run.execute(tag, kind, index, &log).await;
            if let Some(observation) = observation {
                log.record_completion(index, Completion::Answered(now(), observation));
            }
            run.think().await;
        }
    }
}

impl ClientRun<'_> {
    /// Returns the kind of the next operation.
    fn draw_kind(&mut self) -> OperationKind {
        let drawn = self.rng.u32(..4);
        match drawn {
            0 | 1 if self.client.is_read_only => {
                [OperationKind::GetCounter, OperationKind::GetRegister][drawn as usize]
            }
            0 => OperationKind::Add,
            1 => OperationKind::Set,
            2 => OperationKind::GetCounter,
            _ => OperationKind::GetRegister,
        }
    }

    async fn think(&mut self) {
        let limit = u64::try_from(self.client.max_think_time.as_micros()).unwrap_or(u64::MAX);
        if limit > 0 {
            sleep(Duration::from_micros(self.rng.u64(..=limit))).await;
        }
    }

    /// Executes an operation until it completes. Returns none if its result stays unknown.
    async fn execute(
        &mut self,
        tag: OperationId,
        kind: OperationKind,
        index: usize,
        log: &OperationLog,
    ) -> Option<Observation> {
        let request = match kind {
            OperationKind::Add => Request::Change(Change::Add(tag)),
            OperationKind::Set => Request::Change(Change::Set(tag)),
            OperationKind::GetCounter => Request::Get(Part::Counter),
            OperationKind::GetRegister => Request::Get(Part::Register),
        };
        let mut may_have_effect = false;
        loop {
            let mut leader = None;
            match self.send(request).await {
                Attempt::Answered(Response::Counter(value)) => {
                    return Some(Observation::Counter(value));
                }
                Attempt::Answered(Response::Register(tag)) => {
                    return Some(Observation::Register(tag));
                }
                Attempt::Answered(Response::Written) => return Some(Observation::Written),
                Attempt::Answered(Response::Refused { leader: known }) => {
                    log.records().rejections += 1;
                    leader = known;
                }
                Attempt::Answered(Response::Unknown) | Attempt::NoResponse
                    if kind == OperationKind::Set =>
                {
                    self.switch_member(None).await;
                    return None;
                }
                Attempt::Answered(Response::Unknown) | Attempt::NoResponse => {
                    log.records().retries += 1;
                    may_have_effect = true;
                }
                Attempt::NotSent => {}
            }
            // A reader during the retry must take the operation for unknown.
            log.record_completion(
                index,
                if may_have_effect { Completion::Unknown } else { Completion::Refused },
            );
            self.switch_member(leader).await;
            log.record_completion(index, Completion::Unknown);
        }
    }

    /// Switches to the reported leader, or to the next member after a pause.
    async fn switch_member(&mut self, leader: Option<u32>) {
        let members = self.client.members.len();
        let reported = leader.and_then(|it| usize::try_from(it).ok()?.checked_sub(1));
        if let Some(reported) = reported.filter(|index| *index < members) {
            if reported != self.member {
                (self.member, self.connection) = (reported, None);
            }
            return;
        }
        self.connection = None;
        self.member = (self.member + 1) % members;
        let limit = u64::try_from(self.client.timeouts.max_pause.as_micros()).unwrap_or(u64::MAX);
        sleep(Duration::from_micros(self.rng.u64(..=limit))).await;
    }

    /// Sends a request once.
    async fn send(&mut self, request: Request) -> Attempt {
        let ClientTimeouts { connect, response: response_timeout, .. } = self.client.timeouts;
        if self.connection.is_none() {
            let address = self.client.members[self.member];
            let Ok(Ok(stream)) = timeout(connect, TcpStream::connect(address)).await else {
                return Attempt::NotSent;
            };
            if stream.set_nodelay(true).is_err() {
                return Attempt::NotSent;
            }
            self.connection = Some(BufReader::new(stream));
        }
        let Some(connection) = &mut self.connection else { return Attempt::NotSent };
        let exchange = async {
            connection.write_all(format!("{request}\n").as_bytes()).await.ok()?;
            let mut line = String::new();
            connection.take(MAX_LINE_BYTES as u64).read_line(&mut line).await.ok()?;
            line.strip_suffix('\n').and_then(Response::read)
        };
        match timeout(response_timeout, exchange).await {
            Ok(Some(response)) => Attempt::Answered(response),
            Ok(None) | Err(_) => Attempt::NoResponse,
        }
    }
}
