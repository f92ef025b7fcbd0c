//! Tests of a node whose disk fails or hangs.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_daemon::{
    Config, NodeError, NodeEvent, NodeEventOptions, protocol_from_catalogue, run_node,
};
use tenure_runtime::ports::reserve_address;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

const TIME_LIMIT: Duration = Duration::from_secs(120);

const LIVENESS_INTERVAL: Duration = Duration::from_millis(5);

/// Returns the configuration of a node without peers.
fn single_node(directory: &Path) -> Config {
    let address = reserve_address().to_string();
    let config = Config::builder("test").cluster_addresses(1, [address]).directory(directory);
    config.build().expect("a valid configuration")
}

#[tokio::test]
async fn failed_node_leaves_no_task_running() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let next_state = directory.path().join("state.next");
    let on_event = |event| {
        if matches!(event, NodeEvent::Ready { .. }) {
            // The directory has the name of the file that the next save creates, so the save fails.
            fs::create_dir(&next_state).expect("a new directory");
        }
    };
    let config = single_node(directory.path());
    let (options, never) = (NodeEventOptions::default(), std::future::pending());
    let running = run_node(config, protocol_from_catalogue, options, never, on_event);
    let failed = timeout(TIME_LIMIT, running).await.expect("an end");
    assert!(matches!(failed, Err(NodeError::Failure(_))), "{failed:?}");
    let ended = async {
        while Handle::current().metrics().num_alive_tasks() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(TIME_LIMIT, ended).await.expect("the end of all tasks");
}

#[tokio::test]
async fn hanging_save_ends_liveness_events() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let next_state = directory.path().join("state.next");
    let event_count = AtomicU64::new(0);
    let on_event = |event| match event {
        // The first save opens this pipe, and hangs until the pipe is opened a second time.
        NodeEvent::Ready { .. } => {
            let made = Command::new("mkfifo").arg(&next_state).status().expect("mkfifo");
            assert!(made.success(), "{made}");
        }
        NodeEvent::Alive => drop(event_count.fetch_add(1, Ordering::Relaxed)),
        _ => {}
    };
    let wait_for_silence = async {
        let mut silent_periods = 0;
        while silent_periods < 3 {
            let before = event_count.load(Ordering::Relaxed);
            sleep(20 * LIVENESS_INTERVAL).await;
            let is_silent = before > 0 && event_count.load(Ordering::Relaxed) == before;
            silent_periods = if is_silent { silent_periods + 1 } else { 0 };
        }
    };
    let observe = async {
        let is_silent = timeout(TIME_LIMIT, wait_for_silence).await.is_ok();
        // Opening the pipe ends the save. If an assertion failed during the save, the test would
        // hang, because a dropped node waits for its disk.
        let pipe = File::options().read(true).write(true).open(&next_state).expect("the pipe");
        (is_silent, pipe)
    };
    let options = NodeEventOptions {
        liveness_interval: Some(LIVENESS_INTERVAL),
        ..NodeEventOptions::default()
    };
    let never = std::future::pending();
    let config = single_node(directory.path());
    let running = run_node(config, protocol_from_catalogue, options, never, on_event);
    let (failed, (is_silent, _pipe)) = tokio::join!(running, observe);
    assert!(is_silent, "a node with a hanging save reports that it works");
    // A pipe cannot be flushed, so the save fails.
    assert!(matches!(failed, Err(NodeError::Failure(_))), "{failed:?}");
}
