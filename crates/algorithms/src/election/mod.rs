//! Leader election algorithms, one module each, and the list that maps names to types.

pub mod bully;
pub mod chang_roberts;
pub mod dolev_klawe_rodeh;
pub mod echo_election;
pub mod flooding_election;
pub mod franklin;
pub mod gallager_humblet_spira;
pub mod hirschberg_sinclair;
pub mod invitation;
pub mod itai_rodeh;
pub mod lelann;
pub mod peterson;
pub mod raft;
pub mod repaired_chang_roberts;
pub mod restarting_chang_roberts;
pub mod ring;
pub mod time_slice;
pub mod tree_election;
pub mod variable_speeds;

crate::catalogue::members! {
    election, each_election:
    "lelann" => lelann::LeLann;
    "chang-roberts" => chang_roberts::ChangRoberts;
    "hirschberg-sinclair" => hirschberg_sinclair::HirschbergSinclair;
    "dolev-klawe-rodeh" => dolev_klawe_rodeh::DolevKlaweRodeh;
    "franklin" => franklin::Franklin;
    "time-slice" => time_slice::TimeSlice;
    "variable-speeds" => variable_speeds::VariableSpeeds;
    "itai-rodeh" => itai_rodeh::ItaiRodeh;
    "bully" => bully::Bully;
    "raft" => raft::RaftElection;
    "repaired-chang-roberts" => repaired_chang_roberts::FaultTolerantChangRoberts;
    "restarting-chang-roberts" => restarting_chang_roberts::RestartingChangRoberts;
    "echo-election" => echo_election::EchoElection;
    "tree-election" => tree_election::TreeElection;
    "flooding-election" => flooding_election::FloodingElection;
    "gallager-humblet-spira" => gallager_humblet_spira::GallagerHumbletSpira;
    "peterson" => peterson::Peterson;
    "invitation" => invitation::InvitationElection;
}
