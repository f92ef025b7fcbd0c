//! Stories that shall happen, as data.

use core::fmt;

use tenure_core::{Order, ProcessId, Verdict};

use crate::format::{Kind, units};

/// A story: what shall happen, block by block, and what is expected to come of it.
///
/// ```text
/// # Two ask at once; the smaller stamp wins.
///
/// group 2
/// enter p1; enter p2
/// ----
/// P1 asks Enter
///   sends P2 Request { stamp: (1, P1) }
/// …
/// ```
///
/// A block ends at an empty line. Parse one with [`str::parse`]; [`Display`](fmt::Display) gives
/// the text back. Whoever performs it (the [`Stage`](crate::Stage), an engine) decides what the
/// outcome looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
}

/// Some actions, and what is expected to come of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The number of its first line in the file, from 1.
    pub starts_at: usize,
    /// What shall happen.
    pub lines: Vec<Line>,
    /// What is written under `----`, without the last end of line; `None` without `----`.
    pub outcome: Option<String>,
}

impl Block {
    /// What shall happen, each action with the number of its line.
    pub fn actions(&self) -> impl Iterator<Item = (usize, &Action)> {
        self.lines.iter().enumerate().flat_map(move |(offset, line)| {
            let actions = match line {
                Line::Actions(actions) => actions.as_slice(),
                Line::Comment(_) => &[],
            };
            actions.iter().map(move |action| (self.starts_at + offset, action))
        })
    }
}

/// One line of a block, above `----`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A remark for people, without its `#`.
    Comment(String),
    /// Actions, separated by `;`.
    Actions(Vec<Action>),
}

/// One thing that shall happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `group 3`: from here on, a new group of so many processes, freshly booted.
    Group(u32),
    /// `channel fifo` or `channel reordered`: which messages of a link may be picked.
    Channel(Order),
    /// `enter p1`: the local user asks. Every verb that means nothing else is a command.
    Ask(Asking),
    /// `deliver p2→p1`: the link's oldest message arrives, or the one that is picked.
    Deliver(Pick),
    /// `tell p1→p2`: the first one's application sends a message to the second's.
    Tell {
        /// Who sends.
        from: ProcessId,
        /// To whom.
        to: ProcessId,
    },
    /// `hear p1→p2`, `hear p1→p2 2`: the application's oldest message, or that one, arrives.
    Hear(Pick),
    /// `lose p2→p1`: it never arrives.
    Lose(Pick),
    /// `duplicate p2→p1`: it will arrive twice, the copy right behind it.
    Duplicate(Pick),
    /// `delay p2→p1 by 2.5`: it will arrive so many units later than it would have.
    Delay {
        /// Which message.
        pick: Pick,
        /// How much later, in ticks.
        by: u64,
    },
    /// `fire p1 answer`: an armed timer fires.
    Fire {
        /// Whose.
        at: ProcessId,
        /// Its name or a part of it, in any case, dashes ignored.
        timer: String,
    },
    /// `choose p1 2`: the next number that it draws, if it draws one in its next step, is that.
    Choose {
        /// Who draws.
        at: ProcessId,
        /// What, from 0.
        value: u32,
    },
    /// `mute p1`: what it does from here on is saved, and nobody hears of it: it will crash.
    Mute(ProcessId),
    /// `unsaved p1`: what its next step changes is not saved when it crashes after that.
    Unsaved(ProcessId),
    /// `crash p1`: it loses all but its stable state.
    Crash(ProcessId),
    /// `recover p1`: it boots with what it had saved.
    Recover(ProcessId),
    /// `split p1 | p2 p3`: from here on nothing arrives from one side at another.
    Split(Vec<Vec<ProcessId>>),
    /// `heal`: the network is whole again.
    Heal,
    /// `suspect p1 p2`, `trust p1 p2`: the first one's detector speaks of the second.
    Suspicion {
        /// Who is told.
        at: ProcessId,
        /// Of whom.
        peer: ProcessId,
        /// What.
        verdict: Verdict,
    },
    /// `stabilize`: deliver the oldest message, again and again, until nothing is under way;
    /// `stabilize timers`: and whenever nothing is, let the timer fire that is due first;
    /// `stabilize 20`: no more than so many steps.
    Stabilize {
        /// Whether timers fire.
        timers: bool,
        /// After so many steps it is over, whatever is under way.
        most: Option<u32>,
    },
    /// `look p1`: its state, for the record.
    Look(ProcessId),
}

/// What a local user asks, not yet understood as a command of a particular service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The first word: `enter`.
    pub verb: String,
    /// Whose user asks.
    pub at: ProcessId,
    /// The peer, in `send p1→p2 7`.
    pub peer: Option<ProcessId>,
    /// The words that follow.
    pub words: Vec<String>,
}

/// A message on a link: the oldest, unless something more is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Who sent it.
    pub from: ProcessId,
    /// Who is to receive it.
    pub to: ProcessId,
    /// What it is called; anything when `None`.
    pub kind: Option<String>,
    /// Which of those, the oldest being 1.
    pub ordinal: usize,
}

