//! Exports the spans of requests to an OpenTelemetry collector, by OTLP over HTTP.

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tenure_server::REQUEST_SPAN_TARGET;
use tracing::warn;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};

use crate::cmd::failure::Failure;
use crate::cmd::node::{LogFormat, init_logging, init_logging_with};

/// Environment variables that may contain the URL of the collector. The second variable takes
/// precedence.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Exporter of the spans of requests, until [`SpanExport::finish`]. Contains `None` if no spans are
/// exported.
pub(super) struct SpanExport(Option<SdkTracerProvider>);

impl SpanExport {
    /// Starts the log of the member. Also starts the export if one of [`VARIABLES`] is set.
    /// `member` is the name of the member.
    ///
    /// # Errors
    ///
    /// Returns an error if the environment variables of OpenTelemetry are invalid. The log is then
    /// not started.
    pub(super) fn start(
        member: &str,
        level: LevelFilter,
        format: LogFormat,
    ) -> Result<SpanExport, Failure> {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !VARIABLES.iter().any(is_set) {
            init_logging(level, format);
            return Ok(SpanExport(None));
        }
        let exporter = SpanExporter::builder().with_http().build();
        let exporter = exporter.map_err(|error| {
            Failure::usage(format!("invalid environment variable OTEL_…: {error}"))
        })?;
        // The builder also reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
        let mut resource = Resource::builder()
            .with_attribute(KeyValue::new("service.instance.id", member.to_owned()));
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("tenure");
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        // The spans of the exporter's own requests are not exported.
        let filter = Targets::new().with_target(REQUEST_SPAN_TARGET, LevelFilter::DEBUG);
        let tracer = provider.tracer("tenure");
        let spans = tracing_opentelemetry::layer().with_tracer(tracer).with_filter(filter);
        init_logging_with(level, format, Box::new(spans));
        Ok(SpanExport(Some(provider)))
    }

    /// Exports the remaining spans and ends the export. Logs a warning if this fails.
    pub(super) fn finish(self) {
        if let Some(Err(error)) = self.0.map(|provider| provider.shutdown()) {
            warn!(%error, "the last spans are not exported");
        }
    }
}
