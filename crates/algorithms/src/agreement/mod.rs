//! Agreement on other things than a leader or who is inside: the list of its algorithms, each with
//! its name, and a file for each. What an algorithm offers, its card says.

pub mod atomic_broadcast;
pub mod chandra_toueg;
mod omega;
pub mod paxos;
pub mod reliable_broadcast;

crate::catalogue::members! {
    agreement, each_agreement:
    "paxos" => paxos::Paxos;
    "chandra-toueg" => chandra_toueg::ChandraToueg;
    "reliable-broadcast" => reliable_broadcast::ReliableBroadcast;
    "atomic-broadcast" => atomic_broadcast::AtomicBroadcast;
}
