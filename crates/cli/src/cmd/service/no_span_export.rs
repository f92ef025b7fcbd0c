//! Starts the log of a member, in a build that exports no spans.

use tracing_subscriber::filter::LevelFilter;

use crate::cmd::failure::Failure;
use crate::cmd::node::{LogFormat, init_logging};

/// Replacement of the exporter of spans. It exports nothing, because this build contains no
/// exporter.
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
