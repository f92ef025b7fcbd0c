//! Tokens that somebody uses: each use has one count for its time again, as with etcd.
//!
//! A token says itself until when it counts. A member that has seen it takes it beyond that, as
//! long as it is used; one that has not, or that was started again, does not.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::refusal::Refusal;
use crate::secrets::{Seal, Token};

/// How many are remembered. One that is not counts as long as it says itself.
const MOST: usize = 10_000;

/// When each token was used last.
#[derive(Debug)]
pub(crate) struct Tokens {
    ttl: Duration,
    used: Mutex<HashMap<Seal, Instant>>,
}

impl Tokens {
    /// None so far, each of which counts for so many seconds.
    pub(crate) fn new(ttl: u64) -> Self {
        Tokens { ttl: Duration::from_secs(ttl), used: Mutex::default() }
    }

    /// For how long a token counts that nobody uses.
    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Somebody uses a token, if it still counts.
    pub(crate) fn take(&self, token: &Token, now: Instant) -> Result<(), Refusal> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = used.get(&token.seal).is_some_and(|used| self.is_in_time(*used, now));
        drop(used);
        if token.has_expired && !counts {
            return Err(Refusal::INVALID_TOKEN);
        }
        self.note(token.seal, now);
        Ok(())
    }

    /// Somebody uses a token that counted when they began.
    pub(crate) fn note(&self, seal: Seal, now: Instant) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MOST && !used.contains_key(&seal) {
            used.retain(|_, used| self.is_in_time(*used, now));
            let longest = used.iter().min_by_key(|(_, used)| **used).map(|(seal, _)| *seal);
            if let Some(longest) = longest.filter(|_| used.len() >= MOST) {
                used.remove(&longest);
            }
        }
        used.insert(seal, now);
    }

    #[cfg(test)]
    pub(crate) fn forget(&self) {
        self.used.lock().expect("a lock").clear();
    }

    fn is_in_time(&self, used: Instant, now: Instant) -> bool {
        now.saturating_duration_since(used) < self.ttl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u32, has_expired: bool) -> Token {
        let mut seal = [0; 32];
        seal[..4].copy_from_slice(&number.to_be_bytes());
        Token { name: "bob".into(), seal, has_expired }
    }

    #[test]
    fn a_token_that_is_used_counts_on_and_one_that_is_not_ends() {
        let (tokens, start) = (Tokens::new(10), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let (fresh, expired) = (token(1, false), token(1, true));
        assert_eq!(tokens.take(&expired, at(0)), Err(Refusal::INVALID_TOKEN));
        assert_eq!(tokens.take(&fresh, at(0)), Ok(()));
        for time in [9, 18, 27] {
            assert_eq!(tokens.take(&expired, at(time)), Ok(()), "{time}");
        }
        assert_eq!(tokens.take(&token(2, true), at(27)), Err(Refusal::INVALID_TOKEN));
        assert_eq!(tokens.take(&expired, at(37)), Err(Refusal::INVALID_TOKEN));
        assert_eq!(tokens.take(&expired, at(38)), Err(Refusal::INVALID_TOKEN));
    }

    #[test]
    fn of_more_than_are_remembered_those_are_that_were_used_last() {
        let (tokens, start) = (Tokens::new(u64::MAX), Instant::now());
        let most = u32::try_from(MOST).expect("a number of tokens");
        let at = |number: u32| start + Duration::from_millis(number.into());
        for number in 0..most + 2 {
            assert_eq!(tokens.take(&token(number, false), at(number)), Ok(()));
        }
        assert_eq!(tokens.used.lock().expect("a lock").len(), MOST);
        assert_eq!(tokens.take(&token(1, true), at(most)), Err(Refusal::INVALID_TOKEN));
        assert_eq!(tokens.take(&token(2, true), at(most)), Ok(()));
    }
}
