//! Predictions of theory as numbers, for comparison with measurements.

use tenure_core::theory::HarmonicQuantity;

/// Returns the n-th harmonic number, 1 + 1/2 + … + 1/n; 0 if `n` is 0.
pub fn harmonic_number(n: u32) -> f64 {
    (1..=n).rev().map(|i| 1.0 / f64::from(i)).sum()
}

/// Converts an exact quantity of theory to a floating-point number. The quantity is the sum of a
/// fraction and a multiple of a harmonic number.
pub fn quantity_to_f64(quantity: HarmonicQuantity) -> f64 {
    let HarmonicQuantity { numerator, denominator, harmonic_factor, harmonic_index } = quantity;
    numerator as f64 / denominator as f64 + harmonic_factor as f64 * harmonic_number(harmonic_index)
}
