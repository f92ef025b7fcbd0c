//! Elections on synchronous rings, as in N. A. Lynch, *Distributed Algorithms*, 1996, section 3.6,
//! and in G. N. Frederickson, N. A. Lynch, JACM 34(1), 1987. All processes start in the same round.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elected {
    /// Position of the leader on the ring, from 0.
    pub(crate) leader: usize,
    pub(crate) tokens: u64,
    /// Number of rounds until the token of the leader has returned to the leader.
    pub(crate) rounds: u64,
}

/// Performs an election by the algorithm TimeSlice. `ids` are the identifiers, from 1, in ring
/// order.
pub(crate) fn time_slice(ids: &[u64]) -> Elected {
    let n = ids.len() as u64;
    let mut token: Option<(usize, usize)> = None; // its origin and its place
    let mut tokens = 0;
    for round in 1.. {
        if let Some((origin, place)) = &mut token {
            *place = (*place + 1) % ids.len();
            tokens += 1;
            if origin == place {
                return Elected { leader: *origin, tokens, rounds: round };
            }
            continue;
        }
        let begins = |id: u64| (id - 1) * n + 1 == round;
        if let Some(origin) = ids.iter().position(|id| begins(*id)) {
            tokens += 1;
            let place = (origin + 1) % ids.len();
            token = Some((origin, place));
            if place == origin {
                return Elected { leader: origin, tokens, rounds: round };
            }
        }
    }
    unreachable!("some phase is not silent")
}

/// Performs an election by the algorithm with variable speeds. `ids` are the identifiers in ring
/// order. The token with the identifier *v* needs 2^v rounds for each hop, so it completes its
/// *h*-th hop at the end of round h·2^v.
pub(crate) fn variable_speeds(ids: &[u64]) -> Elected {
    let size = ids.len();
    let mut smallest = ids.to_vec();
    // Number of hops of each token, by the process that sent it; `None` if it has been discarded.
    let mut travelling: Vec<Option<u64>> = vec![Some(0); size];
    let mut tokens = 0;
    for round in 1.. {
        let mut arrived = Vec::new();
        for origin in 0..size {
            let speed = 1 << ids[origin];
            let Some(hops) = travelling[origin].filter(|_| round % speed == 0) else { continue };
            let place = (origin + hops as usize) % size;
            // A smaller token has arrived at this process while this token waited.
            if smallest[place] < ids[origin] {
                travelling[origin] = None;
                continue;
            }
            tokens += 1;
            travelling[origin] = Some(hops + 1);
            arrived.push((origin, (place + 1) % size));
        }
        for (origin, place) in arrived {
            if origin == place {
                return Elected { leader: origin, tokens, rounds: round };
            }
            if smallest[place] < ids[origin] {
                travelling[origin] = None;
            }
            smallest[place] = smallest[place].min(ids[origin]);
        }
    }
    unreachable!("the smallest token returns")
}
