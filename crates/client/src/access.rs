//! How a client comes to a service.

use crate::certificates::Certificates;
use crate::user::User;

/// How a client comes to a service: as whom, and whom it believes to be a member.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub(crate) user: Option<User>,
    pub(crate) certificates: Option<Certificates>,
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
