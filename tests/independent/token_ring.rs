//! The token ring (G. Le Lann, IFIP Congress, 1977) as textbooks tell it: a token goes round, and
//! whoever has it may enter.
//!
//! The first process has the token. A holder that does not want to enter passes it on at any
//! moment; one that wants to when it arrives enters in the same step, and passes it on when it
//! leaves.

use super::search::{Act, Process, Sent};
use super::user::User;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    next: usize,
    wishes: u32,
    has_token: bool,
    user: User,
}

/// The token itself.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token;

pub(crate) fn sites(wishes: &[u32]) -> Vec<Site> {
    let site = |(me, wishes_of): (usize, &u32)| Site {
        next: (me + 1) % wishes.len(),
        wishes: *wishes_of,
        has_token: me == 0,
        user: User::Outside,
    };
    wishes.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Token;

    fn may(&self) -> Option<Act> {
        self.user.may(self.wishes)
    }

    fn may_as_well(&self) -> Option<Act> {
        (self.has_token && self.user == User::Outside).then_some(Act::Fire)
    }

    fn act(&mut self, act: Act) -> Sent<Token> {
        if act == Act::Ask {
            self.wishes -= 1;
            self.user = if self.has_token { User::Inside } else { User::Waiting };
            return Vec::new();
        }
        self.user = User::Outside;
        self.has_token = false;
        vec![(self.next, Token)]
    }

    fn hear(&mut self, _: usize, Token: Token) -> Sent<Token> {
        self.has_token = true;
        if self.user == User::Waiting {
            self.user = User::Inside;
        }
        Vec::new()
    }
}
