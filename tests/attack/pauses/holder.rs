//! A holder process. The process acquires locks of every kind, writes to the resources that these
//! locks guard, and records its claims. The test suspends the process at random times.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use tenure_client::{Client, ClientError, Code, FenceError, FenceFile, Session};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::claim_record::{ClaimRecord, nanoseconds, now};
use super::held::{Held, Kind, Part, acquire};
use super::observer::connected;

/// Environment variable that makes this test program run as a holder process. The value of the
/// variable is the configuration of the holder, as JSON.
const CONFIG_VARIABLE: &str = "TENURE_TEST_HOLDER";

/// Interval at which a holder reads the deadline of its lock.
const CHECK_INTERVAL: Duration = Duration::from_millis(3);

/// Time for which a disobedient holder claims the lock after its deadline, in percent of the time
/// to live. The deadline is at 98 % of the time to live, and the claim ends at 120 %.
const EXCESS_PERCENT: u64 = 22;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HolderConfig {
    pub(super) endpoints: Vec<String>,
    /// Directory of the resources, and of the file whose existence ends the run.
    pub(super) folder: PathBuf,
    pub(super) number: u64,
    pub(super) seed: u64,
    /// Time to live of the leases, in seconds.
    pub(super) ttl: u64,
    /// True if the holder obeys its deadlines. In a control experiment, the holder ignores its
    /// deadlines, and the value is false.
    pub(super) obeys: bool,
}

impl HolderConfig {
    fn records(&self) -> PathBuf {
        self.folder.join(format!("claims-{}", self.number))
    }

    fn is_over(&self) -> bool {
        end_file(&self.folder).exists()
    }
}

/// Returns the path of the file whose existence ends the run.
pub(super) fn end_file(folder: &Path) -> PathBuf {
    folder.join("end")
}

/// Returns the paths of two files with fencing tokens of writes to a resource. The first file lists
/// the writes that the guard accepted, and the second file lists all writes.
pub(super) fn write_logs(folder: &Path, resource: &str) -> [PathBuf; 2] {
    ["accepted", "all"].map(|kind| folder.join(format!("{resource}.{kind}")))
}

/// A holder process, which is killed when this value is dropped.
pub(super) struct Holder {
    pub(super) child: Child,
    config: HolderConfig,
}

