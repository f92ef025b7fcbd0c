//! Scripts: the types of their blocks and actions.

use core::fmt;

use tenure_core::{ChannelOrder, PeerVerdict, ProcessId};

use crate::format::{RecordKind, units};

/// Script: actions, block by block, with their expected outcome.
///
/// ```text
/// # Two requests at once; the smaller timestamp wins.
///
/// group 2
/// enter p1; enter p2
/// ----
/// P1 asks Enter
///   sends P2 Request { stamp: (1, P1) }
/// …
/// ```
///
/// A block ends at an empty line. Parse a script with [`str::parse`]; [`Display`](fmt::Display)
/// formats it again. The engine that performs the script, such as
/// [`TestCluster`](crate::TestCluster), defines the form of the outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Blocks of the script, in order.
    pub blocks: Vec<ScriptBlock>,
}

/// A block of a script: actions with their expected outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptBlock {
    /// Number of the block's first line in the file, from 1.
    pub first_line_number: usize,
    /// Lines of actions and comments.
    pub lines: Vec<ScriptLine>,
    /// Expected outcome: the text below `----`, without its last line end. `None` if the block has
    /// no `----`.
    pub outcome: Option<String>,
}

impl ScriptBlock {
    /// Returns each action with the number of its line, from 1.
    pub fn actions_with_lines(&self) -> impl Iterator<Item = (usize, &ScriptAction)> {
        self.lines.iter().enumerate().flat_map(move |(offset, line)| {
            let actions = match line {
                ScriptLine::Actions(actions) => actions.as_slice(),
                ScriptLine::Comment(_) => &[],
            };
            actions.iter().map(move |action| (self.first_line_number + offset, action))
        })
    }
}

/// A line of a block: a comment or actions. The lines of the expected outcome are not included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptLine {
    /// Comment, without its `#`.
    Comment(String),
    /// Actions, separated by `;`.
    Actions(Vec<ScriptAction>),
}

/// Action of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptAction {
    /// `group 3`: starts a new group of this size.
    Group(u32),
    /// `channel fifo`: each link delivers messages in the order in which they were sent.
    /// `channel reordered`: each link may deliver messages in any order.
    Channel(ChannelOrder),
    /// `enter p1`: the local user issues a command. A verb that has no other meaning is a command.
    Command(ScriptCommand),
    /// `deliver p2→p1`: delivers a message of the link. By default, this is the oldest message.
    Deliver(MessageSelector),
    /// `tell p1→p2`: the application of one process sends a message to the application of another
    /// process.
    Tell {
        /// Process whose application sends the message.
        from: ProcessId,
        /// Process whose application receives the message.
        to: ProcessId,
    },
    /// `hear p1→p2`, `hear p1→p2 2`: delivers a message from the application of one process to the
    /// application of another. The number is the position of the message on the link, from 1 for
    /// the oldest message. The default is 1.
    Hear(MessageSelector),
    /// `lose p2→p1`: drops a message of the link. By default, this is the oldest message.
    Lose(MessageSelector),
    /// `duplicate p2→p1`: duplicates a message of the link. By default, this is the oldest message.
    /// The copy directly follows the message on the link.
    Duplicate(MessageSelector),
    /// `delay p2→p1 by 2.5`: delays a message by this number of units.
    Delay {
        /// Message to delay.
        pick: MessageSelector,
        /// Additional delay of the message, in ticks.
        by: u64,
    },
    /// `fire p1 answer`: fires an armed timer.
    Fire {
        /// Process whose timer fires.
        at: ProcessId,
        /// Name of the timer, or a part of the name. Case, dashes, underscores and spaces are
        /// ignored.
        timer: String,
    },
    /// `choose p1 2`: prescribes the next random number that the process draws. Several such
    /// actions before one step prescribe the numbers that this step draws, in order.
    Choose {
        /// Process that draws the number.
        at: ProcessId,
        /// The number, from 0.
        value: u32,
    },
    /// `mute p1`: makes the process mute. From now on it sends no messages, emits no events and
    /// sets no timers, and saves its state as [`MuteState`](crate::MuteState) describes. The script
    /// must crash the process later.
    Mute(ProcessId),
    /// `unsaved p1`: the process does not save its next step. The crash that follows undoes this
    /// step.
    Unsaved(ProcessId),
    /// `crash p1`: the process loses everything except its saved state.
    Crash(ProcessId),
    /// `recover p1`: the process boots with its saved state.
    Recover(ProcessId),
    /// `split p1 | p2 p3`: partitions the network into these groups of processes.
    Split(Vec<Vec<ProcessId>>),
    /// `heal`: ends the partition.
    Heal,
    /// `suspect p1 p2`, `trust p1 p2`: the failure detector of the first process changes its
    /// verdict on the second process.
    Suspicion {
        /// Process that receives the verdict.
        at: ProcessId,
        /// Peer that the failure detector suspects or trusts.
        peer: ProcessId,
        /// New verdict: the peer is suspected or trusted from now on.
        verdict: PeerVerdict,
    },
    /// `stabilize`: delivers the oldest message that no partition blocks, until there is no such
    /// message.
    ///
    /// `stabilize timers` also fires timers: whenever there is no such message, the timer that is
    /// due first. `stabilize 20` takes at most this number of steps.
    Stabilize {
        /// True if `stabilize` fires timers.
        timers: bool,
        /// Maximum number of steps. `None` if steps are taken until no further step is possible.
        most: Option<u32>,
    },
    /// `look p1`: adds the state of the process to the transcript.
    Look(ProcessId),
}

