//! One node: what `tenure node` runs.

use std::convert::Infallible;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tenure_runtime::transport::{Keyring, View};
use tenure_runtime::{Leadership, Running};
use tenure_trace::Record;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep, timeout};

use crate::boot::{Node, NodeError, outcome};
use crate::config::Config;
use crate::keys;
use crate::office::Offices;
use crate::page::{About, LivePage, PageError, Source};
use crate::report::Report;
use crate::work::{self, Figures, WorkError};

/// How long a node waits for its peers before it starts the first election without them.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a node tells how far its work has got.
const PROGRESS: Duration = Duration::from_millis(200);

/// Runs a node of one of these offices until `stop` is done, telling `report` how it goes.
///
/// # Errors
///
/// [`NodeError`]; what was saved is safe, and nothing is left running.
pub async fn run(
    config: Config,
    offices: Offices,
    stop: impl Future<Output = ()>,
    mut report: impl FnMut(Report),
) -> Result<(), NodeError> {
    let page = page(&config)?;
    let (page, watcher) = page.unzip();
    let started = Node::start_watched(&config, offices, watcher)?;
    let Node { lock, leadership, running, session, keyring, .. } = started;
    let Running { address, view, mut task, .. } = running;
    let me = config.me();
    report(Report::Ready { process: me.number(), address, session });
    if let Some(page) = &page {
        report(Report::Page { url: page.url().to_owned() });
    }
    let figures = Figures::default();
    let higher = u64::from(config.size() - me.number());
    let turn = Duration::from_millis(higher * config.detector.message_ms);
    let mut labour = {
        let (plan, figures, leadership) =
            (config.work.clone(), figures.clone(), leadership.clone());
        tokio::spawn(async move {
            first_election(view, leadership, turn).await;
            match plan {
                Some(plan) => work::run(plan, me, lock, figures).await,
                // The lock is kept, or the node would have no user left and stop.
                None => std::future::pending().await,
            }
        })
    };
    let ended = tokio::select! {
        () = stop => Ok(()),
        failed = watch(leadership, &mut labour, &figures, &mut report) => Err(failed),
        never = reread_keys(&config, keyring) => match never {},
        stopped = &mut task => return Ok(outcome(stopped)?),
    };
    if !labour.is_finished() {
        labour.abort();
        let _ = labour.await;
    }
    outcome(task.await)?;
    if let Some(page) = page {
        page.finish(&serde_json::Value::Null);
    }
    ended
}

/// Reads the keys again whenever this process is sent HUP. If something is wrong with them, those
/// that were read before stay.
async fn reread_keys(config: &Config, keyring: Option<Keyring>) -> Infallible {
    let (Some(keyring), Ok(mut hangup)) = (keyring, signal(SignalKind::hangup())) else {
        return std::future::pending().await;
    };
    while hangup.recv().await.is_some() {
        match keys::keys(&config.cluster, config.me()) {
            Ok(Some(keys)) => {
                keyring.replace(keys);
                tracing::info!("the keys were read again");
            }
            Ok(None) => {}
            Err(error) => tracing::warn!("the keys that were read before stay: {error}"),
        }
    }
    std::future::pending().await
}

/// The page that is asked for, and who is to be told what it shows.
fn page(config: &Config) -> Result<Option<(LivePage, Sender<Record>)>, PageError> {
    let Some(page) = &config.page else { return Ok(None) };
    let about = About {
        title: format!("{} of {}", config.me(), config.cluster.name),
        mutex: config.service.mutex.clone(),
        election: config.service.election.clone(),
        size: config.size(),
        own: Some(config.me().number()),
    };
    let (tell, told) = channel();
    let source = Source::Node(told);
    LivePage::open(page.listen, about, source).map(|page| Some((page, tell)))
}

/// Asks for a leader once the peers are there; a node that comes back does so by itself.
///
/// The highest asks at once and the others in turn, each only if nobody leads by then: were all
/// to ask at once, every request would start an election of its own.
async fn first_election(view: View, mut leadership: Leadership, turn: Duration) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && !view.peers().iter().all(|peer| peer.connected) {
        sleep(Duration::from_millis(2)).await;
    }
    if leadership.now().is_none() && timeout(turn, leadership.changed()).await.is_err() {
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