impl Pick {
    /// The oldest message of a link.
    pub const fn oldest(from: ProcessId, to: ProcessId) -> Self {
        Pick { from, to, kind: None, ordinal: 1 }
    }

    /// The place of the one that is meant among messages, the oldest first: from, to, and what
    /// each is called.
    pub fn among<'m>(
        &self,
        messages: impl IntoIterator<Item = (ProcessId, ProcessId, &'m str)>,
    ) -> Option<usize> {
        let is = |(from, to, kind): &(ProcessId, ProcessId, &str)| {
            (*from, *to) == (self.from, self.to)
                && self.kind.as_ref().is_none_or(|wanted| wanted == kind)
        };
        let mut alike = messages.into_iter().enumerate().filter(|(_, message)| is(message));
        alike.nth(self.ordinal.checked_sub(1)?).map(|(place, _)| place)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, block) in self.blocks.iter().enumerate() {
            if place > 0 {
                writeln!(f)?;
            }
            block.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        match self.outcome.as_deref() {
            None => Ok(()),
            Some("") => writeln!(f, "----"),
            Some(outcome) => writeln!(f, "----\n{outcome}"),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Comment(remark) => write!(f, "#{remark}"),
            Line::Actions(actions) => {
                for (place, action) in actions.iter().enumerate() {
                    let between = if place == 0 { "" } else { "; " };
                    write!(f, "{between}{action}")?;
                }
                Ok(())
            }
        }
    }
}

impl Action {
    /// Whose step it is, if it is anybody's.
    pub(crate) fn actor(&self) -> Option<ProcessId> {
        match self {
            Action::Ask(asking) => Some(asking.at),
            Action::Deliver(pick) | Action::Hear(pick) => Some(pick.to),
            Action::Fire { at, .. }
            | Action::Choose { at, .. }
            | Action::Recover(at)
            | Action::Suspicion { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Whether it is a step by itself, and not what is drawn in the next one, or said of it.
    pub fn is_step(&self) -> bool {
        !matches!(self, Action::Choose { .. } | Action::Unsaved(_))
    }

    /// What a trace says of what happens to the network as a whole. Where every delivery is said,
    /// that is all that comes of it.
    pub fn of_all(&self) -> Option<Kind> {
        match self {
            Action::Split(sides) => Some(Kind::Partition(sides.clone())),
            Action::Heal => Some(Kind::Heal),
            _ => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Group(size) => write!(f, "group {size}"),
            Action::Channel(Order::Fifo) => f.write_str("channel fifo"),
            Action::Channel(Order::Reordered) => f.write_str("channel reordered"),
            Action::Ask(asking) => asking.fmt(f),
            Action::Deliver(pick) => write!(f, "deliver {pick}"),
            Action::Tell { from, to } => write!(f, "tell {}→{}", Small(*from), Small(*to)),
            Action::Hear(pick) => write!(f, "hear {pick}"),
            Action::Lose(pick) => write!(f, "lose {pick}"),
            Action::Duplicate(pick) => write!(f, "duplicate {pick}"),
            Action::Delay { pick, by } => write!(f, "delay {pick} by {}", units::exact(*by)),
            Action::Fire { at, timer } => write!(f, "fire {} {timer}", Small(*at)),
            Action::Choose { at, value } => write!(f, "choose {} {value}", Small(*at)),
            Action::Mute(at) => write!(f, "mute {}", Small(*at)),
            Action::Unsaved(at) => write!(f, "unsaved {}", Small(*at)),
            Action::Crash(at) => write!(f, "crash {}", Small(*at)),
            Action::Recover(at) => write!(f, "recover {}", Small(*at)),
            Action::Split(sides) => {
                let side = |side: &Vec<ProcessId>| {
                    side.iter().map(|at| Small(*at).to_string()).collect::<Vec<_>>().join(" ")
                };
                let sides: Vec<String> = sides.iter().map(side).collect();
                write!(f, "split {}", sides.join(" | "))
            }
            Action::Heal => f.write_str("heal"),
            Action::Suspicion { at, peer, verdict } => {
                let verb = if *verdict == Verdict::Suspect { "suspect" } else { "trust" };
                write!(f, "{verb} {} {}", Small(*at), Small(*peer))
            }
            Action::Stabilize { timers, most } => {
                f.write_str(if *timers { "stabilize timers" } else { "stabilize" })?;
                most.map_or(Ok(()), |most| write!(f, " {most}"))
            }
            Action::Look(at) => write!(f, "look {}", Small(*at)),
        }
    }
}

impl fmt::Display for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, Small(self.at))?;
        if let Some(peer) = self.peer {
            write!(f, "→{}", Small(peer))?;
        }
        self.words.iter().try_for_each(|word| write!(f, " {word}"))
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", Small(self.from), Small(self.to))?;
        if let Some(kind) = &self.kind {
            write!(f, " {kind}")?;
        }
        if self.ordinal == 1 { Ok(()) } else { write!(f, " {}", self.ordinal) }
    }
}

/// A process as scripts spell it: `p1`.
struct Small(ProcessId);

impl fmt::Display for Small {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0.number())
    }
}
