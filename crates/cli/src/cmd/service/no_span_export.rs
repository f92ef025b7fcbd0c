//! Starts the log of a member, in a build that exports no spans.

use tracing_subscriber::filter::LevelFilter;

use crate::cmd::failure::Failure;
use crate::cmd::node::{LogFormat, init_logging};

/// Placeholder for the exporter of spans, which this build lacks.
pub(super) struct SpanExport;

impl SpanExport {
    /// Starts the log of the member, without an export of spans.
    pub(super) fn start(
        _: &str,
        level: LevelFilter,
        format: LogFormat,
    ) -> Result<SpanExport, Failure> {
        init_logging(level, format);
        Ok(SpanExport)
    }

    /// Does nothing, because there is no export to finish.
    pub(super) fn finish(self) {}
}
