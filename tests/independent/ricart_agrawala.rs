//! G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer networks*,
//! CACM 24(1), 1981: the clock is the highest number of any request, sent or seen, and a reply
//! says nothing but that it is one.

use super::search::{Act, Process, Sent};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    /// How often the user will still ask.
    wishes: u32,
    highest: u64,
    /// Our number, and who has not replied; nobody is left when we are inside.
    claim: Option<(u64, Vec<usize>)>,
    deferred: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(u64),
    Reply,
}

pub(crate) fn sites(wishes: &[u32]) -> Vec<Site> {
    let site = |(me, wishes_of): (usize, &u32)| Site {
        me,
        size: wishes.len(),
        wishes: *wishes_of,
        highest: 0,
        claim: None,
        deferred: Vec::new(),
    };
    wishes.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn may(&self) -> Option<Act> {
        match &self.claim {
            None => (self.wishes > 0).then_some(Act::Ask),
            Some((_, awaited)) => awaited.is_empty().then_some(Act::Leave),
        }
    }

    fn act(&mut self, act: Act) -> Sent<Message> {
        if act == Act::Ask {
            self.wishes -= 1;
            self.highest += 1;
            let others: Vec<usize> = (0..self.size).filter(|it| *it != self.me).collect();
            self.claim = Some((self.highest, others.clone()));
            return others.into_iter().map(|it| (it, Message::Request(self.highest))).collect();
        }
        self.claim = None;
        self.deferred.drain(..).map(|it| (it, Message::Reply)).collect()
    }

    fn hear(&mut self, from: usize, message: Message) -> Sent<Message> {
        match message {
            Message::Request(number) => {
                self.highest = self.highest.max(number);
                let first = |(ours, awaited): &(u64, Vec<usize>)| {
                    awaited.is_empty() || (*ours, self.me) < (number, from)
                };
                if self.claim.as_ref().is_some_and(first) {
                    self.deferred.push(from);
                    self.deferred.sort_unstable();
                    return Vec::new();
                }
                vec![(from, Message::Reply)]
            }
            Message::Reply => {
                let (_, awaited) = self.claim.as_mut().expect("a reply answers a request");
                awaited.retain(|it| *it != from);
                Vec::new()
            }
        }
    }
}
