//! Recent uses of tokens. Each use extends the validity of a token, as at etcd.
//!
//! A token contains an expiry time. A member accepts the token after this time if the member has
//! recently seen a use of the token. Any other member rejects the token after its expiry time. A
//! member that restarts loses its record of recent uses.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::auth::secrets::{TokenSignature, VerifiedToken};
use crate::rpc::error::RpcError;

/// Upper bound on the number of tokens whose last use is recorded. At this bound, the member
/// forgets the tokens that were not used recently, or else the token with the oldest use. A
/// forgotten token is valid only until its own expiry time.
const MAX_TOKENS: usize = 10_000;

#[derive(Debug)]
pub(crate) struct TokenUses {
    ttl: Duration,
    used: Mutex<HashMap<TokenSignature, Instant>>,
}

impl TokenUses {
    /// Creates an empty record of uses. A use of a token makes the token valid for `ttl_seconds`
    /// seconds after this use.
    pub(crate) fn new(ttl_seconds: u64) -> Self {
        TokenUses { ttl: Duration::from_secs(ttl_seconds), used: Mutex::default() }
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Checks that a token may be used at the time `now`, and records this use. Accepts a token
    /// that has not expired. Also accepts an expired token if its last recorded use is less than
    /// the configured time to live ago. Otherwise fails with [`RpcError::INVALID_TOKEN`], and
    /// records nothing.
    pub(crate) fn check_and_use(
        &self,
        token: &VerifiedToken,
        now: Instant,
    ) -> Result<(), RpcError> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_used = used.get(&token.signature).is_some_and(|used| self.is_in_use(*used, now));
        drop(used);
        if token.is_expired && !is_used {
            return Err(RpcError::INVALID_TOKEN);
        }
        self.record_use(token.signature, now);
        Ok(())
    }

    /// Records a use of a token at the time `now`. The caller must have checked the token.
    pub(crate) fn record_use(&self, signature: TokenSignature, now: Instant) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MAX_TOKENS && !used.contains_key(&signature) {
            used.retain(|_, used| self.is_in_use(*used, now));
            let oldest =
                used.iter().min_by_key(|(_, used)| **used).map(|(signature, _)| *signature);
            if let Some(oldest) = oldest.filter(|_| used.len() >= MAX_TOKENS) {
                used.remove(&oldest);
            }
        }
        used.insert(signature, now);
    }

    #[cfg(test)]
    pub(crate) fn clear(&self) {
        self.used.lock().expect("a lock").clear();
    }

    fn is_in_use(&self, used: Instant, now: Instant) -> bool {
        now.saturating_duration_since(used) < self.ttl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u32, is_expired: bool) -> VerifiedToken {
        let mut signature = [0; 32];
        signature[..4].copy_from_slice(&number.to_be_bytes());
        VerifiedToken { name: "bob".into(), signature, is_expired }
    }

    #[test]
    fn token_stays_valid_while_it_is_used() {
        let (token_uses, start) = (TokenUses::new(10), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let (fresh, expired) = (token(1, false), token(1, true));
        assert_eq!(token_uses.check_and_use(&expired, at(0)), Err(RpcError::INVALID_TOKEN));
        assert_eq!(token_uses.check_and_use(&fresh, at(0)), Ok(()));
        for time in [9, 18, 27] {
            assert_eq!(token_uses.check_and_use(&expired, at(time)), Ok(()), "{time}");
        }
        assert_eq!(token_uses.check_and_use(&token(2, true), at(27)), Err(RpcError::INVALID_TOKEN));
        assert_eq!(token_uses.check_and_use(&expired, at(37)), Err(RpcError::INVALID_TOKEN));
        assert_eq!(token_uses.check_and_use(&expired, at(38)), Err(RpcError::INVALID_TOKEN));
    }

    #[test]
    fn least_recently_used_tokens_are_forgotten() {
        let (token_uses, start) = (TokenUses::new(u64::MAX), Instant::now());
        let most = u32::try_from(MAX_TOKENS).expect("a number of tokens");
        let at = |number: u32| start + Duration::from_millis(number.into());
        for number in 0..most + 2 {
            assert_eq!(token_uses.check_and_use(&token(number, false), at(number)), Ok(()));
        }
        assert_eq!(token_uses.used.lock().expect("a lock").len(), MAX_TOKENS);
        assert_eq!(
            token_uses.check_and_use(&token(1, true), at(most)),
            Err(RpcError::INVALID_TOKEN)
        );
        assert_eq!(token_uses.check_and_use(&token(2, true), at(most)), Ok(()));
    }
}
