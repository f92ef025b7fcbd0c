//! Who keeps a session alive: the core decides, this has the clock and the line.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames;
use tenure_session::{Act, Session, Side, Timer, Times};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tonic::Code;

use crate::client::PATIENCE;
use crate::clock::now;
use crate::error::{ClientError, Lost};
use crate::line::{Line, Pauses};

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It may be claimed until then.
    Until(Instant),
    /// It is over, and the service is being told.
    Closing,
    /// It is over.
    Over(Ending),
}

/// How a session has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    lost: Lost,
    /// Why the service did not end the lease, where it was asked to.
    failure: Option<ClientError>,
}

impl Standing {
    /// Why it is over.
    pub(crate) const fn lost(&self) -> Lost {
        match self {
            Standing::Over(Ending { lost, .. }) => *lost,
            Standing::Until(_) | Standing::Closing => Lost::Closed,
        }
    }

    /// Why it is over by now, if it is.
    pub(crate) fn ended(&self) -> Option<Lost> {
        match self {
            Standing::Until(deadline) => (*deadline <= now()).then_some(Lost::Silence),
            over => Some(over.lost()),
        }
    }

    /// What is wrong with how it ended.
    pub(crate) fn failure(&self) -> Option<ClientError> {
        match self {
            Standing::Over(ending) => ending.failure.clone(),
            Standing::Until(_) | Standing::Closing => Some(ClientError::Silence {
                endpoints: "the service".into(),
                why: "nobody confirmed that the lease has ended".into(),
            }),
        }
    }
}

/// What a renewal was answered.
enum Answer {
    /// The lease lives.
    Lives,
    /// There is none.
    Gone,
    /// Nobody said anything.
    Nothing,
}

type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Keeps a session alive.
pub(crate) struct Keeper {
    line: Arc<Line>,
    id: i64,
    times: Times,
    core: Session,
    /// When the timers fire, those of the deadlines by their sides.
    deadlines: [Option<Instant>; 2],
    renewal: Option<Instant>,
    /// A question under way, and its number.
    asking: Option<(u64, Asking)>,
    pauses: Pauses,
    standing: watch::Sender<Standing>,
}

impl Keeper {
    /// For a lease that was asked for at that moment, and was granted; nothing if it may be over.
    pub(crate) fn new(
        line: Arc<Line>,
        id: i64,
        times: Times,
        sent: Instant,
    ) -> Option<(Keeper, watch::Receiver<Standing>)> {
        let (standing, watching) = watch::channel(Standing::Until(sent));
        let mut keeper = Keeper {
            line,
            id,
            times,
            core: Session::new(u64::MAX),
            deadlines: [None; 2],
            renewal: None,
            asking: None,
            pauses: Pauses::default(),
            standing,
        };
        let asked = keeper.core.renew(&times);
        keeper.perform(asked, sent);
        // This question was asked by the grant.
        keeper.asking = None;
        keeper.fire_deadlines();
        let answered = keeper.core.answered(keeper.core.round());
        keeper.perform(answered, sent);
        keeper.core.is_alive().then_some((keeper, watching))
    }

    /// Has it kept alive until it is over, or nobody wants it any more.
    pub(crate) fn start(self, closing: mpsc::Receiver<()>) {
        tokio::spawn(self.run(closing));
    }

    async fn run(mut self, mut closing: mpsc::Receiver<()>) {
        while self.core.ended().is_none() {
            // A deadline that has passed comes before anything that has arrived: this process may
            // have been stopped.
            if self.fire_deadlines() {
                continue;
            }
            let timers = self.deadlines.into_iter().chain([self.renewal]).flatten();
            let next = timers.min().unwrap_or_else(|| now() + PATIENCE);
            let asking = async {
                match &mut self.asking {
                    Some((round, asking)) => (*round, asking.await),
                    None => std::future::pending().await,
                }
            };
            let waking = self.line.waking.clone();
            tokio::select! {
                biased;
                () = waking.reached(next) => self.fire_renewal(),
                _ = closing.recv() => {
                    let acts = self.core.close();
                    self.perform(acts, now());
                }
                (round, answer) = asking => {
                    self.asking = None;
                    self.fire_deadlines();
                    self.take(round, &answer);
                }
            }
        }
        let lost = self.core.ended().map_or(Lost::Closed, Lost::from);
        self.end(lost).await;
    }

