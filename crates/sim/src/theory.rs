//! What theory predicts, exactly for one arrangement or as a mean over all.

use tenure_core::tree::Tree;

/// The n-th harmonic number, 1 + 1/2 + … + 1/n.
pub fn harmonic(n: u32) -> f64 {
    (1..=n).rev().map(|i| 1.0 / f64::from(i)).sum()
}

/// The messages of Chang–Roberts when everybody starts at once, announcement included, on this
/// ring (ids in the direction of messages): each id travels to the next larger one, the largest
/// all the way round, and then the announcement does.
pub fn chang_roberts(ids: &[u32]) -> u64 {
    let n = ids.len();
    // Walking backwards twice round the ring, the next larger id is on top of a stack of ids
    // that grow downwards.
    let mut larger: Vec<usize> = Vec::new();
    let mut messages = 0;
    for place in (0..2 * n).rev() {
        while larger.last().is_some_and(|next| ids[*next % n] < ids[place % n]) {
            larger.pop();
        }
        if place < n {
            let distance = larger.last().map_or(n, |next| (next - place).min(n));
            messages += distance as u64;
        }
        larger.push(place);
    }
    messages + n as u64
}

/// The mean of [`chang_roberts`] over all arrangements of n ids: n·Hₙ + n.
pub fn chang_roberts_mean(n: u32) -> f64 {
    f64::from(n) * harmonic(n) + f64::from(n)
}

/// The messages of Chang–Roberts with one initiator at distance `hops` before the largest id,
/// announcement included.
pub fn chang_roberts_single(n: u32, hops: u32) -> u64 {
    u64::from(hops) + 2 * u64::from(n)
}

/// The bound on the messages of Hirschberg–Sinclair with all initiators, announcement included:
/// 4n + n + Σ 4·2^k·⌊n/(2^(k−1)+1)⌋ over the phases 1 to ⌈log₂ n⌉.
pub fn hirschberg_sinclair_bound(n: u32) -> u64 {
    let n = u64::from(n);
    let phases = u64::from(n.next_power_of_two().trailing_zeros());
    let later = (1..=phases).map(|k| 4 * (1 << k) * (n / ((1 << (k - 1)) + 1)));
    5 * n + later.sum::<u64>()
}

/// The messages per entry of Carvalho–Roucairol under requests one at a time, uniformly drawn: of
/// each pair, whoever entered last has the permission, and it is the other's turn half the time.
pub fn carvalho_roucairol_mean(n: u32) -> f64 {
    f64::from(n - 1)
}

/// The most messages of Dolev–Klawe–Rodeh, announcement included: 2n a phase, but n in the last,
/// of at most ⌊log₂ n⌋ + 1.
pub fn dolev_klawe_rodeh_bound(n: u32) -> u64 {
    2 * u64::from(n) * u64::from(n.ilog2()) + 2 * u64::from(n)
}

/// The most messages of Franklin, announcement included: 2n a phase, of at most ⌊log₂ n⌋ + 1.
pub fn franklin_bound(n: u32) -> u64 {
    2 * u64::from(n) * (u64::from(n.ilog2()) + 1) + u64::from(n)
}

/// The mean number of rounds of Itai–Rodeh when everybody starts at once on channels that keep
/// order: a round is followed by another of all who drew the highest of 1 … n, unless that is
/// one.
pub fn itai_rodeh_rounds_mean(n: u32) -> f64 {
    let mut means = vec![0.0, 0.0];
    for active in 2..=n {
        let ties = |tied| highest_drawn_by(tied, active, n);
        let fewer: f64 = (2..active).map(|tied| ties(tied) * means[tied as usize]).sum();
        means.push((1.0 + fewer) / (1.0 - ties(active)));
    }
    means[n as usize]
}

/// The probability that so many of those who draw from 1 … n have drawn the highest number.
fn highest_drawn_by(tied: u32, active: u32, n: u32) -> f64 {
    let ways = (0..tied).fold(1.0, |ways, i| ways * f64::from(active - i) / f64::from(i + 1));
    let lower = |highest: u32| (f64::from(highest - 1) / f64::from(n)).powi((active - tied) as i32);
    let all: f64 = (1..=n).map(lower).sum();
    ways * all / f64::from(n).powi(tied as i32)
}

/// The messages per entry of Naimi–Trehel under requests one at a time, uniformly drawn: the
/// mean is the harmonic number of n − 1.
pub fn naimi_trehel_mean(n: u32) -> f64 {
    harmonic(n - 1)
}

/// The messages per entry of Suzuki–Kasami under requests one at a time, uniformly drawn: the
/// holder needs none, anybody else n.
pub fn suzuki_kasami_mean(n: u32) -> f64 {
    f64::from(n - 1)
}

/// The messages per entry of Raymond's algorithm under requests one at a time, uniformly drawn:
/// twice the mean distance in the tree between two processes drawn independently.
pub fn raymond_mean(tree: &Tree) -> f64 {
    let n = f64::from(tree.size());
    2.0 * tree.total_distance() as f64 / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_walking(ids: &[u32]) -> u64 {
        let n = ids.len();
        let walk = |place: usize| {
            let next = (1..n).find(|hops| ids[(place + hops) % n] > ids[place]);
            next.unwrap_or(n) as u64
        };
        (0..n).map(walk).sum::<u64>() + n as u64
    }

    #[test]
    fn the_worst_and_the_best_ring_of_five() {
        assert_eq!(chang_roberts(&[5, 4, 3, 2, 1]), 20);
        assert_eq!(chang_roberts(&[1, 2, 3, 4, 5]), 9 + 5);
        assert_eq!(chang_roberts(&[7]), 2);
    }

    #[test]
    fn the_stack_counts_as_walking_does() {
        let mut random = crate::Random::new(5);
        for size in 1..40 {
            let ids = random.permutation(size);
            assert_eq!(chang_roberts(&ids), by_walking(&ids), "{ids:?}");
        }
    }

    /// By hand: of two, half the draws tie; of three, 15 of 27 do not, 9 tie two, 3 tie three.
    #[test]
    fn the_mean_number_of_rounds_by_lot() {
        assert!((highest_drawn_by(1, 3, 3) + highest_drawn_by(2, 3, 3) - 24.0 / 27.0).abs() < 1e-9);
        assert_eq!(itai_rodeh_rounds_mean(2), 2.0);
        // Two of three draw from three: 6 of 9 draws differ, so 1.5 rounds on average.
        let three = (1.0 + 9.0 / 27.0 * 1.5) / (1.0 - 3.0 / 27.0);
        assert!((itai_rodeh_rounds_mean(3) - three).abs() < 1e-9);
    }

    #[test]
    fn the_mean_over_all_rings_of_six() {
        fn all(ids: &mut Vec<u32>, from: usize, total: &mut (u64, u64)) {
            if from == ids.len() {
                *total = (total.0 + chang_roberts(ids), total.1 + 1);
            }
            for place in from..ids.len() {
                ids.swap(from, place);
                all(ids, from + 1, total);
                ids.swap(from, place);
            }
        }
        let mut total = (0, 0);
        all(&mut (1..=6).collect(), 0, &mut total);
        let mean = total.0 as f64 / total.1 as f64;
        assert_eq!(total.1, 720);
        assert!((mean - chang_roberts_mean(6)).abs() < 1e-9, "{mean}");
    }
}
