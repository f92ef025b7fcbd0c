//! Leader election.

pub mod bully;
pub mod chang_roberts;
pub mod dolev_klawe_rodeh;
pub mod franklin;
pub mod hirschberg_sinclair;
pub mod itai_rodeh;
pub mod lelann;
pub mod raft;
pub mod repaired_chang_roberts;
pub mod ring;

pub use bully::Bully;
pub use chang_roberts::ChangRoberts;
pub use dolev_klawe_rodeh::DolevKlaweRodeh;
pub use franklin::Franklin;
pub use hirschberg_sinclair::HirschbergSinclair;
pub use itai_rodeh::ItaiRodeh;
pub use lelann::LeLann;
pub use raft::Raft;
pub use repaired_chang_roberts::RepairedChangRoberts;
