//! Authentication and authorization: passwords, tokens, and the rights of callers.

pub(crate) mod caller;
pub(crate) mod password_hasher;
pub(crate) mod secrets;
pub(crate) mod token_uses;
