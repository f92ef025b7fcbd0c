//! A session: a lease that is kept alive, as its owner sees it.
//!
//! **Why nobody else is let in while it claims anything.** The service counts a lease from when it
//! takes a renewal, the client from when it sent it, which was before; and the client counts to
//! less, by more than clocks differ. So the client is out first, whatever becomes of the answer,
//! however long it took, and whether or not there is a connection.

use alloc::vec;
use alloc::vec::Vec;

use crate::times::Times;

/// Of two times that run: one for the answer by which the session lives and one for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The one.
    Left,
    /// The other.
    Right,
}

/// The timers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// What was answered to the question of that side may no longer be claimed. It goes before
    /// anything that has arrived.
    Deadline(Side),
    /// The next renewal is due.
    Renewal,
}

/// What is to be done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Ask for the lease or for its renewal, with this number.
    Ask {
        /// By which the answer is known.
        round: u64,
    },
    /// Arm a timer, from now on; one of the same name is replaced.
    Arm(Timer, u64),
    /// Disarm a timer.
    Disarm(Timer),
    /// The session lives from now on.
    Alive,
    /// The session is over. Whatever it held may be another's at any moment.
    Lost(Lost),
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lost {
    /// No renewal was answered in time. The service may still have the lease.
    Silence,
    /// The service says that there is no such lease.
    Gone,
    /// Its owner has ended it.
    Closed,
}

/// A session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// How many questions are told apart: an answer that is late by so many counts as a new one.
    rounds: u64,
    /// The number of the last question.
    round: u64,
    /// The side of the last question, while an answer to it counts.
    asked: Option<Side>,
    /// The side of the question by whose answer the session lives.
    by: Option<Side>,
    ended: Option<Lost>,
}

impl Session {
    /// One that is to begin, whose questions have so many numbers. Beside [`Session::renew`]
    /// nothing is to be done yet.
    pub const fn new(rounds: u64) -> Self {
        Session { rounds, round: 0, asked: None, by: None, ended: None }
    }

    /// Whether what it holds may be claimed.
    pub const fn is_alive(&self) -> bool {
        self.by.is_some()
    }

    /// On which side the time of the answer runs by which it lives.
    pub const fn lives_by(&self) -> Option<Side> {
        self.by
    }

    /// Why it is over, if it is.
    pub const fn ended(&self) -> Option<Lost> {
        self.ended
    }

    /// The number of the last question.
    pub const fn round(&self) -> u64 {
        self.round
    }

    /// Whether a question waits for its answer that would still count.
    pub const fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Asks for the lease, or again for what was not answered, or for its renewal: at first, when
    /// the renewal is due, and when there is a connection again.
    pub fn renew(&mut self, times: &Times) -> Vec<Act> {
        if self.ended.is_some() {
            return Vec::new();
        }
        let side = if self.by == Some(Side::Left) { Side::Right } else { Side::Left };
        self.asked = Some(side);
        self.round = (self.round + 1) % self.rounds.max(1);
        vec![
            Act::Arm(Timer::Deadline(side), times.claim),
            Act::Arm(Timer::Renewal, times.renewal),
            Act::Ask { round: self.round },
        ]
    }

    /// The service has answered a question: the lease lives. What is not the answer to the last
    /// question tells nothing about how long.
    pub fn answered(&mut self, round: u64) -> Vec<Act> {
        let Some(side) = self.asked.take_if(|_| round == self.round) else { return Vec::new() };
        match self.by.replace(side) {
            Some(before) => vec![Act::Disarm(Timer::Deadline(before))],
            None => vec![Act::Alive],
        }
    }

    /// The service says that there is no such lease.
    pub fn gone(&mut self) -> Vec<Act> {
        self.end(Lost::Gone)
    }

    /// The owner ends it. The service is to be told, which need not arrive.
    pub fn close(&mut self) -> Vec<Act> {
        self.end(Lost::Closed)
    }

    /// A timer fires.
    pub fn fired(&mut self, timer: Timer, times: &Times) -> Vec<Act> {
        match timer {
            Timer::Renewal => self.renew(times),
            Timer::Deadline(side) => {
                self.asked = self.asked.filter(|asked| *asked != side);
                if self.by == Some(side) { self.end(Lost::Silence) } else { Vec::new() }
            }
        }
    }

    fn end(&mut self, why: Lost) -> Vec<Act> {
        if self.ended.is_some() {
            return Vec::new();
        }
        *self = Session { ended: Some(why), asked: None, by: None, ..*self };
        let all = [Timer::Deadline(Side::Left), Timer::Deadline(Side::Right), Timer::Renewal];
        all.into_iter().map(Act::Disarm).chain([Act::Lost(why)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { ttl: 10, claim: 9, renewal: 3 };

    fn alive() -> Session {
        let mut session = Session::new(1000);
        let asked = session.renew(&TIMES);
        assert!(asked.contains(&Act::Arm(Timer::Deadline(Side::Left), 9)));
        assert!(asked.ends_with(&[Act::Ask { round: 1 }]));
        assert_eq!(session.answered(1), [Act::Alive]);
        session
    }

    #[test]
    fn it_is_over_when_the_last_question_that_was_answered_is_too_old() {
        let mut session = alive();
        session.fired(Timer::Renewal, &TIMES);
        let over = session.fired(Timer::Deadline(Side::Left), &TIMES);
        assert!(over.ends_with(&[Act::Lost(Lost::Silence)]));
        assert!(session.answered(2).is_empty() && !session.is_alive(), "the answer is too late");
    }

    #[test]
    fn an_answer_moves_the_deadline_to_that_of_its_question() {
        let mut session = alive();
        session.fired(Timer::Renewal, &TIMES);
        assert_eq!(session.answered(2), [Act::Disarm(Timer::Deadline(Side::Left))]);
        assert!(session.fired(Timer::Deadline(Side::Left), &TIMES).is_empty());
        assert!(session.is_alive());
    }

    #[test]
    fn an_answer_to_an_older_question_tells_nothing() {
        let mut session = alive();
        session.fired(Timer::Renewal, &TIMES);
        session.fired(Timer::Renewal, &TIMES);
        assert!(session.answered(2).is_empty());
        assert_eq!(session.answered(3), [Act::Disarm(Timer::Deadline(Side::Left))]);
    }

    #[test]
    fn nothing_was_granted_where_the_first_answer_comes_after_its_time() {
        let mut session = Session::new(1000);
        session.renew(&TIMES);
        assert!(session.fired(Timer::Deadline(Side::Left), &TIMES).is_empty());
        assert!(session.answered(1).is_empty() && !session.is_alive());
        assert_eq!(session.ended(), None, "and it goes on asking");
    }

    #[test]
    fn it_ends_once() {
        let mut session = alive();
        assert!(session.gone().ends_with(&[Act::Lost(Lost::Gone)]));
        assert!(session.close().is_empty() && session.renew(&TIMES).is_empty());
        assert_eq!(session.ended(), Some(Lost::Gone));
    }
}
