//! The line to a service: whichever of its members answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tenure_etcd::frames;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::{Code, Status};

use crate::access::Access;
use crate::claim::TXN;
use crate::clock::Waking;
use crate::connection::{Connection, reached};
use crate::endpoint::Endpoint;
use crate::error::ClientError;
use crate::leader::Sought;

/// How long one member may take to answer before another is asked.
pub(crate) const TRY: Duration = Duration::from_secs(2);

/// How long a member may take to accept a connection before another one is tried as well.
const HEAD_START: Duration = Duration::from_millis(250);

/// The shortest and the longest pause before something is asked again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(500));

/// What comes, if it does. In a box, as a future without one is compiled anew in each crate that
/// awaits it, with all that is below it.
pub(crate) type Coming<'a, T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + Send + 'a>>;

/// The line to a service.
#[derive(Debug)]
pub(crate) struct Line {
    endpoints: Vec<Endpoint>,
    access: Access,
    /// Who tells that the machine has slept.
    pub(crate) waking: Arc<Waking>,
    open: Mutex<Open>,
    /// In which term it was looked for who leads.
    pub(crate) sought: Sought,
}

/// On which connection it is asked.
#[derive(Debug, Default)]
struct Open {
    connection: Option<Arc<Connection>>,
    /// To which of the endpoints.
    at: usize,
    /// Where to look for the next one.
    next: usize,
}

impl Line {
    pub(crate) fn new(endpoints: Vec<Endpoint>, access: Access) -> Self {
        // Not all clients begin with the same member.
        let next = fastrand::usize(..endpoints.len());
        let open = Mutex::new(Open { next, ..Open::default() });
        let (waking, sought) = (Waking::start(), Sought::default());
        Line { endpoints, access, waking, open, sought }
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    /// Whether it matters which of the members is asked, and there are others.
    pub(crate) const fn has_choice(&self) -> bool {
        self.endpoints.len() > 1 && !self.access.is_any_member
    }

    /// The connection that is used, if there is one, and to which of the endpoints.
    pub(crate) async fn used(&self) -> Option<(Arc<Connection>, usize)> {
        let open = self.open.lock().await;
        let connection = open.connection.clone().filter(|connection| !connection.is_over())?;
        Some((connection, open.at))
    }

    /// Has another connection used from now on, unless it was done already.
    pub(crate) async fn change(&self, used: &Arc<Connection>, other: Connection, at: usize) {
        let mut open = self.open.lock().await;
        if open.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, used)) {
            // Not all who lose it go to the same member.
            let next = at + fastrand::usize(1..self.endpoints.len());
            *open = Open { connection: Some(Arc::new(other)), at, next };
        }
    }

    /// A connection to a member, if one accepts it by then.
    pub(crate) fn connection(&self, deadline: Instant) -> Coming<'_, Arc<Connection>> {
        Box::pin(self.connect(deadline))
    }

    async fn connect(&self, deadline: Instant) -> Result<Arc<Connection>, ClientError> {
        let Ok(mut open) = timeout_at(deadline, self.open.lock()).await else {
            return Err(self.silence("others wait for a connection"));
        };
        if let Some(connection) = open.connection.as_ref().filter(|it| !it.is_over()) {
            return Ok(connection.clone());
        }
        open.connection = None;
        let mut pauses = Pauses::default();
        loop {
            let mut left = self.endpoints.len();
            let why = loop {
                let (at, connection) = match self.reach(&mut open.next, &mut left).await {
                    Ok(reached) => reached,
                    Err(status) => break status,
                };
                match connection.proven(&self.access).await {
                    Ok(connection) => {
                        let connection = Arc::new(connection);
                        (open.connection, open.at) = (Some(connection.clone()), at);
                        return Ok(connection);
                    }
                    Err(status) if fate(&status) == Fate::Refused => return Err(refused(&status)),
                    Err(status) if left == 0 => break status,
                    Err(_) => {}
                }
            };
            let pause = pauses.next();
            if Instant::now() + pause >= deadline {
                return Err(self.silence(why.message()));
            }
            sleep(pause).await;
        }
    }

    /// Reaches the first of so many members, from the next one on, that accepts a connection. Who
    /// does not at once is not waited for alone.
    async fn reach(
        &self,
        next: &mut usize,
        left: &mut usize,
    ) -> Result<(usize, Connection), Status> {
        let mut reaching = JoinSet::new();
        let mut why = Status::unavailable("nobody was asked");
        loop {
            if *left > 0 {
                *left -= 1;
                let place = *next % self.endpoints.len();
                // Whoever fails is asked last.
                *next = place + 1;
                let (endpoint, access) = (self.endpoints[place].clone(), self.access.clone());
                reaching
                    .spawn(async move { reached(&endpoint, &access).await.map(|it| (place, it)) });
            }
            match timeout(HEAD_START, reaching.join_next()).await {
                Ok(Some(Ok(Ok(reached)))) => return Ok(reached),
                Ok(Some(Ok(Err(status)))) => why = status,
                Ok(None) => return Err(why),
                // It ends in another way only with its runtime.
                Ok(Some(Err(_))) | Err(_) => {}
            }
        }
    }

    /// Asks until there is an answer or it is too late. Members are asked again, so what is asked
    /// twice must do no more than what is asked once.
    pub(crate) async fn ask<Asked, Answer>(
        &self,
        path: &'static str,
        asked: Asked,
        deadline: Instant,
    ) -> Result<Answer, ClientError>
    where
        Asked: Message,
        Answer: Message + Default,
    {
        self.ask_counting(path, asked, deadline, &mut 0).await
    }

    /// The same; counts how often it had to be asked.
    pub(crate) async fn ask_counting<Asked, Answer>(
        &self,
        path: &'static str,
        asked: Asked,
        deadline: Instant,
        tries: &mut u32,
    ) -> Result<Answer, ClientError>
    where
        Asked: Message,
        Answer: Message + Default,
    {
        let answer = self.exchange(path, frames::written(&asked), deadline, tries).await?;
        frames::read(answer).map_err(|status| refused(&status))
    }

    fn exchange<'a>(
        &'a self,
        path: &'static str,
        asked: Bytes,
        deadline: Instant,
        tries: &'a mut u32,
    ) -> Coming<'a, Bytes> {
        Box::pin(self.try_until(path, asked, deadline, tries))
    }

    /// Asks on one connection after the other until it is done, refused, or too late.
    async fn try_until(
        &self,
        path: &'static str,
        asked: Bytes,
        deadline: Instant,
        tries: &mut u32,
    ) -> Result<Bytes, ClientError> {
        let mut pauses = Pauses::default();
        loop {
            let connection = self.connection(deadline).await?;
            *tries += 1;
            let until = deadline.min(Instant::now() + TRY);
            let within = until.saturating_duration_since(Instant::now());
            let answer = async {
                match path {
                    TXN => connection.transact(asked.clone(), within).await,
                    path => connection.ask(path, asked.clone(), within).await,
                }
            };
            let status = tokio::select! {
                tried = timeout_at(until, answer) => match tried {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(status)) => status,
                    Err(_) => Status::deadline_exceeded("it did not answer"),
                },
                () = connection.left() => Status::unavailable("the connection was left"),
            };
            match fate(&status) {
                Fate::Refused => return Err(refused(&status)),
                Fate::Again => {}
                Fate::Elsewhere => connection.leave(),
            }
            let pause = pauses.next();
            if Instant::now() + pause >= deadline {
                return Err(self.silence(status.message()));
            }
            sleep(pause).await;
        }
    }

    fn silence(&self, why: &str) -> ClientError {
        let endpoints: Vec<&str> = self.endpoints.iter().map(Endpoint::address).collect();
        ClientError::Silence { endpoints: endpoints.join(", "), why: why.to_owned() }
    }
}

