//! Agreement on other things than a leader or who is inside: the list of its algorithms, each with
//! its name, and a file for each. What an algorithm offers, its card says.

pub mod paxos;
pub mod reliable_broadcast;

crate::catalogue::members! {
    agreement, each_agreement:
    "paxos" => paxos::Paxos;
    "reliable-broadcast" => reliable_broadcast::ReliableBroadcast;
}
