//! Agreement on other things than a leader or who is inside: the list of its algorithms, each with
//! its name, and a file for each. What an algorithm offers, its card says.

pub mod atomic_broadcast;
pub mod chandra_toueg;
pub mod chandy_lamport;
pub mod dijkstra_scholten;
pub mod dissemination_barrier;
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
    "ricciardi-birman" => ricciardi_birman::RicciardiBirman;
    "stable-vectors" => stable_vectors::StableVectors;
    "raft-log" => raft_log::RaftLog;
    "relayed-log" => relayed_log::RelayedLog;
}