    fn take(&mut self, round: u64, answer: &Answer) {
        let now = now();
        let acts = match answer {
            Answer::Lives => {
                self.pauses = Pauses::default();
                self.core.answered(round)
            }
            Answer::Gone => self.core.gone(),
            Answer::Nothing => {
                // It is asked again soon, of another member.
                let soon = now + self.pauses.next();
                self.renewal = self.renewal.map(|due| due.min(soon));
                Vec::new()
            }
        };
        self.perform(acts, now);
    }

    /// Fires the deadlines that have passed; whether there were any.
    fn fire_deadlines(&mut self) -> bool {
        let now = now();
        let mut any = false;
        for (place, side) in [(0, Side::Left), (1, Side::Right)] {
            if self.deadlines[place].take_if(|due| *due <= now).is_some() {
                any = true;
                let acts = self.core.fired(Timer::Deadline(side), &self.times);
                self.perform(acts, now);
            }
        }
        any
    }

    fn fire_renewal(&mut self) {
        let now = now();
        if self.renewal.take_if(|due| *due <= now).is_some() {
            let acts = self.core.fired(Timer::Renewal, &self.times);
            self.perform(acts, now);
        }
    }

    /// Does what the core says, with timers that begin at that moment.
    fn perform(&mut self, acts: Vec<Act>, from: Instant) {
        for act in acts {
            match act {
                Act::Arm(Timer::Deadline(side), after) => {
                    self.deadlines[place(side)] = Some(from + Duration::from_nanos(after));
                }
                Act::Arm(Timer::Renewal, after) => {
                    self.renewal = Some(from + Duration::from_nanos(after));
                }
                Act::Disarm(Timer::Deadline(side)) => self.deadlines[place(side)] = None,
                Act::Disarm(Timer::Renewal) => self.renewal = None,
                Act::Ask { round } => self.asking = Some((round, self.ask())),
                Act::Alive | Act::Lost(_) => {}
            }
        }
        let lives_by = self.core.lives_by().and_then(|side| self.deadlines[place(side)]);
        if let Some(deadline) = lives_by {
            self.standing.send_replace(Standing::Until(deadline));
        }
    }

    /// Asks one member for a renewal. Who has not answered after a quarter of the lease is left.
    fn ask(&self) -> Asking {
        let (line, id) = (self.line.clone(), self.id);
        let patience = Duration::from_nanos(self.times.ttl / 4);
        Box::pin(async move {
            let deadline = Instant::now() + patience;
            let Ok(connection) = line.connection(deadline).await else { return Answer::Nothing };
            // It may have taken that long to find somebody.
            let until = Instant::now() + patience;
            let path = "/etcdserverpb.Lease/LeaseKeepAlive";
            let asked = rpc::LeaseKeepAliveRequest { id };
            let answer = connection.ask_streaming(path, frames::written(&asked));
            let answer = tokio::select! {
                answer = timeout_at(until, answer) => answer,
                () = connection.left() => return Answer::Nothing,
            };
            let answer = answer.ok().and_then(Result::ok).and_then(|it| frames::read(it).ok());
            let Some(rpc::LeaseKeepAliveResponse { header, ttl, .. }) = answer else {
                connection.leave();
                return Answer::Nothing;
            };
            line.heard(header.as_ref());
            match ttl > 0 {
                true => Answer::Lives,
                false => Answer::Gone,
            }
        })
    }

    /// Tells the service, unless it knows or cannot be told, and everybody here.
    async fn end(self, lost: Lost) {
        let mut failure = None;
        match lost {
            Lost::Closed => {
                self.standing.send_replace(Standing::Closing);
                let asked = rpc::LeaseRevokeRequest { id: self.id };
                let path = "/etcdserverpb.Lease/LeaseRevoke";
                let deadline = Instant::now() + PATIENCE;
                let revoked: Result<rpc::LeaseRevokeResponse, _> =
                    self.line.ask(path, asked, deadline).await;
                failure = match revoked {
                    // It is gone already, if only because it was asked twice.
                    Ok(_) | Err(ClientError::Refused { code: Code::NotFound, .. }) => None,
                    Err(error) => Some(error),
                };
            }
            // Who was silent may be heard again; what is done under the lease until then may need
            // what is left of it.
            Lost::Silence | Lost::Gone | Lost::Deleted | Lost::Denied => {}
        }
        self.standing.send_replace(Standing::Over(Ending { lost, failure }));
    }
}

const fn place(side: Side) -> usize {
    match side {
        Side::Left => 0,
        Side::Right => 1,
    }
}
