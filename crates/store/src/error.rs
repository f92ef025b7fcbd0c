//! Errors of the store. If etcd has the same error, both have the same message.

use core::fmt;

/// Defines the errors. Each line has the gRPC status code of an error and its message.
macro_rules! errors {
    ($($(#[$doc:meta])* $Name:ident: $Code:ident, $message:literal;)+) => {
        /// Error of a command or a read. A command or a read that fails changes nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Error {
            $($(#[$doc])* $Name,)+
        }

        impl Error {
            /// All errors, in the order of their declaration, for tests of their messages and
            /// codes.
            pub const ALL: [Error; 27] = [$(Error::$Name),+];

            /// Returns the message of the error. Clients of etcd compare the text, so it is the
            /// same as in etcd, if etcd has the error.
            pub const fn message(self) -> &'static str {
                match self {
                    $(Error::$Name => $message,)+
                }
            }

            /// Returns the gRPC status code of the error.
            pub const fn code(self) -> Code {
                match self {
                    $(Error::$Name => Code::$Code,)+
                }
            }
        }
    };
}

errors! {
    /// The key in the request is empty.
    EmptyKey: InvalidArgument, "etcdserver: key is not provided";
    /// The command contains a value, but requests that the key keep its current value.
    ValueProvided: InvalidArgument, "etcdserver: value is provided";
    /// The command contains a lease, but requests that the key keep its current lease.
    LeaseProvided: InvalidArgument, "etcdserver: lease is provided";
    /// A command requests that a key keep its value or its lease, but the key does not exist. The
    /// server also uses this error for an operation of a transaction without a request, as etcd
    /// does.
    KeyNotFound: InvalidArgument, "etcdserver: key not found";
    /// A transaction puts a key twice, or puts and deletes the same key.
    DuplicateKey: InvalidArgument, "etcdserver: duplicate key given in txn request";
    /// A transaction has too many operations.
    TooManyOperations: InvalidArgument, "etcdserver: too many operations in txn request";
    /// The name of a lock or an election has more than
    /// [`MAX_NAME_SLASHES`](crate::MAX_NAME_SLASHES) slashes.
    NameTooDeep: InvalidArgument, "tenure: the name of the lock has more than 32 slashes";
    /// The requested revision was discarded, so it can no longer be read. For a compaction: the
    /// requested revision is not greater than the oldest revision of the history.
    Compacted: OutOfRange, "etcdserver: mvcc: required revision has been compacted";
    /// The requested revision does not exist yet.
    FutureRevision: OutOfRange, "etcdserver: mvcc: required revision is a future revision";
    /// The request names a lease that does not exist.
    LeaseNotFound: NotFound, "etcdserver: requested lease not found";
    /// The request creates a lease with the ID 0, or with the ID of an existing lease.
    LeaseExists: FailedPrecondition, "etcdserver: lease already exists";
    /// The requested TTL of the lease exceeds [`MAX_TTL_SECONDS`](crate::MAX_TTL_SECONDS).
    TtlTooLarge: OutOfRange, "etcdserver: too large lease TTL";
    /// The command puts a key or grants a lease. The alarm [`NoSpace`](crate::Alarm::NoSpace) is
    /// active, or the command would exceed the quota.
    NoSpace: ResourceExhausted, "etcdserver: mvcc: database space exceeded";
    /// The client requests a token, but authentication is not enabled.
    AccessDisabled: FailedPrecondition, "etcdserver: authentication is not enabled";
    /// Authentication is enabled, and the client has not authenticated. Also: the name of a new
    /// user is empty.
    UserEmpty: InvalidArgument, "etcdserver: user name is empty";
    /// The request creates a user, but a user with this name exists.
    UserExists: FailedPrecondition, "etcdserver: user name already exists";
    /// The request names a user that does not exist.
    UserNotFound: FailedPrecondition, "etcdserver: user name not found";
    /// The request contains an empty name of a role.
    RoleEmpty: InvalidArgument, "etcdserver: role name is empty";
    /// The request creates a role, but a role with this name exists.
    RoleExists: FailedPrecondition, "etcdserver: role name already exists";
    /// The request names a role that does not exist.
    RoleNotFound: FailedPrecondition, "etcdserver: role name not found";
    /// The request revokes a role that the user does not have.
    RoleNotGranted: FailedPrecondition, "etcdserver: role is not granted to the user";
    /// The role does not have the permission that should be revoked.
    PermissionNotGranted: FailedPrecondition, "etcdserver: permission is not granted to the role";
    /// The principal lacks the permission for the request, or is a user that does not exist.
    PermissionDenied: PermissionDenied, "etcdserver: permission denied";
    /// Authentication cannot be enabled, because there is no root user who could disable it again.
    RootUserMissing: FailedPrecondition, "etcdserver: root user does not exist";
    /// The root user lacks the root role. Therefore authentication cannot be enabled.
    RootRoleMissing: FailedPrecondition, "etcdserver: root user does not have root role";
    /// Authentication is enabled, and the change would delete the user root or the role root, or
    /// revoke this role from this user.
    AccessWouldBeLost: InvalidArgument, "etcdserver: invalid auth management";
    /// The command contains the first claims on names with too many keys below them.
    QueuesTooLong: ResourceExhausted, "tenure: more than 1048576 keys below the names of locks";
}

/// gRPC status code of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request is invalid. A few of these errors, such as [`Error::KeyNotFound`], depend on the
    /// state of the store.
    InvalidArgument,
    /// The lease of the request does not exist.
    NotFound,
    /// The state of the store does not allow the request.
    FailedPrecondition,
    /// The principal lacks the permission for the request.
    PermissionDenied,
    /// A number in the request is out of range.
    OutOfRange,
    /// The alarm [`NoSpace`](crate::Alarm::NoSpace) is active, or the request would exceed the
    /// quota.
    ResourceExhausted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl core::error::Error for Error {}
