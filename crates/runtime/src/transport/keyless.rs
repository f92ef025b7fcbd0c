//! Stand-ins for the types of keys in builds without the feature `keys`. These types have no
//! values, so a node of such a build has no keys.

/// Replaces the module `keys` in builds without the feature `keys`. The types of this module have
/// no values.
pub(crate) mod keys {
    use std::sync::Arc;

    use tenure_core::{Never, ProcessId};

    /// Keys of a running node. There are none in a build without the feature `keys`.
    #[derive(Clone, Debug)]
    pub struct ReplaceableKeys(Never);

    #[derive(Clone, Debug)]
    pub(crate) struct NodeKeys(Never);

    #[derive(Clone, Debug)]
    pub(crate) struct PrivateKey(Never);

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct PublicKey(#[allow(dead_code, reason = "there are no values")] Never);

    #[derive(Clone, Debug)]
    pub(crate) struct GroupPublicKeys(Never);

    impl ReplaceableKeys {
        pub(crate) fn keys(&self) -> Arc<NodeKeys> {
            match self.0 {}
        }
    }

    impl NodeKeys {
        pub(crate) fn group_size(&self) -> usize {
            match self.0 {}
        }

        pub(crate) fn private(&self) -> &PrivateKey {
            match self.0 {}
        }

        pub(crate) fn group(&self) -> &GroupPublicKeys {
            match self.0 {}
        }
    }

    impl PrivateKey {
        pub(super) fn absent<T>(&self) -> T {
            match self.0 {}
        }
    }

    impl GroupPublicKeys {
        pub(crate) fn owner(&self, _: &[u8]) -> Option<ProcessId> {
            match self.0 {}
        }

        pub(crate) fn key_for_attempt(&self, _: ProcessId, _: usize) -> PublicKey {
            match self.0 {}
        }
    }
}

/// Replaces the module `cipher` in builds without the feature `keys`.
pub(crate) mod cipher {
    use tenure_core::Never;
    use thiserror::Error;

    use super::keys::{PrivateKey, PublicKey};

    /// Stand-in for the size of the length prefix of an encrypted record. Code that reads this size
    /// must compile without the feature `keys`, although no record exists then.
    pub(crate) const RECORD_LENGTH_BYTES: usize = 2;

    /// Failure of a decryption. It cannot occur in a build without the feature `keys`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
    #[error("received data cannot be decrypted: it was modified or is not from the peer")]
    pub(crate) struct CipherError;

    #[derive(Debug)]
    pub(crate) struct KeyExchange(Never);

    #[derive(Debug)]
    pub(crate) struct ConnectionCipher(Never);

    impl KeyExchange {
        pub(crate) fn dial(mine: &PrivateKey, _: PublicKey) -> (KeyExchange, Vec<u8>) {
            mine.absent()
        }

        pub(crate) fn accept(
            mine: &PrivateKey,
            _: &[u8],
        ) -> Result<(KeyExchange, Vec<u8>), CipherError> {
            mine.absent()
        }

        pub(crate) fn respond(self) -> (ConnectionCipher, Vec<u8>) {
            match self.0 {}
        }

        pub(crate) fn finish(self, _: &[u8]) -> Result<ConnectionCipher, CipherError> {
            match self.0 {}
        }
    }

    impl ConnectionCipher {
        pub(crate) fn encrypt(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), CipherError> {
            match self.0 {}
        }

        pub(crate) fn decrypt(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), CipherError> {
            match self.0 {}
        }
    }
}
