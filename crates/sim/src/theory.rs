//! Predictions of theory as numbers, for comparison with measurements.

use tenure_core::theory::Quantity;

/// Returns the n-th harmonic number, 1 + 1/2 + … + 1/n.
pub fn harmonic(n: u32) -> f64 {
    (1..=n).rev().map(|i| 1.0 / f64::from(i)).sum()
}

/// Converts an exact number that theory predicts to a floating-point number.
pub fn to_f64(quantity: Quantity) -> f64 {
    let Quantity { numerator, denominator, harmonic_factor, harmonic_index } = quantity;
    numerator as f64 / denominator as f64 + harmonic_factor as f64 * harmonic(harmonic_index)
}
