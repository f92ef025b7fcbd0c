//! Leader election.

pub mod bully;
pub mod chang_roberts;
pub mod hirschberg_sinclair;

pub use bully::Bully;
pub use chang_roberts::ChangRoberts;
pub use hirschberg_sinclair::HirschbergSinclair;
