//! All kinds of locks on an etcd server. The tests do nothing if etcd is not installed.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use tempfile::TempDir;
use tenure_client::{CampaignOptions, Client, ClientError, Session};
use tenure_runtime::ports::reserve_address;
use tokio::time::sleep;

use crate::relay::Relay;
use crate::service::{base64, http_response, joined, spawn_with, within};
use crate::skipped::report_skip;

/// A process of etcd, which is killed when this value is dropped.
struct Etcd {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Etcd {
    /// Starts an etcd and waits until it grants leases. If etcd is not installed, prints a message
    /// and returns `None`.
    async fn start() -> Option<Etcd> {
        let folder = tempfile::tempdir().expect("a folder");
        // No other process listens at a reserved port.
        let [address, peer] = [(); 2].map(|()| format!("http://{}", reserve_address()));
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(folder.path());
        command.args(["--listen-client-urls", &address, "--advertise-client-urls", &address]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(process) = command.spawn() else {
            report_skip("etcd (Debian: etcd-server)");
            return None;
        };
        let etcd = Etcd { process, address, _folder: folder };
        within(etcd.is_ready()).await;
        Some(etcd)
    }

    /// Waits until etcd grants a lease.
    async fn is_ready(&self) {
        while Client::connect([&self.address]).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
        let client = Client::connect([&self.address]).await.expect("a connection");
        while client.session(Duration::from_secs(10)).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn session(&self) -> Session {
        let client = Client::connect([&self.address]).await.expect("a connection");
        client.session(Duration::from_secs(30)).await.expect("a session")
    }
}

#[tokio::test]
async fn read_write_locks_and_semaphores_work_at_etcd() {
    let Some(etcd) = Etcd::start().await else { return };
    let (one, other) = (etcd.session().await, etcd.session().await);
    let reader = within(one.read_lock("a")).await.expect("the lock");
    let beside = other.try_read_lock("a").await.expect("an answer").expect("readers share");
    assert!(other.try_write_lock("a").await.expect("an answer").is_none());
    let writes = spawn_with(&other, |other| async move { other.write_lock("a").await });
    reader.release().await.expect("released");
    assert!(!writes.is_finished(), "a reader holds the lock");
    beside.release().await.expect("released");
    let writer = joined(writes).await.expect("the lock");
    assert!(one.try_read_lock("a").await.expect("an answer").is_none());
    writer.release().await.expect("released");

    let mine = within(one.semaphore("s", 3)).await.expect("a semaphore");
    let theirs = within(other.semaphore("s", 3)).await.expect("a semaphore");
    let wrong = one.semaphore("s", 4).await.expect_err("the numbers differ");
    assert!(matches!(wrong, ClientError::PermitsMismatch { .. }), "{wrong}");
    let two = within(mine.acquire_many(2)).await.expect("permits");
    let last = theirs.try_acquire().await.expect("an answer").expect("one is free");
    assert!(theirs.try_acquire().await.expect("an answer").is_none());
    let waits = tokio::spawn(async move { theirs.acquire_many(3).await });
    last.release().await.expect("released");
    assert!(!waits.is_finished(), "two permits are in use");
    two.release().await.expect("released");
    joined(waits).await.expect("permits").release().await.expect("released");
}

#[tokio::test]
async fn several_locks_and_barriers_work_at_etcd() {
    let Some(etcd) = Etcd::start().await else { return };
    let (one, other) = (etcd.session().await, etcd.session().await);
    let a = within(one.lock("a")).await.expect("the lock");
    let all = within(other.lock_all(["c", "b"])).await.expect("the locks");
    let plain = spawn_with(&other, |other| async move { other.lock("a").await });
    let failed = within(one.lock_detecting_deadlock("b", &[&a])).await.map(|guard| guard.fence());
    let Err(ClientError::WouldDeadlock { cycle }) = failed else { panic!("no cycle: {failed:?}") };
    let steps: Vec<_> = cycle.iter().map(|step| (step.session, &*step.lock)).collect();
    assert_eq!(steps, [(one.id(), "b"), (other.id(), "a")]);
    drop(a);
    joined(plain).await.expect("the lock").release().await.expect("released");
    all.release().await.expect("released");

    let client = Client::connect([&etcd.address]).await.expect("a connection");
    let barrier = client.barrier("start");
    assert!(barrier.hold().await.expect("an answer"));
    assert!(!barrier.hold().await.expect("an answer"));
    let waits = spawn_with(&barrier, |barrier| async move { barrier.wait().await });
    barrier.release().await.expect("released");
    joined(waits).await.expect("it was released");

    let entering =
        spawn_with(&one.double_barrier("work", 2), |barrier| async move { barrier.enter().await });
    let second = within(other.double_barrier("work", 2).enter()).await.expect("both are in");
    let first = joined(entering).await.expect("both are in");
    let leaving = tokio::spawn(first.leave());
    within(second.leave()).await.expect("both have left");
    joined(leaving).await.expect("both have left");
}

#[tokio::test]
async fn leadership_is_transferred_at_etcd() {
    let Some(etcd) = Etcd::start().await else { return };
    let sessions = [etcd.session().await, etcd.session().await, etcd.session().await];
    let client = Client::connect([&etcd.address]).await.expect("a connection");
    let options = |identity: &str, priority| CampaignOptions::new(identity).priority(priority);
    let first = within(sessions[0].campaign_with("boss", options("one", 0))).await;
    let first = first.expect("elected");
    let mut campaigns = Vec::new();
    for (session, (identity, priority)) in sessions[1..].iter().zip([("two", 0), ("three", 1)]) {
        let (session, options) = (session.clone(), options(identity, priority));
        campaigns.push(tokio::spawn(async move { session.campaign_with("boss", options).await }));
        let waits = async {
            while client.identified_candidates("boss").await.expect("an answer").len()
                == campaigns.len()
            {}
        };
        within(waits).await;
    }
    let requested = within(first.wait_until_transfer_due()).await.expect("a candidate");
    assert_eq!(requested.identity, "three");
    // A request for a transfer to `two` takes precedence over the higher priority of `three`.
    within(client.request_transfer("boss", "two")).await.expect("it waits");
    let requested = within(first.wait_until_transfer_due()).await.expect("a candidate");
    assert_eq!(requested.identity, "two");
    let fence = first.fence();
    within(first.transfer_to("two")).await.expect("it waits");
    let third = campaigns.pop().expect("`three`");
    let second = joined(campaigns.pop().expect("`two`")).await.expect("elected");
    assert!(second.fence() > fence && !third.is_finished());
    within(second.resign()).await.expect("resigned");
    joined(third).await.expect("elected").resign().await.expect("resigned");
}

/// Loses the response to a request for a lock, so that the client repeats the request. After the
/// release of the lock, creates its key again, as a delayed copy of the request does.
#[tokio::test]
async fn reappeared_key_of_released_lock_is_deleted_at_etcd() {
    let Some(etcd) = Etcd::start().await else { return };
    let member = etcd.address.trim_start_matches("http://");
    let (relay, address) = Relay::start(member).await;
    let client = Client::connect([&address]).await.expect("a connection");
    let session = client.session(Duration::from_secs(60)).await.expect("a session");
    relay.drops_next_response.store(true, Ordering::Relaxed);
    let guard = within(session.lock("a")).await.expect("the lock");
    let key = base64(guard.key());
    within(guard.release()).await.expect("released");
    let body = format!(r#"{{"key":"{key}","lease":"{}"}}"#, session.id());
    let head = format!("POST /v3/kv/put HTTP/1.0\r\ncontent-length: {}\r\n\r\n", body.len());
    let put = http_response(member, &(head + &body)).await;
    assert!(put.contains("\"revision\""), "{put}");
    let next = within(async { etcd.session().await.lock("a").await }).await.expect("the lock");
    assert!(session.deadline().is_some(), "the session is alive");
    drop(next);
}
