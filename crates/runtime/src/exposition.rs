//! Metrics in the text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

use crate::histogram::{DurationHistogram, HistogramCounts};

/// Text of metrics. Each method appends one metric to the text.
#[derive(Debug, Default)]
pub struct MetricsExposition(String);

/// Metric with labels in a [`MetricsExposition`]. Each call of [`MetricFamily::add_sample`] adds
/// the value for one combination of labels.
#[derive(Debug)]
pub struct MetricFamily<'a> {
    name: &'a str,
    out: &'a mut String,
}

impl MetricsExposition {
    /// Writes a counter without labels.
    pub fn add_counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.add_metric("counter", name, help, value);
    }

    /// Writes a gauge without labels.
    pub fn add_gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.add_metric("gauge", name, help, value);
    }

    /// Writes a metric without labels. `kind` is `counter` or `gauge`.
    pub fn add_metric(&mut self, kind: &str, name: &str, help: &str, value: impl Display) {
        let family = self.begin_family(kind, name, help);
        put(family.out, format_args!("{name} {value}\n"));
    }

    /// Appends the head of a metric with labels, without a value. `kind` is `counter` or `gauge`.
    pub fn begin_family<'a>(
        &'a mut self,
        kind: &str,
        name: &'a str,
        help: &str,
    ) -> MetricFamily<'a> {
        put(&mut self.0, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        MetricFamily { name, out: &mut self.0 }
    }

    /// Writes a histogram of durations without labels. `name` should end in `_seconds`.
    pub fn add_histogram(&mut self, name: &str, help: &str, histogram: &DurationHistogram) {
        let HistogramCounts { buckets, count, sum } = histogram.read();
        let out = self.begin_family("histogram", name, help).out;
        for (bound, count) in buckets {
            put(out, format_args!("{name}_bucket{{le=\"{bound}\"}} {count}\n"));
        }
        put(out, format_args!("{name}_bucket{{le=\"+Inf\"}} {count}\n"));
        put(out, format_args!("{name}_sum {}\n{name}_count {count}\n", sum.as_secs_f64()));
    }

    /// Returns all metrics as text.
    pub fn into_text(self) -> String {
        self.0
    }
}

impl MetricFamily<'_> {
    /// Adds the value for one combination of labels. Each element of `labels` is the name and the
    /// value of a label.
    pub fn add_sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        let escape =
            |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value)));
        let labels = labels.collect::<Vec<_>>().join(",");
        put(self.out, format_args!("{}{{{labels}}} {value}\n", self.name));
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string succeeds");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn histogram_has_buckets_sum_and_count() {
        let histogram = DurationHistogram::new(&[0.001, 1.0]);
        for milliseconds in [1, 500, 2_000] {
            histogram.record(Duration::from_millis(milliseconds));
        }
        let mut all = MetricsExposition::default();
        all.add_histogram("wait_seconds", "Time until it is held.", &histogram);
        let expected = "# HELP wait_seconds Time until it is held.\n# TYPE wait_seconds histogram\n\
                        wait_seconds_bucket{le=\"0.001\"} 1\nwait_seconds_bucket{le=\"1\"} 2\n\
                        wait_seconds_bucket{le=\"+Inf\"} 3\nwait_seconds_sum 2.501\n\
                        wait_seconds_count 3\n";
        assert_eq!(all.into_text(), expected);
    }

    #[test]
    fn labels_escape_quotes_backslashes_and_line_ends_only() {
        let mut all = MetricsExposition::default();
        let mut links = all.begin_family("gauge", "link_up", "Whether it is up.");
        links.add_sample(&[("peer", "a\"b\\c\nd"), ("zone", "ü\t'")], 1);
        all.add_counter("saves_total", "Number of saves.", 0.5);
        let expected = "# HELP link_up Whether it is up.\n# TYPE link_up gauge\n\
                        link_up{peer=\"a\\\"b\\\\c\\nd\",zone=\"ü\t'\"} 1\n\
                        # HELP saves_total Number of saves.\n# TYPE saves_total counter\n\
                        saves_total 0.5\n";
        assert_eq!(all.into_text(), expected);
    }
}
