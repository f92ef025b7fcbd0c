//! Traces and scripts: writing, reading, merging, verification, diagrams and live views.

mod diagram;
mod drawn;
mod export;
mod files;
mod follow;
mod golden;
mod kinds;
mod live;
mod logs;
mod merge;
mod page;
#[cfg(feature = "properties")]
mod properties;
mod schedule;
mod tiny;
mod verify;
