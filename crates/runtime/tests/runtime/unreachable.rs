//! Messages that are queued for an unreachable peer.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use tenure_algorithms::compose::{CoordinatedLock, WithDetector, with_detector};
use tenure_algorithms::detector::{AdaptiveTimeoutDetector, heartbeat};
use tenure_algorithms::election::{Bully, bully};
use tenure_core::{Delay, ProcessId, TICKS_PER_TIME_UNIT};
use tenure_runtime::{LockApplication, RunningNode, start_node};
use tokio::time::timeout;

use crate::{TIME_LIMIT, components, listeners};

type CoordinatedWithDetector = WithDetector<AdaptiveTimeoutDetector, CoordinatedLock<Bully>>;

/// Boots a node with a heartbeat every 2 ms and at most 64 queued messages per peer.
fn boot(directory: &Path, me: usize, listener: TcpListener, addresses: &[String]) -> RunningNode {
    let detector = heartbeat::Config {
        period: Delay::time_units(2),
        initial_timeout: 400 * TICKS_PER_TIME_UNIT,
        increment: 0,
        max_timeout: 2_000 * TICKS_PER_TIME_UNIT,
    };
    let inner = bully::Config::with_defaults(3, 30 * TICKS_PER_TIME_UNIT).into();
    let (application, lock, election, requests) = LockApplication::new();
    // The handles keep the node running.
    std::mem::forget((lock, election));
    let config = with_detector::Config { detector, inner };
    let application = (application, requests);
    let mut components = components::<CoordinatedWithDetector, _>(
        config,
        directory,
        me,
        listener,
        addresses,
        application,
    );
    components.transport.limits.max_queued_messages = 64;
    start_node(components).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_do_not_queue_for_unreachable_peer() {
    let directory = tempfile::tempdir().unwrap();
    let (mut listeners, addresses) = listeners(3);
    // The third node never starts.
    drop(listeners.pop());
    let nodes: Vec<RunningNode> = listeners
        .into_iter()
        .enumerate()
        .map(|(me, listener)| boot(directory.path(), me, listener, &addresses))
        .collect();
    for (me, node) in nodes.iter().enumerate() {
        while node.mesh_handle.counts().messages_sent < 500 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let status =
            node.mesh_handle.peers().into_iter().find(|it| it.peer == ProcessId(2)).unwrap();
        assert_eq!(status.held_messages, 1, "only one heartbeat waits: {status:?}");
        assert_eq!(node.mesh_handle.counts().overflowed, 0);
        let responsive =
            || node.mesh_handle.peers_with_short_queues(64).iter().collect::<Vec<ProcessId>>();
        // On a busy machine the peer may respond late.
        let responds = async {
            while responsive().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(TIME_LIMIT, responds).await.expect("a responsive peer");
        let others: Vec<ProcessId> =
            responsive().into_iter().filter(|it| *it != ProcessId::from_index(1 - me)).collect();
        assert_eq!(others, [], "only the connected peer");
    }
}
