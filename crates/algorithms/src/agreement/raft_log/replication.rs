//! How logs become alike (3.5).
//!
//! **Why logs match.** An entry is sent with the place of the one before it, and taken only where
//! that one is: by induction all before it is alike as well. A log is cut only where it has an
//! entry of another term than the leader's at the same index. What a late or repeated message has
//! is there already, and nothing behind it is touched, though the message be shorter than the log.
//!
//! To a process that answers, a leader sends what is new at once, several messages ahead of the
//! answers. One that rejects is asked, a message at a time, where its log begins to differ; it says
//! which term it has there and where that term begins, so that a question passes over a term and
//! not over an entry. A lost message is noticed by the next heartbeat, which comes behind what was
//! lost.
//!
//! **Ahead** (10.2.1): a leader may send an entry before it stores it, the first of its term too,
//! so that its disk and those of the others work at the same time. It stores it in the step after,
//! and does not count its own copy before. Whoever crashes in between has lost an entry that was
//! not committed, and never leads in that term again, so nobody makes another one of the same term
//! at the same index.
//!
//! **Heartbeats**: messages of the log wait for disks, at the leader and at the others, and behind
//! large entries. With that variant a leader sends a message of its own to whoever has not answered
//! since the last heartbeat, and this is answered at once. Neither rests on what is being saved, so
//! a slow disk deposes no leader. Reads count these answers. That is right, for they only need to
//! know that a majority had not voted in a later term when it answered, and votes are saved before
//! they leave. A leader sends it only after some process has answered for its log in this term:
//! then its own vote is saved, and it never leads in this term a second time.
//!
//! **Together**: what is proposed at the same time is sent in one message, and answered by one. A
//! leader sends in the step after, which a timer without a delay begins: until then an entry is in
//! no other log, which is as if it had been proposed later. What is committed is announced in that
//! step as well, to those to whom it sends no entry.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tenure_core::service::log::{Content, Entry, Event, Reason};
use tenure_core::{Delay, Effects, ProcessId};

use super::config::Switch;
use super::log::Place;
use super::message::Message;
use super::snapshot::Sending;
use super::{Leadership, RaftLog, Role, Timer};

/// How many bytes of users one message has at most, unless a single entry has more: with what is
/// around them that is well below the MiB that a transport takes unless it is told otherwise, which
/// would drop what is longer each time that it is sent again.
const BATCH_BYTES: usize = 1 << 19;

/// What a leader knows of another process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Progress {
    /// `matchIndex`: up to here its log is as ours.
    pub(super) matched: u64,
    /// `nextIndex`: what it is sent next.
    pub(super) next: u64,
    pub(super) flow: Flow,
    /// The last round that it has answered.
    pub(super) round: u64,
    /// Whether a message of the log was answered since the last heartbeat. It is true as long as
    /// [`Switch::Heartbeats`] is off.
    pub(super) answers: bool,
}

/// Whether it is sent what is new before it has answered for what is old.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Flow {
    /// Not before it is known where its log begins to differ; a question is under way, or not.
    Probing { asked: bool },
    /// As much as the window has room for.
    Streaming,
    /// It lacks what our log does not have any more.
    Sending(Box<Sending>),
}

impl Progress {
    /// Of a process of which nothing is known, when our log ends here.
    pub(super) fn behind(last: u64) -> Self {
        let flow = Flow::Probing { asked: false };
        Progress { matched: 0, next: last + 1, flow, round: 0, answers: true }
    }

    /// Whether its log is as ours up to there.
    pub(super) fn has(&self, index: u64) -> bool {
        self.matched >= index
    }
}

impl RaftLog {
    /// Our user appends an entry.
    pub(super) fn propose(&mut self, ticket: u64, content: Content, fx: &mut impl Effects<Self>) {
        if self.hands_over() {
            return self.decline(ticket, Reason::HandingOver, fx);
        }
        let Role::Leader(Leadership { proposed, .. }) = &mut self.role else {
            return self.decline(ticket, Reason::NotLeading, fx);
        };
        if proposed.len() >= self.config.backlog {
            return self.decline(ticket, Reason::Full, fx);
        }
        proposed.push_back((self.log.last().index + 1, ticket));
        let entry = Entry { term: self.term, content };
        self.take(entry, fx);
        self.commit_by_majority(fx);
        if !self.has(Switch::Together) {
            self.send_news_to_all(fx);
        }
    }