/// Command of a local user, as a script contains it. It is not yet converted to a command of a
/// service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptCommand {
    /// First word of the command, such as `enter`.
    pub verb: String,
    /// Process whose user issues the command.
    pub at: ProcessId,
    /// Second process of the command, such as `p2` in `send p1→p2 7`. `None` for most commands.
    pub peer: Option<ProcessId>,
    /// Further words of the command, such as the name of a lock.
    pub words: Vec<String>,
}

/// Selects one message among the messages in flight on a link. By default, this is the oldest
/// message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSelector {
    /// Process that sent the message.
    pub from: ProcessId,
    /// Process to which the message is addressed.
    pub to: ProcessId,
    /// Name of the message. `None` matches every message.
    pub kind: Option<String>,
    /// Position among the matching messages, from 1 for the oldest.
    pub ordinal: usize,
}

impl MessageSelector {
    /// Selects the oldest message of a link.
    pub const fn oldest(from: ProcessId, to: ProcessId) -> Self {
        MessageSelector { from, to, kind: None, ordinal: 1 }
    }

    /// Returns the index of the selected message among `messages`. Each message is given by its
    /// sender, receiver and name, from the oldest to the newest. `None` if no message matches.
    pub fn index_in<'m>(
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

impl fmt::Display for ScriptBlock {
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

impl fmt::Display for ScriptLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptLine::Comment(remark) => write!(f, "#{remark}"),
            ScriptLine::Actions(actions) => {
                for (place, action) in actions.iter().enumerate() {
                    let between = if place == 0 { "" } else { "; " };
                    write!(f, "{between}{action}")?;
                }
                Ok(())
            }
        }
    }
}

