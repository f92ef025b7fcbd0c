//! Streams of random numbers that depend on the seed only, and distributions drawn from them.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// Purpose of a stream of random numbers in a run. The streams of a run are independent of each
/// other.
///
/// For example, a change to the network settings does not change the random numbers of the
/// workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RandomStream {
    /// Latency, loss and duplication of messages, and durations of steps.
    Network = 1,
    /// Random choices of the processes, and durations of their timers.
    Choices = 2,
    /// Times of the requests and the uses of resources.
    Workload = 3,
    /// Delays of the reports of the failure detector.
    Detector = 5,
    /// Messages between users.
    BackgroundTraffic = 6,
}

/// A stream of random numbers from the generator PCG XSL RR 128/64 (`pcg64`). The numbers are the
/// same on every machine and in every version of this crate.
///
/// Ranges and distributions are computed here, on integers where possible, and logarithms come from
/// `libm`. So the rounding of a library or processor cannot change a run.
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

impl Random {
    /// Creates a stream of random numbers from a seed, for workloads and ranks that are drawn
    /// outside of a simulation.
    pub fn new(seed: u64) -> Self {
        Random(Pcg64::new(spread(seed), 0x7465_6e75_7265))
    }

    pub(crate) fn stream(seed: u64, stream: RandomStream) -> Self {
        Random(Pcg64::new(spread(seed ^ ((stream as u64) << 56)), u128::from(stream as u8)))
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a uniformly distributed number below `bound`. Returns 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a uniformly distributed number from `min` to `max`, both included. Returns `min` if
    /// `max` is smaller than `min`.
    #[inline]
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        match max.saturating_sub(min).checked_add(1) {
            Some(width) => min + self.below(width),
            None => self.next_u64(),
        }
    }

    /// Draws a uniformly distributed number that is above 0 and at most 1.
    pub fn open_closed_01(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Draws an exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(self.open_closed_01()) * mean
    }

    /// Draws a log-normally distributed number with this median. `sigma` is the standard deviation
    /// of the natural logarithm of the number.
    pub fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.open_closed_01()));
        let angle = 2.0 * core::f64::consts::PI * self.open_closed_01();
        median * libm::exp(sigma * radius * libm::cos(angle))
    }

    /// Draws a uniformly distributed permutation of `0..size`.
    pub fn permutation(&mut self, size: u32) -> Vec<u32> {
        let mut places: Vec<u32> = (0..size).collect();
        for last in (1..places.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            places.swap(last, other);
        }
        places
    }
}

/// Returns the first output of SplitMix64 with this seed. Similar seeds give unrelated outputs.
pub(crate) fn splitmix64(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Extends a seed to 128 bits.
fn spread(seed: u64) -> u128 {
    (u128::from(splitmix64(seed)) << 64) | u128::from(splitmix64(splitmix64(seed) ^ 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_of_seed_are_pinned() {
        let mut random = Random::new(1);
        let drawn = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(drawn, PINNED, "seeds would mean other runs than they did");
    }

    const PINNED: [u64; 3] =
        [12_362_782_459_265_379_686, 9_001_057_660_785_917_908, 7_864_877_063_164_585_179];

    #[test]
    fn neighbouring_streams_are_independent() {
        let mut first = Random::stream(1, RandomStream::Network);
        let mut second = Random::stream(1, RandomStream::Choices);
        let mut third = Random::stream(2, RandomStream::Network);
        let same = (0..1000).filter(|_| {
            let (a, b, c) = (first.below(16), second.below(16), third.below(16));
            a == b || a == c
        });
        let same = same.count();
        assert!((60..190).contains(&same), "{same} of 1000 agree, about 121 should");
    }

    #[test]
    fn distributions_have_expected_means() {
        let mut random = Random::new(7);
        let draws = 100_000;
        let mean = |sum: f64| sum / f64::from(draws);
        let exponential = mean((0..draws).map(|_| random.exponential(5.0)).sum());
        assert!((4.9..5.1).contains(&exponential), "{exponential}");
        let uniform = mean((0..draws).map(|_| random.between(2, 4) as f64).sum());
        assert!((2.99..3.01).contains(&uniform), "{uniform}");
        let normal = mean((0..draws).map(|_| libm::log(random.log_normal(1.0, 0.5))).sum());
        assert!((-0.01..0.01).contains(&normal), "{normal}");
    }

    #[test]
    fn permutations_are_uniform() {
        let mut random = Random::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            *seen.entry(random.permutation(3)).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|times| (850..1150).contains(times)), "{seen:?}");
    }
}
