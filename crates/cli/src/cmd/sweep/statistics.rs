//! Statistics of a figure, in the form that all file formats contain.

use serde::Serialize;
use tenure_sim::Sample;

/// Statistics of one figure over the runs of a point, in the unit of the figure.
#[derive(Serialize)]
pub(super) struct Statistics {
    pub(super) count: u64,
    pub(super) mean: f64,
    /// Lower and upper end of the 95 % confidence interval of the mean.
    pub(super) ci95: [f64; 2],
    pub(super) stddev: f64,
    pub(super) min: f64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Statistics {
    pub(super) fn of(sample: &Sample) -> Self {
        let moments = sample.moments();
        let (low, high) = moments.confidence();
        let [p50, p90, p99] = [500, 900, 990].map(|share| sample.quantile(share));
        Statistics {
            count: sample.count(),
            mean: moments.mean(),
            ci95: [low, high],
            stddev: moments.deviation(),
            min: moments.min(),
            p50,
            p90,
            p99,
            max: moments.max(),
        }
    }
}
