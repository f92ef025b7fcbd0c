//! Tests of partitions of nodes on separate hosts, which measure the time until the nodes
//! reconnect.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::network_cluster::{Cluster, Cut};
use crate::waiting::{cluster_slot, eventually};

/// Configuration of a failure detector whose timeouts do not grow after false suspicions.
const DETECTOR: &str = "[detector]\nincrement_ms = 0\n";

/// Starts a cluster. Returns `None` if network namespaces are unavailable.
fn cluster() -> Option<Cluster> {
    let mut cluster = Cluster::start("bully", DETECTOR)?;
    cluster.running.iter_mut().for_each(|node| {
        node.follows(5);
    });
    Some(cluster)
}

impl Cluster {
    /// Returns the numbers of the processes that a node suspects, according to its trace.
    pub(crate) fn suspected(&self, host: u32) -> Vec<u64> {
        let text = fs::read_to_string(self.nodes.trace(host)).unwrap();
        let mut suspected = Vec::new();
        for record in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if record["kind"] != "suspicion" {
                continue;
            }
            let peer = record["data"]["peer"].as_u64().unwrap();
            suspected.retain(|known| *known != peer);
            if record["data"]["verdict"] == "Suspect" {
                suspected.push(peer);
            }
        }
        suspected
    }

    /// Isolates a host for the time `long`. Returns the time from the end of the isolation until
    /// all nodes trust each other again.
    fn isolate_for(&self, host: u32, long: Duration) -> Duration {
        self.cut_off(host, Cut::Both);
        sleep(long);
        eventually("suspicions of all nodes", || {
            let of_all = self.suspected(host).len() == 4;
            let by_all = self.hosts.all().all(|it| it == host || !self.suspected(it).is_empty());
            (of_all && by_all).then_some(())
        });
        // Each node has given up the connections across the partition, and dials again.
        eventually("lost connections", || {
            self.running.iter().all(|node| node.log().contains("connection lost")).then_some(())
        });
        self.mend(host, Cut::Both);
        let mended = Instant::now();
        eventually("trust in all nodes", || {
            self.hosts.all().all(|it| self.suspected(it).is_empty()).then_some(())
        });
        mended.elapsed()
    }
}

#[test]
fn nodes_reconnect_after_a_partition_without_tcp_backoff() {
    let _slot = cluster_slot();
    let mut took = Vec::new();
    // One fast attempt of three is enough. On a busy machine, an attempt may take as long as the
    // retransmissions of TCP.
    for _ in 0..3 {
        let Some(mut cluster) = cluster() else { return };
        // The partition ends after 13 s. TCP itself retransmits after 0.2, 0.6, 1.4, 3, 6.2, 12.6
        // and 25.4 s, so it would need 12 s more. The nodes have closed their connections and dial
        // again sooner.
        let healed = cluster.isolate_for(5, Duration::from_secs(13));
        eprintln!("healed after {} ms", healed.as_millis());
        cluster.running.iter_mut().for_each(|node| {
            node.follows(5);
        });
        if healed < Duration::from_secs(9) {
            return;
        }
        took.push(healed);
    }
    panic!("it took {took:?}, as long as TCP takes");
}

#[test]
#[ignore = "needs a quiet machine, and two minutes"]
fn nodes_reconnect_within_a_second_after_twenty_partitions() {
    let _slot = cluster_slot();
    let Some(cluster) = cluster() else { return };
    let mut took: Vec<Duration> = (0..20_u32)
        .map(|cut| {
            let long = Duration::from_millis(1000 + 200 * u64::from(cut));
            cluster.isolate_for(1 + cut % 5, long)
        })
        .collect();
    took.sort_unstable();
    eprintln!("healed after {took:?}");
    assert!(took[10] < Duration::from_secs(1), "the middle of {took:?}");
}
