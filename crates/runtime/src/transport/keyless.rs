//! What stands for keys in a program that was built without them: types of which there are no
//! values, so that a node which would need keys cannot be made.

/// Keys that nobody has.
pub(crate) mod keys {
    use std::sync::Arc;

    use tenure_core::{Never, ProcessId};

    /// The keys of a node that runs: there are none in a program that was built without the feature
    /// `keys`.
    #[derive(Clone, Debug)]
    pub struct Keyring(Never);

    #[derive(Clone, Debug)]
    pub(crate) struct Keys(Never);

    #[derive(Clone, Debug)]
    pub(crate) struct PrivateKey(Never);

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct PublicKey(#[allow(dead_code, reason = "there is none to be read")] Never);

    #[derive(Clone, Debug)]
    pub(crate) struct GroupKeys(Never);

    impl Keyring {
        pub(crate) fn keys(&self) -> Arc<Keys> {
            match self.0 {}
        }
    }

    impl Keys {
        pub(crate) fn size(&self) -> usize {
            match self.0 {}
        }

        pub(crate) fn private(&self) -> &PrivateKey {
            match self.0 {}
        }

        pub(crate) fn group(&self) -> &GroupKeys {
            match self.0 {}
        }
    }

    impl PrivateKey {
        pub(super) fn absent<T>(&self) -> T {
            match self.0 {}
        }
    }

    impl GroupKeys {
        pub(crate) fn owner(&self, _: &[u8]) -> Option<ProcessId> {
            match self.0 {}
        }

        pub(crate) fn expected(&self, _: ProcessId, _: usize) -> PublicKey {
            match self.0 {}
        }
    }
}

/// Seals that nothing can be put under.
pub(crate) mod seal {
    use tenure_core::Never;
    use thiserror::Error;

    use super::keys::{PrivateKey, PublicKey};

    /// The bytes of the length in front of a record.
    pub(crate) const RECORD_LENGTH_BYTES: usize = 2;

    /// What came is not sealed by whom it should be.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
    #[error("what came does not open: it was changed, or is not of the peer")]
    pub(crate) struct Unsealed;

    #[derive(Debug)]
    pub(crate) struct Exchange(Never);

    #[derive(Debug)]
    pub(crate) struct Seal(Never);

    impl Exchange {
        pub(crate) fn dial(mine: &PrivateKey, _: PublicKey) -> (Exchange, Vec<u8>) {
            mine.absent()
        }

        pub(crate) fn accept(mine: &PrivateKey, _: &[u8]) -> Result<(Exchange, Vec<u8>), Unsealed> {
            mine.absent()
        }

        pub(crate) fn answer(self) -> (Seal, Vec<u8>) {
            match self.0 {}
        }

        pub(crate) fn answered(self, _: &[u8]) -> Result<Seal, Unsealed> {
            match self.0 {}
        }
    }

    impl Seal {
        pub(crate) fn close(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), Unsealed> {
            match self.0 {}
        }

        pub(crate) fn open(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), Unsealed> {
            match self.0 {}
        }
    }
}
