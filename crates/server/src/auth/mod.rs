//! Authentication and authorization: passwords, tokens, and the rights of callers.

pub(crate) mod caller;
pub(crate) mod hashing_queue;
pub(crate) mod secrets;
pub(crate) mod token_uses;