    /// Sends what was proposed since it was sent last, and whoever lacks nothing what is committed;
    /// what is ahead of what is stored is stored in the step after.
    pub(super) fn send_together(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { untold, ahead, .. }) = &mut self.role else { return };
        let (announces, stores) = (core::mem::take(untold), *ahead > 0);
        for follower in &self.followers() {
            if !self.send_news(follower, fx) && announces {
                self.announce_to(follower, fx);
            }
        }
        if stores {
            fx.set_timer(Timer::Store, Delay::NONE);
        }
    }

    pub(super) fn send_news_to_all(&mut self, fx: &mut impl Effects<Self>) {
        for follower in &self.followers() {
            self.send_news(follower, fx);
        }
    }

    /// Takes an entry as a leader, to be stored before it is sent, or after.
    pub(super) fn take(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        let has_others = !self.followers().is_empty();
        if has_others && self.has(Switch::Together) {
            fx.set_timer(Timer::Send, Delay::NONE);
        }
        match has_others && self.has(Switch::Ahead) {
            true => self.put_ahead(entry, fx),
            false => self.store(entry, fx),
        }
    }

    /// Has an entry in our log that is sent before it is stored.
    fn put_ahead(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { ahead, .. }) = &mut self.role else { return };
        *ahead += 1;
        if *ahead == 1 && !self.config.variants.has(Switch::Together) {
            fx.set_timer(Timer::Store, Delay::NONE);
        }
        self.log.push(entry);
    }

    /// What was sent is stored, and counts.
    pub(super) fn store_ahead(&mut self, fx: &mut impl Effects<Self>) {
        self.keep_ahead(fx);
        self.commit_by_majority(fx);
    }

    /// Nothing is ahead of what is stored any more.
    pub(super) fn keep_ahead(&mut self, fx: &mut impl Effects<Self>) {
        let first = self.durable() + 1;
        if let Role::Candidate { saved, .. } = &mut self.role
            && saved.take().is_some()
        {
            fx.cancel_timer(Timer::Store);
        }
        let Role::Leader(Leadership { ahead, .. }) = &mut self.role else { return };
        if core::mem::take(ahead) == 0 {
            return;
        }
        fx.cancel_timer(Timer::Store);
        for (index, entry) in (first..).zip(self.log.from(first, u64::MAX, usize::MAX)) {
            fx.emit(Event::Stored { index, entry });
        }
    }

    /// Up to where our log is saved at the end of a step.
    pub(super) fn durable(&self) -> u64 {
        let ahead = match &self.role {
            Role::Leader(Leadership { ahead, .. }) => *ahead,
            _ => 0,
        };
        self.log.last().index - ahead
    }

    /// A leader says that it is there, and asks whoever did not answer once more.
    pub(super) fn beat(&mut self, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Heartbeat, self.config.heartbeat);
        for follower in &self.followers() {
            self.send_heartbeat(follower, fx);
            match &self.role {
                Role::Leader(Leadership { peers, .. })
                    if matches!(peers[follower.index()].flow, Flow::Sending(_)) =>
                {
                    self.ask_for_pieces(follower, fx);
                }
                _ => self.send_batch(follower, fx),
            }
        }
    }

    /// Sends a heartbeat that waits for no disk to a process that has not answered since the last.
    fn send_heartbeat(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        if !self.config.variants.has(Switch::Heartbeats) {
            return;
        }
        let Role::Leader(Leadership { peers, reads, .. }) = &mut self.role else { return };
        let is_saved = peers.iter().any(|progress| progress.matched > 0);
        let answers = core::mem::take(&mut peers[to.index()].answers);
        if is_saved && !answers {
            fx.send(to, Message::Heartbeat { term: self.term, round: reads.round() });
        }
    }

    /// Sends a process what it was not sent yet, if there is something and it may be sent now; says
    /// whether it was sent something.
    pub(super) fn send_news(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) -> bool {
        let mut sent = false;
        while let Role::Leader(Leadership { peers, .. }) = &self.role {
            let progress = &peers[to.index()];
            let waits = match progress.flow {
                Flow::Probing { asked } => asked,
                Flow::Streaming => self.room(progress) == 0,
                Flow::Sending(_) => true,
            };
            if waits || progress.next > self.log.last().index {
                break;
            }
            self.send_batch(to, fx);
            sent = true;
        }
        sent
    }

    /// How many more entries may be under way to a process.
    fn room(&self, progress: &Progress) -> u64 {
        assert!(progress.next > progress.matched, "nobody is sent again what it is known to have");
        let under_way = progress.next - 1 - progress.matched;
        self.config.window.saturating_sub(under_way)
    }

    /// Sends a process what comes next, which may be nothing: then it is a heartbeat.
    fn send_batch(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, reads, .. }) = &self.role else { return };
        let (progress, round) = (&peers[to.index()], reads.round());
        let known = self.reported(progress);
        let most = match progress.flow {
            Flow::Streaming => self.config.batch.min(self.room(progress)),
            Flow::Probing { .. } | Flow::Sending(_) => self.config.batch,
        };
        let first = progress.next;
        let Some(behind) = self.log.place(first - 1) else { return self.begin_sending(to, fx) };
        let entries = self.log.from(first, most, BATCH_BYTES);
        let (term, commit, sent) = (self.term, self.commit, entries.len() as u64);
        if let Role::Leader(Leadership { peers, .. }) = &mut self.role {
            let progress = &mut peers[to.index()];
            match &mut progress.flow {
                Flow::Probing { asked } => *asked = true,
                Flow::Streaming => progress.next += sent,
                Flow::Sending(_) => {}
            }
        }
        fx.send(to, Message::Append { term, behind, entries, commit, round, known });
    }

    /// Takes what the leader of our term sends, and answers.
    pub(super) fn accept(
        &mut self,
        behind: Place,
        entries: Vec<Entry>,
        commit: u64,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) -> Message {
        let term = self.term;
        // For what our snapshot stands is committed, so it is as in the log of any leader.
        let is_compacted = behind.index < self.log.base().index;
        if !is_compacted && !self.log.has(behind) {
            let conflict = self.conflict(behind);
            return Message::Rejected { term, behind: behind.index, conflict, round };
        }
        let end = behind.index + entries.len() as u64;
        let indexed = || (behind.index + 1..).zip(&entries);
        let differs = |(index, entry): &(u64, &Entry)| {
            self.log.place(*index).is_some_and(|place| place.term != entry.term)
        };
        let conflict = indexed().find(differs).map(|(index, _)| index);
        if let Some(from) = self.cut(conflict, end).filter(|from| *from <= self.log.last().index) {
            self.cut_log(from, fx);
        }
        let known = self.log.last().index.saturating_sub(behind.index);
        let new = entries.into_iter().skip(usize::try_from(known).unwrap_or(usize::MAX));
        new.for_each(|entry| self.store(entry, fx));
        self.commit_to(commit.min(end), fx);
        Message::Appended { term, matched: end, round }
    }

    /// Where our log may begin to differ from one that has this entry.
    fn conflict(&self, behind: Place) -> Place {
        let after = Place { index: self.log.last().index + 1, term: 0 };
        self.log.first_of_its_term(behind.index).unwrap_or(after)
    }

    /// A process has what we have, up to there.
    pub(super) fn on_appended(
        &mut self,
        from: ProcessId,
        matched: u64,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let last = self.log.last().index;
        let Role::Leader(Leadership { peers, reads, .. }) = &mut self.role else { return };
        if matched > last || round > reads.round() {
            return;
        }
        let progress = &mut peers[from.index()];
        progress.answers = true;
        progress.matched = progress.matched.max(matched);
        progress.next = progress.next.max(progress.matched + 1);
        // Who is sent a snapshot goes on until it has that, whatever a late answer says.
        let matched = progress.matched;
        if !matches!(&progress.flow, Flow::Sending(sending) if sending.is_ahead_of(matched)) {
            progress.flow = Flow::Streaming;
        }
        self.commit_by_majority(fx);
        self.hear(from, round, fx);
        self.send_news(from, fx);
        self.go_on_handing_over(from, fx);
    }

    /// A process lacks what we took it to have: asks further back.
    pub(super) fn on_rejected(
        &mut self,
        from: ProcessId,
        behind: u64,
        conflict: Place,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Role::Leader(Leadership { peers, reads, .. }) = &mut self.role else { return };
        if round > reads.round() {
            return;
        }
        let progress = &mut peers[from.index()];
        progress.answers = true;
        let asked = match progress.flow {
            Flow::Probing { .. } => behind.checked_add(1) == Some(progress.next),
            Flow::Streaming => behind < progress.next,
            Flow::Sending(_) => false,
        };
        if asked && behind > progress.matched {
            let ours = self.log.last_of(conflict.term, behind).filter(|_| conflict.term > 0);
            let next = ours.map_or(conflict.index, |place| place.index + 1);
            progress.next = next.clamp(progress.matched + 1, behind);
            progress.flow = Flow::Probing { asked: false };
        }
        self.hear(from, round, fx);
        self.send_news(from, fx);
    }

    /// A process has answered us, up to this question.
    pub(super) fn hear(&mut self, from: ProcessId, round: u64, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, heard, reads, .. }) = &mut self.role else { return };
        if round > reads.round() {
            return;
        }
        heard.insert(from);
        let progress = &mut peers[from.index()];
        progress.round = progress.round.max(round);
        self.answer_reads(fx);
    }
}
