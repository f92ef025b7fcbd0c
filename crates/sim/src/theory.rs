//! What theory predicts, as numbers to compare with what was measured.

use tenure_core::theory::Figure;

/// The n-th harmonic number, 1 + 1/2 + … + 1/n.
pub fn harmonic(n: u32) -> f64 {
    (1..=n).rev().map(|i| 1.0 / f64::from(i)).sum()
}

/// The number that theory expects.
pub fn value(figure: Figure) -> f64 {
    let Figure { sum, shared_by, laps, of } = figure;
    sum as f64 / shared_by as f64 + laps as f64 * harmonic(of)
}
