//! Algorithms for problems other than leader election and mutual exclusion, one module each. The
//! list below maps the name of each algorithm to its type. The card of an algorithm names the
//! service that the algorithm offers.

pub mod atomic_broadcast;
pub mod causal_broadcast;
pub mod central_detection;
pub mod chandra_toueg;
pub mod chandy_lamport;
pub mod congenial_philosophers;
pub mod dijkstra_scholten;
pub mod dissemination_barrier;
pub mod drinking_philosophers;
pub mod echo;
pub mod floodset;
pub mod leased_shares;
pub mod minimum_spanning_tree;
mod omega;
pub mod paxos;
pub mod raft_log;
pub mod relayed_log;
pub mod reliable_broadcast;
pub mod ricciardi_birman;
pub mod stable_vectors;

crate::catalogue::members! {
    agreement, each_agreement:
    "paxos" => paxos::Paxos;
    "chandra-toueg" => chandra_toueg::ChandraToueg;
    "floodset" => floodset::FloodSet;
    "reliable-broadcast" => reliable_broadcast::ReliableBroadcast;
    "atomic-broadcast" => atomic_broadcast::AtomicBroadcast;
    "chandy-lamport" => chandy_lamport::ChandyLamport;
    "dissemination-barrier" => dissemination_barrier::DisseminationBarrier;
    "dijkstra-scholten" => dijkstra_scholten::DijkstraScholten;
    "echo" => echo::Echo;
    "minimum-spanning-tree" => minimum_spanning_tree::MinimumSpanningTree;
    "drinking-philosophers" => drinking_philosophers::DrinkingPhilosophers;
    "congenial-philosophers" => congenial_philosophers::CongenialPhilosophers;
    "ricciardi-birman" => ricciardi_birman::RicciardiBirman;
    "stable-vectors" => stable_vectors::StableVectors;
    "raft-log" => raft_log::RaftReplica;
    "relayed-log" => relayed_log::ForwardingLog;
    "central-detection" => central_detection::CentralDeadlockDetection;
    "causal-broadcast" => causal_broadcast::CausalBroadcast;
    "leased-shares" => leased_shares::SessionSharedLock;
}
