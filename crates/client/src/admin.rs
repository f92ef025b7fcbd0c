//! Administrative calls: failover among the endpoints of a service.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tenure_etcd::etcdserverpb::{SnapshotRequest, SnapshotResponse};
use tenure_etcd::frames;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::{Code, Status};

use crate::access::Access;
use crate::connection::{Connection, Download, reached};
use crate::endpoint::Endpoint;
use crate::error::ClientError;
use crate::line::{Fate, Pauses, fate, refused};

/// Time in which a call has to be done, all attempts together.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Delay after which the next endpoint is tried beside one that does not accept the connection.
const CONNECT_DELAY: Duration = Duration::from_millis(250);

/// Delay after which a read is sent to another member beside one that does not respond.
const READ_DELAY: Duration = Duration::from_millis(750);

/// Upper bound on repetitions of a call that a member could not serve at that moment.
const MAX_REPEATS: u32 = 20;

/// Upper bound on the bytes of a response. A member of Tenure sends 64 MiB at most.
const MAX_RESPONSE: usize = 65 << 20;

/// Time between two messages of a snapshot.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(30);

/// Policy for a call that was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It is sent once.
    Never,
    /// It is sent to another member after a failure.
    AfterFailure,
    /// It is sent to another member also while the first one does not respond.
    Read,
}

/// Administrative calls at a service: its members, keys, leases and snapshots.
///
/// The endpoints are tried in their order, and a call goes to the one that answered last. One that
/// does not accept a connection, or accepts it and sends nothing (its process is stopped), is not
/// waited for longer than a quarter of a second while there are others.
#[derive(Debug)]
pub struct Admin {
    endpoints: Vec<Endpoint>,
    access: Access,
    /// Connection that was used last, with the place of its endpoint.
    open: Mutex<Option<(usize, Arc<Connection>)>>,
}

