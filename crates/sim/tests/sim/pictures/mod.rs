//! Pictures of the worked examples, and laws about pictures and exports of any run.

mod interchange;
#[path = "../../../../cli/src/cmd/lessons/calls/preset_clocks.rs"]
mod preset_clocks;
mod stories;
