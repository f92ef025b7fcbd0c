//! Failure detectors: who seems to have crashed.

pub mod beating;
pub mod heartbeat;
pub mod phi_accrual;

pub use beating::Beating;
pub use heartbeat::Heartbeat;
pub use phi_accrual::PhiAccrual;
