//! Statistics of a measured quantity over several runs. The CSV and JSON outputs contain all of
//! them.

use serde::Serialize;
use tenure_sim::SampleStatistics;

/// Statistics of one measured quantity over all runs with the same algorithm and parameters. All
/// fields except `count` are in the unit of the quantity.
#[derive(Serialize)]
pub(super) struct Statistics {
    pub(super) count: u64,
    pub(super) mean: f64,
    /// Lower and upper end of the 95 % confidence interval of the mean; `None` for fewer than two
    /// values.
    pub(super) ci95: Option<[f64; 2]>,
    /// Sample standard deviation; `None` for fewer than two values.
    pub(super) stddev: Option<f64>,
    pub(super) min: f64,
    /// Median. The two fields below are the 90 % and the 99 % quantile.
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Statistics {
    pub(super) fn from_sample(sample: &SampleStatistics) -> Self {
        let moments = sample.moments();
        let [p50, p90, p99] = [500, 900, 990].map(|share| sample.quantile(share));
        Statistics {
            count: sample.count(),
            mean: moments.mean(),
            ci95: moments.confidence_interval().map(|(low, high)| [low, high]),
            stddev: moments.standard_deviation(),
            min: moments.min(),
            p50,
            p90,
            p99,
            max: moments.max(),
        }
    }
}
