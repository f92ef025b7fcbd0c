//! Monitors and vector clocks of a run.

pub(crate) mod beliefs;
pub(crate) mod causality;
pub(crate) mod custom_monitor;
pub(crate) mod monitors;
