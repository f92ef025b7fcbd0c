//! Pictures of the worked examples. The module also tests pictures and exports of many simulated
//! runs.

mod interchange;
#[path = "../../../../cli/src/cmd/lessons/calls/preset_clocks.rs"]
mod preset_clocks;
mod stories;
