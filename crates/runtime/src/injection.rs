//! Faults on purpose, just above the sockets.

/// Loses and duplicates messages before they reach a socket, to try what is built to bear it.
///
/// Drawn from a seed, so that a run can be told to do the same again; what the network then
/// makes of the order is its own affair.
#[derive(Debug)]
pub struct Injection {
    lose: f64,
    duplicate: f64,
    random: fastrand::Rng,
}

/// How often a message is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Lose,
    Duplicate,
}

impl Injection {
    /// No faults.
    pub fn none() -> Self {
        Injection::new(0.0, 0.0, 0)
    }

    /// Each message is lost with the probability `lose`, and else sent twice with `duplicate`.
    pub fn new(lose: f64, duplicate: f64, seed: u64) -> Self {
        Injection { lose, duplicate, random: fastrand::Rng::with_seed(seed) }
    }

    pub(crate) fn fate(&mut self) -> Fate {
        if self.lose > 0.0 && self.random.f64() < self.lose {
            Fate::Lose
        } else if self.duplicate > 0.0 && self.random.f64() < self.duplicate {
            Fate::Duplicate
        } else {
            Fate::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_as_frequent_as_asked_and_none_come_unasked() {
        let mut injection = Injection::new(0.25, 0.5, 7);
        let fates: Vec<Fate> = (0..10_000).map(|_| injection.fate()).collect();
        let count = |fate| fates.iter().filter(|f| **f == fate).count();
        assert!((2_200..2_800).contains(&count(Fate::Lose)), "{}", count(Fate::Lose));
        assert!((3_400..4_100).contains(&count(Fate::Duplicate)), "{}", count(Fate::Duplicate));
        let mut none = Injection::none();
        assert!((0..10_000).all(|_| none.fate() == Fate::Pass));
    }
}
