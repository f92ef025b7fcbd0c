//! Starts the log of a member, in a build that exports no spans.

use tracing_subscriber::filter::LevelFilter;

use crate::cmd::failure::Failure;
use crate::cmd::node::{LogFormat, init_logging};

/// Placeholder for the exporter of spans, which this build lacks.
pub(super) struct SpanExport;

impl SpanExport {
    pub(super) fn start(
        _: &str,
        level: LevelFilter,
        format: LogFormat,
    ) -> Result<SpanExport, Failure> {
        init_logging(level, format);
        Ok(SpanExport)
    }

    pub(super) fn finish(self) {}
}