impl Admin {
    /// Creates a client of these endpoints. It connects with the first call.
    ///
    /// # Errors
    ///
    /// [`ClientError::Endpoint`] for what is no URL of a member, and [`ClientError::Unvouched`] for
    /// an `https` endpoint without certificates.
    pub fn new<I>(endpoints: I, access: impl Into<Access>) -> Result<Admin, ClientError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let access = Access { max_response: Some(MAX_RESPONSE), ..access.into() };
        let endpoints = Endpoint::parse_all(endpoints, &access)?;
        Ok(Admin { endpoints, access, open: Mutex::default() })
    }

    /// Creates a client of other endpoints with the same access.
    ///
    /// # Errors
    ///
    /// As [`Admin::new`].
    pub fn at<I>(&self, endpoints: I) -> Result<Admin, ClientError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Admin::new(endpoints, self.access.clone())
    }

    /// Sends a request and returns the response of the first member that has one.
    pub(crate) async fn ask<Asked, Answer>(
        &self,
        path: &'static str,
        asked: Asked,
        repeat: Repeat,
    ) -> Result<Answer, ClientError>
    where
        Asked: Message,
        Answer: Message + Default,
    {
        let answer = self.exchange(path, frames::written(&asked), repeat).await?;
        frames::read(answer).map_err(|status| refused(&status))
    }

    async fn exchange(
        &self,
        path: &'static str,
        asked: Bytes,
        repeat: Repeat,
    ) -> Result<Bytes, ClientError> {
        let deadline = Instant::now() + CALL_TIMEOUT;
        let (mut left, mut failures) = (self.order(), Failures::default());
        let (mut asking, mut pauses, mut repeats) = (JoinSet::new(), Pauses::default(), 0);
        loop {
            if let Some((place, connection)) = self.connect(&mut left, &mut failures).await? {
                let (asked, within) = (asked.clone(), deadline - Instant::now());
                asking.spawn(async move {
                    let answer = timeout(within, connection.ask(path, asked, within)).await;
                    (place, connection, answer.unwrap_or_else(|_| Err(late())))
                });
            }
            let may_hedge = repeat == Repeat::Read && !left.is_empty();
            let until = if may_hedge { Instant::now() + READ_DELAY } else { deadline };
            let (place, connection, answer) = match timeout_at(until, asking.join_next()).await {
                Ok(Some(Ok(answered))) => answered,
                Ok(Some(Err(_))) => continue,
                Ok(None) => return Err(self.silence(&failures)),
                Err(_) if may_hedge => continue,
                Err(_) => return Err(self.silence(&failures.with(usize::MAX, &late()))),
            };
            let status = match answer {
                Ok(answer) => {
                    *self.open() = Some((place, connection));
                    return Ok(answer);
                }
                Err(status) => status,
            };
            match after(&status) {
                Fate::Refused => return Err(refused(&status)),
                _ if repeat == Repeat::Never => {
                    return Err(self.silence(&failures.with(place, &status)));
                }
                Fate::Again if repeats < MAX_REPEATS => {
                    repeats += 1;
                    if status.code() == Code::Unauthenticated {
                        // With another connection comes another token.
                        connection.leave();
                    }
                    left.push_back(place);
                    sleep(pauses.next()).await;
                }
                Fate::Again | Fate::Elsewhere => {
                    connection.leave();
                    failures = failures.with(place, &status);
                }
            }
        }
    }

    /// Begins a snapshot of the store of a member.
    ///
    /// # Errors
    ///
    /// [`ClientError`], if no member sends the first piece.
    pub async fn snapshot(&self) -> Result<Snapshot, ClientError> {
        let (mut left, mut failures) = (self.order(), Failures::default());
        while let Some((place, connection)) = self.connect(&mut left, &mut failures).await? {
            let asked = frames::written(&SnapshotRequest {});
            let begun = timeout(SNAPSHOT_TIMEOUT, async {
                let path = "/etcdserverpb.Maintenance/Snapshot";
                let mut pieces = connection.download::<SnapshotResponse>(path, asked).await?;
                Ok((pieces.next().await?, pieces))
            });
            let status = match begun.await.unwrap_or_else(|_| Err(late())) {
                Ok((first, pieces)) => {
                    let endpoint = self.endpoints[place].origin().to_string();
                    return Ok(Snapshot { endpoint, first, pieces, _connection: connection });
                }
                Err(status) => status,
            };
            if after(&status) == Fate::Refused {
                return Err(refused(&status));
            }
            failures = failures.with(place, &status);
        }
        Err(self.silence(&failures))
    }

    /// Connects to the next endpoint that is not mute; takes those that were tried from `left`.
    /// Returns `None` if there is none.
    async fn connect(
        &self,
        left: &mut VecDeque<usize>,
        failures: &mut Failures,
    ) -> Result<Option<(usize, Arc<Connection>)>, ClientError> {
        if let Some(used) = self.used(left.front()) {
            left.pop_front();
            return Ok(Some(used));
        }
        let (mut connecting, mut started) = (JoinSet::new(), Vec::new());
        loop {
            if let Some(place) = left.pop_front() {
                started.push(place);
                let (endpoint, access) = (self.endpoints[place].clone(), self.access.clone());
                connecting.spawn(async move {
                    let begun = reached(&endpoint, &access).await;
                    match begun {
                        Ok(connection) => (place, connection.proven(&access).await),
                        Err(status) => (place, Err(status)),
                    }
                });
            }
            let delay = if left.is_empty() { CALL_TIMEOUT } else { CONNECT_DELAY };
            let (place, status) = match timeout(delay, connecting.join_next()).await {
                Ok(Some(Ok((place, Ok(connection))))) => {
                    // The others may be tried again.
                    left.extend(started.into_iter().filter(|it| *it != place));
                    return Ok(Some((place, Arc::new(connection))));
                }
                Ok(Some(Ok((place, Err(status))))) => (place, status),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) | Err(_) => continue,
            };
            if after(&status) == Fate::Refused {
                return Err(refused(&status));
            }
            started.retain(|it| *it != place);
            *failures = std::mem::take(failures).with(place, &status);
        }
    }

    /// Returns the connection that was used last, if it is open and to the endpoint at this place.
    fn used(&self, place: Option<&usize>) -> Option<(usize, Arc<Connection>)> {
        let used = self.open().clone()?;
        (Some(&used.0) == place && !used.1.is_over()).then_some(used)
    }

    /// Returns the places of all endpoints, the one that was used last first.
    fn order(&self) -> VecDeque<usize> {
        let first = self.open().as_ref().map_or(0, |(place, _)| *place);
        let count = self.endpoints.len();
        (first..first + count).map(|place| place % count).collect()
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Option<(usize, Arc<Connection>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn silence(&self, Failures(failures): &Failures) -> ClientError {
        let said = |(place, why): &(usize, String)| match self.endpoints.get(*place) {
            Some(endpoint) if self.endpoints.len() > 1 => {
                format!("{}: {why}", endpoint.address())
            }
            _ => why.clone(),
        };
        let endpoints = match &self.endpoints[..] {
            [one] => one.address().to_owned(),
            several => format!("any of {} endpoints", several.len()),
        };
        let why: Vec<String> = failures.iter().map(said).collect();
        ClientError::Silence { endpoints, why: why.join("; ") }
    }
}

/// Reasons why endpoints did not answer, with their places.
#[derive(Debug, Default)]
struct Failures(Vec<(usize, String)>);

impl Failures {
    /// Adds a reason; the last one of an endpoint counts.
    fn with(mut self, place: usize, status: &Status) -> Failures {
        self.0.retain(|(known, _)| *known != place);
        self.0.push((place, status.message().to_owned()));
        self
    }
}

/// The error of a member that does not respond.
fn late() -> Status {
    Status::deadline_exceeded("it does not respond")
}

/// Returns what to do about the failure of a call.
fn after(status: &Status) -> Fate {
    match status.code() {
        // A response would be too long: it is as long the next time.
        Code::ResourceExhausted if !status.message().contains("too many requests") => Fate::Refused,
        Code::Unauthenticated => Fate::Again,
        _ => fate(status),
    }
}

/// A snapshot that is being received.
#[derive(Debug)]
pub struct Snapshot {
    endpoint: String,
    first: Option<SnapshotResponse>,
    pieces: Download<SnapshotResponse>,
    _connection: Arc<Connection>,
}

impl Snapshot {
    /// Returns the next piece; `None` at the end of the snapshot.
    ///
    /// # Errors
    ///
    /// [`ClientError::Silence`] if the member sends nothing for 30 s or breaks off.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first.blob));
        }
        let next = timeout(SNAPSHOT_TIMEOUT, self.pieces.next()).await;
        let next = next.unwrap_or_else(|_| Err(late())).map_err(|status| ClientError::Silence {
            endpoints: self.endpoint.clone(),
            why: status.message().to_owned(),
        })?;
        Ok(next.map(|piece| piece.blob))
    }
}
