//! Options for a connection to a service.

use crate::tls::Certificates;
use crate::user::User;

/// Options for a connection to a service: the user, the certificates, and the choice of the member.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    pub(crate) user: Option<User>,
    pub(crate) certificates: Option<Certificates>,
    /// True if requests may go to any member. If false, the client connects to the leader.
    pub(crate) can_use_any_member: bool,
    /// Upper bound on the bytes of one response; `None` for the default.
    pub(crate) max_response: Option<usize>,
}

impl ConnectOptions {
    /// Sets the user as which the client authenticates. By default, the client does not
    /// authenticate.
    #[must_use]
    pub fn user(self, user: User) -> ConnectOptions {
        ConnectOptions { user: Some(user), ..self }
    }

    /// Sets the certificates for TLS connections. Endpoints with `https` require them.
    #[must_use]
    pub fn certificates(self, certificates: Certificates) -> ConnectOptions {
        ConnectOptions { certificates: Some(certificates), ..self }
    }

    /// Makes the client stay connected to any member instead of moving to the leader. A request to
    /// a member that does not lead takes two more messages, between that member and the leader.
    ///
    /// Use this for clients that send few requests, and to spread many clients over the members.
    #[must_use]
    pub fn any_member(self) -> ConnectOptions {
        ConnectOptions { can_use_any_member: true, ..self }
    }
}

impl From<User> for ConnectOptions {
    fn from(user: User) -> ConnectOptions {
        ConnectOptions::default().user(user)
    }
}

impl From<Certificates> for ConnectOptions {
    fn from(certificates: Certificates) -> ConnectOptions {
        ConnectOptions::default().certificates(certificates)
    }
}
