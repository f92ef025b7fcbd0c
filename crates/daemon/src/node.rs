//! One node: what `tenure node` runs.

use std::fs;
use std::io;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

use tenure_algorithms::catalogue::{self, OfficeVisitor, Parameters, Unknown};
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::compose::{Detected, detected};
use tenure_algorithms::detector::{Heartbeat, heartbeat};
use tenure_core::{Algorithm, Card, Delay, Office, TICKS_PER_UNIT};
use tenure_runtime::store::OpenError;
use tenure_runtime::transport::{Limits, Listen, Secret, SecretTooShort, Settings, View};
use tenure_runtime::{
    Asks, Failure, Front, Injection, Leadership, Parts, Recorder, Running, StartError, Store, start,
};
use tenure_trace::{AppendError, ClockUnit, Header, Source, Writer};
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep};

use crate::config::Config;
use crate::report::Report;
use crate::work::{self, Figures, WorkError};

/// How long a node waits for its peers before it starts the first election without them.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a node tells how far its work has got.
const PROGRESS: Duration = Duration::from_millis(200);

/// Why a node did not start, or could not go on.
#[derive(Debug, Error)]
pub enum NodeError {
    /// There is no such algorithm.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The secret's file cannot be read.
    #[error("{}: the secret cannot be read: {source}", path.display())]
    SecretFile {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The secret is too short to be one.
    #[error(transparent)]
    Secret(#[from] SecretTooShort),
    /// The address at which this node should listen means nothing.
    #[error("this node cannot listen at `{address}`: {says}")]
    Address {
        /// As configured.
        address: String,
        /// Why not.
        says: String,
    },
    /// What was saved cannot be had.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The trace cannot be continued.
    #[error(transparent)]
    Trace(#[from] AppendError),
    /// The transport or the protocol did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The node stopped: its state or its trace could not be written.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The work could not be done.
    #[error("{0}")]
    Work(String),
}

impl NodeError {
    /// Whether the configuration is to blame, rather than the machine.
    pub fn is_misconfiguration(&self) -> bool {
        matches!(
            self,
            NodeError::Unknown(_)
                | NodeError::SecretFile { .. }
                | NodeError::Secret(_)
                | NodeError::Address { .. }
        )
    }
}

/// Runs a node until `stop` is done, telling `report` how it goes.
///
/// # Errors
///
/// [`NodeError`]; what was saved is safe, and nothing is left running.
pub async fn run(
    config: Config,
    stop: impl Future<Output = ()>,
    mut report: impl FnMut(Report),
) -> Result<(), NodeError> {
    let (front, lock, leadership, asks) = Front::new();
    let (running, session) = boot(&config, front, asks)?;
    let me = config.me();
    let address = running.address;
    report(Report::Ready { process: me.number(), address, session });
    let Running { view, mut task, .. } = running;
    let figures = Figures::default();
    let mut labour = {
        let (plan, figures, leadership) =
            (config.work.clone(), figures.clone(), leadership.clone());
        tokio::spawn(async move {
            first_election(view, leadership, session).await;
            match plan {
                Some(plan) => work::run(plan, me, lock, figures).await,
                // The lock is kept, or the node would have no user left and stop.
                None => std::future::pending().await,
            }
        })
    };
    let outcome = tokio::select! {
        () = stop => Ok(()),
        failed = watch(leadership, &mut labour, &figures, &mut report) => Err(failed),
        ended = &mut task => return ended_early(ended),
    };
    labour.abort();
    let _ = labour.await;
    ended_early(task.await).and(outcome)
}

fn ended_early(
    ended: Result<Result<(), Failure>, tokio::task::JoinError>,
) -> Result<(), NodeError> {
    match ended {
        Ok(result) => Ok(result?),
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// Asks for a leader once the peers are there; a node that comes back does so by itself.
async fn first_election(view: View, leadership: Leadership, session: u64) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && !view.peers().iter().all(|peer| peer.connected) {
        sleep(Duration::from_millis(2)).await;
    }
    if session == 1 || leadership.now().is_none() {
        let _ = leadership.elect();
    }
}

/// Reports who leads and how the work goes; returns only when the work fails.
async fn watch(
    mut leadership: Leadership,
    labour: &mut JoinHandle<Result<(), WorkError>>,
    figures: &Figures,
    report: &mut impl FnMut(Report),
) -> NodeError {
    let mut ticks = interval(PROGRESS);
    let (mut term, mut done) = (0, false);
    loop {
        tokio::select! {
            changed = leadership.changed() => match changed {
                Ok(Some(now)) => {
                    term = now.number;
                    report(Report::Elected { leader: now.leader.number(), term });
                }
                Ok(None) => report(Report::Deposed { term }),
                Err(_) => std::future::pending().await,
            },
            _ = ticks.tick(), if !done => {
                let (entries, refused) = figures.read();
                report(Report::Progress { entries, refused });
            }
            ended = &mut *labour, if !done => {
                match ended {
                    Ok(Ok(())) => done = true,
                    Ok(Err(error)) => return NodeError::Work(error.to_string()),
                    Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
                }
                let (entries, refused) = figures.read();
                report(Report::Done { entries, refused });
            }
        }
    }
}

/// Opens what the node stands on and starts its process.
fn boot(config: &Config, front: Front, asks: Asks) -> Result<(Running, u64), NodeError> {
    let service = &config.service;
    let parameters = Parameters {
        delay: config.detector.message_ms * TICKS_PER_UNIT,
        ..Parameters::plain(config.size())
    };
    let card = ReadCard(config.size());
    let card = catalogue::visit_office(&service.mutex, &service.election, &parameters, card)?;
    let secret = secret(config)?;
    let listen = listen(config)?;
    let adapter = if config.channel.fifo { " over fifo" } else { "" };
    let schema = format!("{}{adapter}", card.name);
    let store = Store::open(&config.store.directory, &schema)?;
    let session = store.session();
    let transport = Settings {
        cluster: config.cluster.name.clone(),
        me: config.me(),
        session,
        listen,
        addresses: config.cluster.addresses.clone(),
        secret,
        limits: Limits::default(),
    };
    let seed = config.work.as_ref().map_or(0, |work| work.seed);
    let channel = &config.channel;
    let faults = seed ^ u64::from(config.cluster.me) << 48 ^ session << 32;
    let injection = Injection::new(channel.lose, channel.duplicate, faults);
    let recorder = recorder(config, &card)?;
    let materials = Materials { config, transport, store, front, asks, recorder, injection };
    let running =
        catalogue::visit_office(&service.mutex, &service.election, &parameters, materials)??;
    Ok((running, session))
}

fn secret(config: &Config) -> Result<Option<Secret>, NodeError> {
    let Some(path) = &config.cluster.secret_file else { return Ok(None) };
    let failed = |source| NodeError::SecretFile { path: path.clone(), source };
    let bytes = fs::read(path).map_err(failed)?;
    Ok(Some(Secret::new(bytes.trim_ascii())?))
}

fn listen(config: &Config) -> Result<Listen, NodeError> {
    let address = &config.cluster.addresses[config.me().index()];
    let failed = |says: String| NodeError::Address { address: address.clone(), says };
    let mut resolved = address.to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    let first = resolved.next().ok_or_else(|| failed("the name has no address".into()))?;
    Ok(Listen::Address(first))
}

fn recorder(config: &Config, card: &Card) -> Result<Recorder, NodeError> {
    let Some(trace) = &config.trace else { return Ok(Recorder::none()) };
    let header = Header {
        clock: ClockUnit::Nanosecond,
        promises: card.promises.iter().map(|promise| promise.name().to_string()).collect(),
        seed: config.work.as_ref().map(|work| work.seed),
        ..Header::new(card.name.clone(), card.service.into(), config.size(), Source::Node)
    };
    Ok(Recorder::to(Writer::append(&trace.file, &header)?, trace.clocks))
}

struct ReadCard(u32);

impl OfficeVisitor for ReadCard {
    type Output = Card;

    fn office<P: Office + Algorithm>(self, config: P::Config) -> Card {
        P::card(&config, self.0)
    }
}

/// What a node is made of, before its protocol is known.
struct Materials<'a> {
    config: &'a Config,
    transport: Settings,
    store: Store,
    front: Front,
    asks: Asks,
    recorder: Recorder,
    injection: Injection,
}

impl OfficeVisitor for Materials<'_> {
    type Output = Result<Running, StartError>;

    /// Heartbeats stay outside the reliable channel: a late one is worth nothing.
    fn office<P: Office + Algorithm>(self, config: P::Config) -> Self::Output {
        let detector = detector(self.config);
        if self.config.channel.fifo {
            let resend = Delay::ticks(self.config.detector.message_ms * TICKS_PER_UNIT / 2);
            let inner = fifo::Config { resend, ..fifo::Config::around(config) };
            self.start::<Fifo<P>>(detected::Config { detector, inner })
        } else {
            self.start::<P>(detected::Config { detector, inner: config })
        }
    }
}

impl Materials<'_> {
    fn start<P: Office>(
        self,
        config: detected::Config<heartbeat::Config, P::Config>,
    ) -> Result<Running, StartError> {
        start::<Detected<Heartbeat, P>, Front>(Parts {
            config,
            transport: self.transport,
            store: self.store,
            local: self.front,
            asks: self.asks,
            recorder: self.recorder,
            injection: self.injection,
        })
    }
}

fn detector(config: &Config) -> heartbeat::Config {
    let detector = &config.detector;
    heartbeat::Config {
        period: Delay::units(detector.period_ms),
        timeout: Delay::units(detector.timeout_ms).max,
        increment: Delay::units(detector.increment_ms).max,
        longest: Delay::units(detector.longest_ms).max,
    }
}
