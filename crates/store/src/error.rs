//! Why a request is refused, in the words that clients of etcd know.

use core::fmt;

/// Why a request is refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Error {
    /// No key was given.
    EmptyKey,
    /// A value was given though the one that is there should be kept.
    ValueProvided,
    /// A lease was given though the one that is there should be kept.
    LeaseProvided,
    /// What should be kept is not there.
    KeyNotFound,
    /// A transaction would write a key twice.
    DuplicateKey,
    /// A transaction has more operations than one may have.
    TooManyOperations,
    /// The revision is older than what is kept.
    Compacted,
    /// The revision is yet to come.
    FutureRevision,
    /// No such lease; it may have been one.
    LeaseNotFound,
    /// There is a lease of this name.
    LeaseExists,
    /// A lease would last too long.
    TtlTooLarge,
}

/// The code of gRPC under which an error is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request can never be served.
    InvalidArgument,
    /// What it is about does not exist.
    NotFound,
    /// What it would make exists.
    FailedPrecondition,
    /// A number lies outside of what there is.
    OutOfRange,
}

impl Error {
    /// All of them.
    pub const ALL: [Error; 11] = [
        Error::EmptyKey,
        Error::ValueProvided,
        Error::LeaseProvided,
        Error::KeyNotFound,
        Error::DuplicateKey,
        Error::TooManyOperations,
        Error::Compacted,
        Error::FutureRevision,
        Error::LeaseNotFound,
        Error::LeaseExists,
        Error::TtlTooLarge,
    ];

    /// The words of etcd, which clients compare.
    pub const fn words(self) -> &'static str {
        match self {
            Error::EmptyKey => "etcdserver: key is not provided",
            Error::ValueProvided => "etcdserver: value is provided",
            Error::LeaseProvided => "etcdserver: lease is provided",
            Error::KeyNotFound => "etcdserver: key not found",
            Error::DuplicateKey => "etcdserver: duplicate key given in txn request",
            Error::TooManyOperations => "etcdserver: too many operations in txn request",
            Error::Compacted => "etcdserver: mvcc: required revision has been compacted",
            Error::FutureRevision => "etcdserver: mvcc: required revision is a future revision",
            Error::LeaseNotFound => "etcdserver: requested lease not found",
            Error::LeaseExists => "etcdserver: lease already exists",
            Error::TtlTooLarge => "etcdserver: too large lease TTL",
        }
    }

    /// The code of gRPC that goes with them.
    pub const fn code(self) -> Code {
        match self {
            Error::EmptyKey
            | Error::ValueProvided
            | Error::LeaseProvided
            | Error::KeyNotFound
            | Error::DuplicateKey
            | Error::TooManyOperations => Code::InvalidArgument,
            Error::LeaseNotFound => Code::NotFound,
            Error::LeaseExists => Code::FailedPrecondition,
            Error::Compacted | Error::FutureRevision | Error::TtlTooLarge => Code::OutOfRange,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl core::error::Error for Error {}
