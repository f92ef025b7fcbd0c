//! Records the changes of all queues, in the order in which the service reports them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tenure_client::{Client, LockQueueChange};
use tokio::runtime::Runtime;

use super::claim_record::now;
use super::held::QUEUES;
use super::judge::Observed;

/// Time limit for each of three waits: until the service accepts a connection, until it elects a
/// leader, and until it has reported the ends of all claims.
const TIME_LIMIT: Duration = Duration::from_secs(180);

/// Connects to a service. Repeats attempts, because the members may start late.
pub(super) async fn connected(endpoints: &[String]) -> Client {
    let started = Instant::now();
    loop {
        match Client::connect(endpoints).await {
            Ok(client) => return client,
            Err(error) => assert!(started.elapsed() < TIME_LIMIT, "{error}"),
        }
    }
}

/// Observer of all queues. This process is never suspended.
pub(super) struct Observer {
    log: Arc<Mutex<Vec<Observed>>>,
    // Runtime of the tasks that observe. When the runtime is dropped, the tasks end.
    _runtime: Runtime,
}

impl Observer {
    /// Starts to observe once the service has a leader.
    pub(super) fn start(endpoints: &[String]) -> Observer {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().expect("a runtime");
        let log: Arc<Mutex<Vec<Observed>>> = Arc::default();
        let client = runtime.block_on(async {
            let client = connected(endpoints).await;
            let started = Instant::now();
            while let Err(error) = client.session(Duration::from_secs(10)).await {
                assert!(started.elapsed() < TIME_LIMIT, "no leader: {error}");
            }
            client
        });
        for queue in QUEUES {
            let (mut changes, log) = (client.lock_queue_changes(queue, 1), log.clone());
            runtime.spawn(async move {
                loop {
                    let change = changes.next().await;
                    log.lock().expect("not poisoned").push((now(), change));
                }
            });
        }
        Observer { log, _runtime: runtime }
    }

    /// Waits until the log contains the end of each claim whose fencing token is in `fences`.
    /// Returns the log.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of missing ends after the time limit.
    pub(super) fn finish(&self, fences: &[u64]) -> Result<Vec<Observed>, String> {
        let started = Instant::now();
        loop {
            let log = self.log.lock().expect("not poisoned").clone();
            let missing = missing(&log, fences);
            if missing == 0 {
                return Ok(log);
            }
            if started.elapsed() > TIME_LIMIT {
                return Err(format!("the log lacks the ends of {missing} claims"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn missing(log: &[Observed], fences: &[u64]) -> usize {
    let mut queued = std::collections::BTreeMap::new();
    let mut ended = std::collections::BTreeSet::new();
    for (_, change) in log {
        match change {
            LockQueueChange::AddedOrChanged { key, fence, .. } => {
                queued.insert(key, *fence);
            }
            LockQueueChange::Left { key, .. } => ended.extend(queued.remove(key)),
            LockQueueChange::HistoryCompacted => {}
        }
    }
    fences.iter().filter(|fence| !ended.contains(fence)).count()
}