impl Holder {
    pub(super) fn start(config: HolderConfig) -> Holder {
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["pauses::holder::run_holder", "--exact", "--ignored", "--nocapture"])
            .env(CONFIG_VARIABLE, serde_json::to_string(&config).expect("JSON"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        Holder { child, config }
    }

    pub(super) fn claims(&self) -> Vec<ClaimRecord> {
        let text = std::fs::read_to_string(self.config.records()).unwrap_or_default();
        // The last line may be incomplete while the process runs.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| serde_json::from_str(line).expect("a record")).collect()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "a holder for other tests, which start it"]
fn run_holder() {
    let Ok(config) = std::env::var(CONFIG_VARIABLE) else { return };
    let config: HolderConfig = serde_json::from_str(&config).expect("a configuration");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(hold_all_kinds(config));
    // Ends the process before the test harness prints a report, which the parent does not read.
    std::process::exit(0);
}

async fn hold_all_kinds(config: HolderConfig) {
    now();
    nanoseconds(std::time::Instant::now());
    let records = File::create(config.records()).expect("a file");
    let client = connected(&config.endpoints).await;
    let (config, records) = (Arc::new(config), Arc::new(Mutex::new(records)));
    let tasks = Kind::ALL.into_iter().enumerate().map(|(place, kind)| {
        let rng = Rng::with_seed(config.seed << 16 | config.number << 8 | place as u64);
        let (client, config, records) = (client.clone(), config.clone(), records.clone());
        tokio::spawn(Work { client, config, records, kind, rng }.run())
    });
    let tasks: Vec<_> = tasks.collect();
    for task in tasks {
        task.await.expect("no panic");
    }
}

/// A task of a holder that acquires and releases locks of one kind.
struct Work {
    client: Client,
    config: Arc<HolderConfig>,
    records: Arc<Mutex<File>>,
    kind: Kind,
    rng: Rng,
}

impl Work {
    async fn run(mut self) {
        let mut session: Option<Session> = None;
        while !self.config.is_over() {
            let ended = {
                let config = self.config.clone();
                async move {
                    while !config.is_over() {
                        sleep(Duration::from_millis(20)).await;
                    }
                }
            };
            let acquired = tokio::select! {
                acquired = next(
                    &self.client, &mut session, self.kind, &self.config, &mut self.rng,
                ) => acquired,
                () = ended => break,
            };
            match acquired {
                Ok(Some(held)) => self.hold(held).await,
                Ok(None) => {}
                // The service has ended the lease.
                Err(ClientError::Rejected { code: Code::NotFound, .. }) => session = None,
                Err(ClientError::Rejected { code, message }) => {
                    panic!("{:?}: {code:?}: {message}", self.kind);
                }
                // The session has ended, or no member responds.
                Err(_) => session = None,
            }
            sleep(Duration::from_millis(self.rng.u64(2..30))).await;
        }
        if let Some(session) = session {
            let _ = session.close().await;
        }
    }

    /// Holds a lock for a random time, writes to its resources, and records its claims.
    async fn hold(&mut self, held: Held) {
        let granted = now();
        let release_at = granted + self.rng.u64(30..500) * 1_000_000;
        let exclusive = held.parts.iter().filter(|part| part.is_exclusive());
        let mut writers: Vec<Writer> =
            exclusive.map(|part| Writer::start(&self.config.folder, part)).collect();
        // The deadline stays 0 if the lock is lost before the first read.
        let (mut deadline, mut is_lost) = (0, false);
        while !is_lost && now() < release_at {
            match held.deadline() {
                Some(time) => deadline = nanoseconds(time),
                None => is_lost = true,
            }
            sleep(CHECK_INTERVAL).await;
        }
        is_lost |= held.deadline().is_none();
        let mut until = deadline;
        if is_lost && !self.config.obeys && deadline > 0 {
            until += self.config.ttl * 1_000_000_000 / 100 * EXCESS_PERCENT;
            while now() < until {
                sleep(CHECK_INTERVAL).await;
            }
        }
        // `Writer::stop` may block: the writer may have to wait for the guard of its resource while
        // a suspended process uses this guard.
        let stopped = spawn_blocking(move || writers.iter_mut().for_each(Writer::stop));
        stopped.await.expect("no panic");
        until = until.min(now());
        self.record(&held, granted, until);
        held.release(self.rng.bool()).await;
    }

    fn record(&self, held: &Held, granted: u64, until: u64) {
        for part in held.parts.iter().cloned() {
            let Part { group, key, fence, weight, capacity } = part;
            let group = group.to_owned();
            let record = ClaimRecord { group, key, fence, weight, capacity, granted, until };
            let line = serde_json::to_string(&record).expect("JSON") + "\n";
            let mut records = self.records.lock().expect("not poisoned");
            records.write_all(line.as_bytes()).expect("a write");
        }
    }
}

/// Acquires the next lock. If the previous session has ended, starts a new one.
async fn next(
    client: &Client,
    session: &mut Option<Session>,
    kind: Kind,
    config: &HolderConfig,
    rng: &mut Rng,
) -> Result<Option<Held>, ClientError> {
    let alive = session.take().filter(|session| session.loss_reason().is_none());
    let alive = match alive {
        Some(alive) => alive,
        None => client.session(Duration::from_secs(config.ttl)).await?,
    };
    *session = Some(alive.clone());
    acquire(&alive, kind, rng).await
}

/// Thread that writes to a resource while a lock is held. The thread ignores the deadline of the
/// lock, and therefore writes too late after a suspension.
struct Writer {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn start(folder: &Path, part: &Part) -> Writer {
        let ends = Arc::new(AtomicBool::new(false));
        let (is_over, folder, fence, group) =
            (ends.clone(), folder.to_owned(), part.fence, part.group);
        let thread = std::thread::spawn(move || {
            let guard = FenceFile::new(folder.join(format!("{group}.fence")));
            let [accepted, all] = write_logs(&folder, group);
            while !is_over.load(Ordering::Relaxed) {
                write(&all, fence);
                match guard.admit(fence) {
                    Ok(_admission) => write(&accepted, fence),
                    Err(FenceError::Stale { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                std::thread::sleep(CHECK_INTERVAL);
            }
        });
        Writer { ends, thread: Some(thread) }
    }

    fn stop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

/// Appends a fencing token to a file in a single write.
fn write(path: &Path, fence: u64) {
    let file = File::options().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{fence}\n").as_bytes()));
    written.expect("a write");
}