impl ScriptAction {
    /// Returns the process that takes a step in this action. For `choose`, returns the process
    /// whose random number the action sets. `None` for all other actions, such as a partition of
    /// the network.
    pub(crate) fn actor(&self) -> Option<ProcessId> {
        match self {
            ScriptAction::Command(script_command) => Some(script_command.at),
            ScriptAction::Deliver(pick) | ScriptAction::Hear(pick) => Some(pick.to),
            ScriptAction::Fire { at, .. }
            | ScriptAction::Choose { at, .. }
            | ScriptAction::Recover(at)
            | ScriptAction::Suspicion { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Returns true if the action is a step. Returns false if it only modifies the next step.
    pub fn is_step(&self) -> bool {
        !matches!(self, ScriptAction::Choose { .. } | ScriptAction::Unsaved(_))
    }

    /// Returns the trace record of an action that concerns the whole network. `None` for other
    /// actions.
    pub fn partition_change_record(&self) -> Option<RecordKind> {
        match self {
            ScriptAction::Split(sides) => Some(RecordKind::Partition(sides.clone())),
            ScriptAction::Heal => Some(RecordKind::Heal),
            _ => None,
        }
    }
}

impl fmt::Display for ScriptAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptAction::Group(size) => write!(f, "group {size}"),
            ScriptAction::Channel(ChannelOrder::Fifo) => f.write_str("channel fifo"),
            ScriptAction::Channel(ChannelOrder::Reordered) => f.write_str("channel reordered"),
            ScriptAction::Command(script_command) => script_command.fmt(f),
            ScriptAction::Deliver(pick) => write!(f, "deliver {pick}"),
            ScriptAction::Tell { from, to } => {
                write!(f, "tell {}→{}", ScriptProcess(*from), ScriptProcess(*to))
            }
            ScriptAction::Hear(pick) => write!(f, "hear {pick}"),
            ScriptAction::Lose(pick) => write!(f, "lose {pick}"),
            ScriptAction::Duplicate(pick) => write!(f, "duplicate {pick}"),
            ScriptAction::Delay { pick, by } => {
                write!(f, "delay {pick} by {}", units::format_ticks_as_time_units(*by))
            }
            ScriptAction::Fire { at, timer } => write!(f, "fire {} {timer}", ScriptProcess(*at)),
            ScriptAction::Choose { at, value } => {
                write!(f, "choose {} {value}", ScriptProcess(*at))
            }
            ScriptAction::Mute(at) => write!(f, "mute {}", ScriptProcess(*at)),
            ScriptAction::Unsaved(at) => write!(f, "unsaved {}", ScriptProcess(*at)),
            ScriptAction::Crash(at) => write!(f, "crash {}", ScriptProcess(*at)),
            ScriptAction::Recover(at) => write!(f, "recover {}", ScriptProcess(*at)),
            ScriptAction::Split(sides) => {
                let side = |side: &Vec<ProcessId>| {
                    side.iter()
                        .map(|at| ScriptProcess(*at).to_string())
                        .collect::<Vec<_>>()
                        .join(" ")
                };
                let sides: Vec<String> = sides.iter().map(side).collect();
                write!(f, "split {}", sides.join(" | "))
            }
            ScriptAction::Heal => f.write_str("heal"),
            ScriptAction::Suspicion { at, peer, verdict } => {
                let verb = if *verdict == PeerVerdict::Suspect { "suspect" } else { "trust" };
                write!(f, "{verb} {} {}", ScriptProcess(*at), ScriptProcess(*peer))
            }
            ScriptAction::Stabilize { timers, most } => {
                f.write_str(if *timers { "stabilize timers" } else { "stabilize" })?;
                most.map_or(Ok(()), |most| write!(f, " {most}"))
            }
            ScriptAction::Look(at) => write!(f, "look {}", ScriptProcess(*at)),
        }
    }
}

impl fmt::Display for ScriptCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, ScriptProcess(self.at))?;
        if let Some(peer) = self.peer {
            write!(f, "→{}", ScriptProcess(peer))?;
        }
        self.words.iter().try_for_each(|word| write!(f, " {word}"))
    }
}

impl fmt::Display for MessageSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", ScriptProcess(self.from), ScriptProcess(self.to))?;
        if let Some(kind) = &self.kind {
            write!(f, " {kind}")?;
        }
        if self.ordinal == 1 { Ok(()) } else { write!(f, " {}", self.ordinal) }
    }
}

/// A process in the form of scripts: `p1`.
struct ScriptProcess(ProcessId);

impl fmt::Display for ScriptProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0.display_number())
    }
}
