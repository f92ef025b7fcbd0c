//! Algorithms for agreement problems other than leader election and mutual exclusion. The list maps
//! names to types. The card of an algorithm names the service that it offers.

pub mod atomic_broadcast;
pub mod chandra_toueg;
pub mod chandy_lamport;
pub mod dijkstra_scholten;
pub mod dissemination_barrier;
pub mod echo;
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
    "reliable-broadcast" => reliable_broadcast::ReliableBroadcast;
    "atomic-broadcast" => atomic_broadcast::AtomicBroadcast;
    "chandy-lamport" => chandy_lamport::ChandyLamport;
    "dissemination-barrier" => dissemination_barrier::DisseminationBarrier;
    "dijkstra-scholten" => dijkstra_scholten::DijkstraScholten;
    "echo" => echo::Echo;
    "ricciardi-birman" => ricciardi_birman::RicciardiBirman;
    "stable-vectors" => stable_vectors::StableVectors;
    "raft-log" => raft_log::RaftLog;
    "relayed-log" => relayed_log::RelayedLog;
}
