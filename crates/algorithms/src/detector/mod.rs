//! Failure detectors, based on heartbeats.

pub mod heartbeat;
pub mod heartbeat_detector;
pub mod phi_accrual;

pub use heartbeat::AdaptiveTimeoutDetector;
pub use heartbeat_detector::HeartbeatDetector;
pub use phi_accrual::PhiAccrual;
