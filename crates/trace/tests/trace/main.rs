//! Traces and stories: written, read, merged, judged, drawn and followed while they grow.

mod course;
mod diagram;
mod drawn;
mod export;
mod files;
mod follow;
mod golden;
mod live;
mod logs;
mod merge;
mod page;
mod tiny;
mod verify;
