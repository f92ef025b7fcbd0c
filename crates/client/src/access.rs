//! How a client comes to a service.

use crate::certificates::Certificates;
use crate::user::User;

/// How a client comes to a service: as whom, whom it believes to be a member, and which of them it
/// asks.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub(crate) user: Option<User>,
    pub(crate) certificates: Option<Certificates>,
    /// Whether it asks whichever member it comes to.
    pub(crate) is_any_member: bool,
    /// Upper bound on the bytes of one response; the default of a connection if it is `None`.
    pub(crate) max_response: Option<usize>,
}

impl Access {
    /// As this user.
    #[must_use]
    pub fn user(self, user: User) -> Access {
        Access { user: Some(user), ..self }
    }

    /// Believing these certificates, which `https` endpoints need.
    #[must_use]
    pub fn certificates(self, certificates: Certificates) -> Access {
        Access { certificates: Some(certificates), ..self }
    }

    /// At whichever member it comes to, and not at the one that leads: what is asked takes two
    /// messages more. For clients that ask seldom, and for very many, of which each member has a
    /// share then.
    #[must_use]
    pub fn any_member(self) -> Access {
        Access { is_any_member: true, ..self }
    }
}

impl From<User> for Access {
    fn from(user: User) -> Access {
        Access::default().user(user)
    }
}

impl From<Certificates> for Access {
    fn from(certificates: Certificates) -> Access {
        Access::default().certificates(certificates)
    }
}
