//! The token ring (G. Le Lann, IFIP Congress, 1977) in the form of textbooks: a token circulates,
//! and its holder may enter.
//!
//! The first process has the token. A holder without a request passes the token on at any moment. A
//! process with a request enters in the step in which it receives the token, and passes it on at
//! its exit.

use super::search::{Outbox, Process, Step};
use super::user::User;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    next: usize,
    requests: u32,
    has_token: bool,
    user: User,
}

/// The token, which is the only message.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token;

pub(crate) fn sites(requests: &[u32]) -> Vec<Site> {
    let site = |(me, count): (usize, &u32)| Site {
        next: (me + 1) % requests.len(),
        requests: *count,
        has_token: me == 0,
        user: User::Outside,
    };
    requests.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Token;

    fn enabled(&self) -> Option<Step> {
        self.user.enabled(self.requests)
    }

    fn also_enabled(&self) -> Option<Step> {
        (self.has_token && self.user == User::Outside).then_some(Step::Expire)
    }

    fn execute(&mut self, step: Step) -> Outbox<Token> {
        if step == Step::Request {
            self.requests -= 1;
            self.user = if self.has_token { User::Inside } else { User::Waiting };
            return Vec::new();
        }
        self.user = User::Outside;
        self.has_token = false;
        vec![(self.next, Token)]
    }

    fn receive(&mut self, _: usize, Token: Token) -> Outbox<Token> {
        self.has_token = true;
        if self.user == User::Waiting {
            self.user = User::Inside;
        }
        Vec::new()
    }
}
