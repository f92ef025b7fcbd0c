//! One node: what `tenure node` runs.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tenure_core::Fence;
use tenure_runtime::transport::{Keyring, View};
use tenure_runtime::{Leadership, Running};
use tenure_trace::Record;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::boot::{Node, NodeError, outcome};
use crate::config::Config;
use crate::keys;
use crate::office::Offices;
use crate::page::{About, LivePage, PageError, Source};
use crate::report::Report;
use crate::status::{Observer, Subject};
use crate::watching::{Watching, watch};
use crate::work::{self, Figures};

/// How long a node waits for its peers before it starts the first election without them.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a node tells of, beside what it always does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Telling {
    /// Every entry of its work.
    pub grants: bool,
}

/// Runs a node of one of these offices until `stop` is done, telling `report` how it goes.
///
/// # Errors
///
/// [`NodeError`]; what was saved is safe, and nothing is left running.
pub async fn run(
    config: Config,
    offices: Offices,
    telling: Telling,
    stop: impl Future<Output = ()> + Send,
    mut report: impl FnMut(Report) + Send,
) -> Result<(), NodeError> {
    running(config, offices, telling, pin!(stop), &mut report).await
}

/// In a box, so that a node is compiled here and as this crate is. What an `async fn` does is
/// compiled where somebody polls it.
fn running<'a>(
    config: Config,
    offices: Offices,
    telling: Telling,
    stop: Stop<'a>,
    report: Reports<'a>,
) -> Pin<Box<dyn Future<Output = Result<(), NodeError>> + Send + 'a>> {
    Box::pin(run_until(config, offices, telling, stop, report))
}

/// When it is to end.
pub(crate) type Stop<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send + 'a)>;

/// Who is told how it goes.
pub(crate) type Reports<'a> = &'a mut (dyn FnMut(Report) + Send + 'a);

async fn run_until(
    config: Config,
    offices: Offices,
    telling: Telling,
    stop: Stop<'_>,
    report: Reports<'_>,
) -> Result<(), NodeError> {
    if let Some(log) = config.log.clone() {
        return crate::log::run(config, log, stop, report).await;
    }
    let subject = Subject::of(&config);
    let page = page(&config, &subject)?;
    let (page, watcher) = page.unzip();
    let started = Node::start_watched(&config, offices, watcher)?;
    let Node { lock, leadership, running, session, keyring, .. } = started;
    let Running { address, view, saves, present, mut task } = running;
    subject.runs(session, view.clone(), saves);
    let me = config.me();
    report(Report::Ready { process: me.number(), address, session });
    if let Some(page) = &page {
        report(Report::Page { url: page.url().to_owned() });
    }
    let (figures, granted) = figures(telling);
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
    let works = config.work.is_some();
    let watching = Watching { leadership, present, works, figures, granted };
    let ended = tokio::select! {
        () = stop => Ok(()),
        failed = watch(watching, &mut labour, report) => Err(failed),
        never = reread_keys(&config, keyring) => match never {},
        stopped = &mut task => return Ok(outcome(stopped)?),
    };
    tracing::info!("{me} leaves");
    leave(labour, task).await?;
    if let Some(page) = page {
        page.finish(&serde_json::Value::Null);
    }
    ended
}

/// Ends the work, and with it the node, whose last users are gone then: it hands over what it
/// leads and says goodbye.
async fn leave<W>(
    labour: JoinHandle<W>,
    task: JoinHandle<Result<(), tenure_runtime::Failure>>,
) -> Result<(), NodeError> {
    if !labour.is_finished() {
        labour.abort();
        let _ = labour.await;
    }
    Ok(outcome(task.await)?)
}

/// Where the work is counted, and where every entry is told if somebody wants to know.
fn figures(telling: Telling) -> (Figures, UnboundedReceiver<Fence>) {
    let (tell, granted) = unbounded_channel();
    (if telling.grants { Figures::telling(tell) } else { Figures::default() }, granted)
}

/// Reads the keys again whenever this process is sent HUP. If something is wrong with them, those
/// that were read before stay; where there are none, nothing happens.
async fn reread_keys(config: &Config, keyring: Option<Keyring>) -> Infallible {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        return std::future::pending().await;
    };
    while hangup.recv().await.is_some() {
        let keys = keys::keys(&config.cluster, config.me());
        match (keys, &keyring) {
            (Ok(Some(keys)), Some(keyring)) => {
                keyring.replace(keys);
                tracing::info!("the keys were read again");
            }
            (Ok(_), _) => tracing::info!("there are no keys to be read again"),
            (Err(error), _) => tracing::warn!("the keys that were read before stay: {error}"),
        }
    }
    std::future::pending().await
}

/// The page that is asked for, and who is to be told what it shows.
fn page(
    config: &Config,
    subject: &Arc<Subject>,
) -> Result<Option<(LivePage, Sender<Record>)>, PageError> {
    let Some(page) = &config.page else { return Ok(None) };
    let about = About {
        title: format!("{} of {}", config.me(), config.cluster.name),
        mutex: config.service.mutex.clone(),
        election: config.service.election.clone(),
        size: config.size(),
        own: Some(config.me().number()),
    };
    let (tell, told) = channel();
    // Whoever may look still may when the node has been started again.
    let token = config.store.directory.join("page.token");
    let source = Source::Node(Box::new(Observer::new(subject.clone(), told)));
    LivePage::open(page.listen, Some(token), about, source).map(|page| Some((page, tell)))
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