/// What to do about something that was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not done, wherever it is asked.
    Refused,
    /// The same member may do it soon.
    Again,
    /// Another member may do it.
    Elsewhere,
}

/// What to do about it.
pub(crate) fn fate(status: &Status) -> Fate {
    // What the service says has no source; what the connection says has.
    let is_transports = std::error::Error::source(status).is_some();
    match status.code() {
        _ if is_transports => Fate::Elsewhere,
        Code::ResourceExhausted => Fate::Again,
        Code::Unavailable => {
            let words = status.message();
            let is_passing = ["leader changed", "previous leader failure"];
            match is_passing.iter().any(|it| words.contains(it)) {
                true => Fate::Again,
                false => Fate::Elsewhere,
            }
        }
        // A token has expired: with another connection comes another.
        Code::DeadlineExceeded | Code::Cancelled | Code::Unauthenticated => Fate::Elsewhere,
        _ => Fate::Refused,
    }
}

/// The service says no.
pub(crate) fn refused(status: &Status) -> ClientError {
    ClientError::Refused { code: status.code(), message: status.message().to_owned() }
}

/// Pauses that become longer, and are not those of all others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pauses {
    taken: u32,
}

impl Pauses {
    /// How long to wait this time: between half of it and all.
    pub(crate) fn next(&mut self) -> Duration {
        let longest = (PAUSE.0 * (1 << self.taken.min(10))).min(PAUSE.1);
        self.taken += 1;
        longest.mul_f64(0.5 + 0.5 * fastrand::f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_member_cannot_do_now_is_asked_again_and_what_it_will_not_do_is_not() {
        let fates = [
            (Status::unavailable("etcdserver: no leader"), Fate::Elsewhere),
            (Status::unavailable("etcdserver: leader changed"), Fate::Again),
            (Status::resource_exhausted("etcdserver: too many requests"), Fate::Again),
            (Status::not_found("etcdserver: requested lease not found"), Fate::Refused),
            (Status::unknown("mutex: session is expired"), Fate::Refused),
        ];
        for (status, expected) in fates {
            assert_eq!(fate(&status), expected, "{status}");
        }
        let broken = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(fate(&Status::from_error(broken.into())), Fate::Elsewhere);
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let mut pauses = Pauses::default();
        let taken: Vec<Duration> = (0..20).map(|_| pauses.next()).collect();
        assert!(taken[0] <= PAUSE.0 && taken[19] >= PAUSE.1 / 2, "{taken:?}");
        assert!(taken.iter().all(|pause| *pause <= PAUSE.1), "{taken:?}");
    }
}
