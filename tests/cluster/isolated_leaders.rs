//! Tests of isolated leaders. They measure the time until a leader without a majority steps down.

use std::time::{Duration, Instant};

use crate::network_cluster::{CUTS, Cluster, Cut};
use crate::waiting::{cluster_slot, eventually};

/// Starts a cluster on separate hosts. Returns `None` if network namespaces are unavailable.
fn cluster() -> Option<Cluster> {
    Cluster::start("raft", "")
}

impl Cluster {
    fn belief(&self, host: u32) -> Option<u32> {
        self.running[host as usize - 1].leader()
    }

    /// Waits until the nodes at all `hosts` report the same leader, and the leader is at one of
    /// these hosts. Returns the leader.
    #[track_caller]
    pub(crate) fn agreed(&self, hosts: &[u32]) -> u32 {
        eventually("a leader of them all", || {
            let leader = self.belief(hosts[0])?;
            let all = hosts.iter().all(|host| self.belief(*host) == Some(leader));
            (all && hosts.contains(&leader)).then_some(leader)
        })
    }

    pub(crate) fn all(&self) -> Vec<u32> {
        self.hosts.all().collect()
    }

    /// Isolates the leader. Returns the time until it steps down, and the time until the other
    /// nodes elect another leader.
    fn cut_the_leader_off(&self, cut: Cut) -> [Duration; 2] {
        let leader = self.agreed(&self.all());
        let others: Vec<u32> = self.hosts.all().filter(|host| *host != leader).collect();
        self.cut_off(leader, cut);
        let started = Instant::now();
        eventually("the end of a claim", || (self.belief(leader) != Some(leader)).then_some(()));
        let claimed = started.elapsed();
        self.agreed(&others);
        let vacant = started.elapsed();
        self.mend(leader, cut);
        [claimed, vacant]
    }
}

#[test]
fn isolated_leader_steps_down_and_another_is_elected() {
    let _slot = cluster_slot();
    let Some(cluster) = cluster() else { return };
    for cut in CUTS {
        let [claimed, vacant] = cluster.cut_the_leader_off(cut);
        eprintln!("{cut:?}: claimed for {claimed:?}, another after {vacant:?}");
    }
    cluster.agreed(&cluster.all());
    // Compares the times in the traces. The times above depend on when the reports were read.
    assert_eq!(cluster.verdict("one-leader-at-a-time"), "holds");
}

/// Isolates twenty leaders, one after the other. A leader must step down when its lease ends, after
/// 320 ms by default. The other nodes elect a new leader later, because their election timeouts are
/// 480 to 1,280 ms.
#[test]
#[ignore = "needs a quiet machine, and a minute"]
fn twenty_isolated_leaders_step_down_within_their_lease() {
    let _slot = cluster_slot();
    let Some(cluster) = cluster() else { return };
    for cut in CUTS.into_iter().cycle().take(20) {
        let [claimed, vacant] = cluster.cut_the_leader_off(cut);
        eprintln!("{cut:?}: claimed for {claimed:?}, another after {vacant:?}");
        assert!(claimed < Duration::from_millis(400), "{cut:?}: claimed for {claimed:?}");
        assert!(vacant < Duration::from_secs(3), "{cut:?}: vacant for {vacant:?}");
    }
    cluster.agreed(&cluster.all());
    assert_eq!(cluster.verdict("one-leader-at-a-time"), "holds");
}
