//! Parser of [`Script`].

use std::str::FromStr;

use tenure_core::{ChannelOrder, PeerVerdict, ProcessId};

use crate::format::{process_number, units};
use crate::scripts::script::{
    MessageSelector, Script, ScriptAction, ScriptBlock, ScriptCommand, ScriptLine,
};

/// Error: a script could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {description}")]
pub struct ScriptParseError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Description of the problem, and the form that the line should have.
    pub description: String,
}

impl FromStr for Script {
    type Err = ScriptParseError;

    fn from_str(text: &str) -> Result<Self, ScriptParseError> {
        let mut script = Script::default();
        let mut block = ScriptBlock::default();
        for (place, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() {
                script.close(&mut block);
            } else if let Some(outcome) = &mut block.outcome {
                if !outcome.is_empty() {
                    outcome.push('\n');
                }
                outcome.push_str(line);
            } else if line == "----" {
                block.outcome = Some(String::new());
            } else {
                if block.lines.is_empty() {
                    block.first_line_number = place + 1;
                }
                let parsed = parse_line(line.trim_start());
                block.lines.push(
                    parsed
                        .map_err(|description| ScriptParseError { line: place + 1, description })?,
                );
            }
        }
        script.close(&mut block);
        Ok(script)
    }
}

impl Script {
    fn close(&mut self, block: &mut ScriptBlock) {
        if !block.lines.is_empty() || block.outcome.is_some() {
            self.blocks.push(std::mem::take(block));
        }
    }
}

fn parse_line(line: &str) -> Result<ScriptLine, String> {
    if let Some(remark) = line.strip_prefix('#') {
        return Ok(ScriptLine::Comment(remark.to_owned()));
    }
    let parts = line.split(';').map(str::trim).filter(|part| !part.is_empty());
    Ok(ScriptLine::Actions(parts.map(str::parse).collect::<Result<_, _>>()?))
}

impl FromStr for ScriptAction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match *words.as_slice() {
            ["group", size] => match size.parse() {
                Ok(size) if size > 0 => Ok(ScriptAction::Group(size)),
                _ => Err(format!("invalid group size `{size}`; expected `group 3`")),
            },
            ["channel", "fifo"] => Ok(ScriptAction::Channel(ChannelOrder::Fifo)),
            ["channel", "reordered"] => Ok(ScriptAction::Channel(ChannelOrder::Reordered)),
            ["deliver", link, ref rest @ ..] => Ok(ScriptAction::Deliver(pick(link, rest)?)),
            ["tell", target] => match link(target) {
                Some((from, to)) => {
                    Ok(ScriptAction::Tell { from: process(from)?, to: process(to)? })
                }
                None => Err(form("tell")),
            },
            ["hear", link] => Ok(ScriptAction::Hear(pick(link, &[])?)),
            ["hear", link, place] if place.starts_with(|first: char| first.is_ascii_digit()) => {
                Ok(ScriptAction::Hear(pick(link, &[place])?))
            }
            ["lose", link, ref rest @ ..] => Ok(ScriptAction::Lose(pick(link, rest)?)),
            ["duplicate", link, ref rest @ ..] => Ok(ScriptAction::Duplicate(pick(link, rest)?)),
            ["delay", link, ref rest @ .., "by", units] => {
                let by = units::parse_time_units(units).ok_or_else(|| form("delay"))?;
                Ok(ScriptAction::Delay { pick: pick(link, rest)?, by })
            }
            ["fire", at, ref timer @ ..] if !timer.is_empty() => {
                Ok(ScriptAction::Fire { at: process(at)?, timer: timer.join(" ") })
            }
            ["choose", at, value] => match value.parse() {
                Ok(value) => Ok(ScriptAction::Choose { at: process(at)?, value }),
                Err(_) => Err(form("choose")),
            },
            ["mute", at] => Ok(ScriptAction::Mute(process(at)?)),
            ["unsaved", at] => Ok(ScriptAction::Unsaved(process(at)?)),
            ["crash", at] => Ok(ScriptAction::Crash(process(at)?)),
            ["recover", at] => Ok(ScriptAction::Recover(process(at)?)),
            ["split", ref rest @ ..] => split(rest),
            ["heal"] => Ok(ScriptAction::Heal),
            ["suspect", at, peer] => suspicion(at, peer, PeerVerdict::Suspect),
            ["trust", at, peer] => suspicion(at, peer, PeerVerdict::Trust),
            ["stabilize", ref rest @ ..] => stabilize(rest),
            ["look", at] => Ok(ScriptAction::Look(process(at)?)),
            [
                "group" | "channel" | "deliver" | "tell" | "hear" | "lose" | "duplicate" | "delay"
                | "fire" | "choose" | "mute" | "unsaved" | "crash" | "recover" | "heal" | "suspect"
                | "trust" | "look",
                ..,
            ] => Err(form(words[0])),
            [verb, target, ref rest @ ..] => ask(verb, target, rest),
            _ => Err(format!("`{text}` names no process; expected `enter p1`")),
        }
    }
}

/// Returns the correct form of an action with this verb, for error messages.
fn form(verb: &str) -> String {
    let right = match verb {
        "group" => "group 3",
        "channel" => "channel fifo` or `channel reordered",
        "fire" => "fire p1 timer-name",
        "choose" => "choose p1 2",
        "split" => "split p1 | p2 p3",
        "heal" => "heal",
        "delay" => "delay p2→p1 by 2.5` or `delay p2→p1 reply by 2.5",
        "tell" | "hear" => {
            return format!("expected `{verb} p1→p2` (a message between applications)");
        }
        "mute" | "unsaved" | "crash" | "recover" | "look" => {
            return format!("expected `{verb} p1`");
        }
        "suspect" | "trust" => {
            return format!("expected `{verb} p1 p2` (a verdict of p1's failure detector on p2)");
        }
        _ => {
            return format!(
                "expected `{verb} p2→p1`, `{verb} p2→p1 reply` or `{verb} p2→p1 reply 2`"
            );
        }
    };
    format!("expected `{right}`")
}

fn split(words: &[&str]) -> Result<ScriptAction, String> {
    let sides = words.split(|word| *word == "|");
    let side = |side: &[&str]| side.iter().map(|word| process(word)).collect();
    let sides: Vec<Vec<ProcessId>> = sides.map(side).collect::<Result<_, _>>()?;
    let several = sides.len() > 1 && sides.iter().all(|side| !side.is_empty());
    if several { Ok(ScriptAction::Split(sides)) } else { Err(form("split")) }
}

fn process(word: &str) -> Result<ProcessId, String> {
    let number = word.strip_prefix(['p', 'P']).and_then(|number| number.parse().ok());
    number
        .and_then(process_number::process_from_number)
        .ok_or_else(|| format!("invalid process `{word}`; expected `p1`"))
}

fn link(word: &str) -> Option<(&str, &str)> {
    word.split_once('→').or_else(|| word.split_once("->"))
}

fn pick(word: &str, rest: &[&str]) -> Result<MessageSelector, String> {
    let Some((from, to)) = link(word) else {
        return Err(format!("invalid link `{word}`; expected `p2→p1` or `p2->p1`"));
    };
    let oldest = MessageSelector::oldest(process(from)?, process(to)?);
    let ordinal = |word: &str| match word.parse() {
        Ok(ordinal) if ordinal > 0 => Ok(ordinal),
        _ => Err(format!("invalid message position `{word}`; the oldest message is 1")),
    };
    match *rest {
        [] => Ok(oldest),
        [place] if place.starts_with(|first: char| first.is_ascii_digit()) => {
            Ok(MessageSelector { ordinal: ordinal(place)?, ..oldest })
        }
        [kind] => Ok(MessageSelector { kind: Some(kind.into()), ..oldest }),
        [kind, place] => {
            Ok(MessageSelector { kind: Some(kind.into()), ordinal: ordinal(place)?, ..oldest })
        }
        _ => Err(form("deliver")),
    }
}

fn suspicion(at: &str, peer: &str, verdict: PeerVerdict) -> Result<ScriptAction, String> {
    Ok(ScriptAction::Suspicion { at: process(at)?, peer: process(peer)?, verdict })
}

fn stabilize(rest: &[&str]) -> Result<ScriptAction, String> {
    let (timers, rest) = match rest {
        ["timers", rest @ ..] => (true, rest),
        _ => (false, rest),
    };
    let most = match rest {
        [] => Some(None),
        [most] => most.parse().ok().map(Some),
        _ => None,
    };
    let wrong = || "expected `stabilize`, `stabilize timers`, `stabilize 20`".to_owned();
    most.map(|most| ScriptAction::Stabilize { timers, most }).ok_or_else(wrong)
}

fn ask(verb: &str, target: &str, rest: &[&str]) -> Result<ScriptAction, String> {
    let (at, peer) = match link(target) {
        Some((at, peer)) => (process(at)?, Some(process(peer)?)),
        None => (process(target)?, None),
    };
    let words = rest.iter().map(|word| (*word).to_owned()).collect();
    Ok(ScriptAction::Command(ScriptCommand { verb: verb.to_owned(), at, peer, words }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "\
# Every action once.

group 3
channel reordered
enter p1; enter p2
send p1→p2 7
deliver p2→p1; deliver p2→p1 reply; deliver p2→p1 2; deliver p2→p1 reply 2
lose p1→p3; duplicate p1→p3
tell p1→p3; hear p1→p3; hear p1→p3 2
delay p1→p3 by 2; delay p1→p3 reply 2 by 0.25
fire p1 answer
mute p1; unsaved p1; crash p1; recover p1
split p1 | p2 p3; heal
suspect p1 p2; trust p1 p2
stabilize; stabilize timers; stabilize 20; stabilize timers 20
look p1
----
P1 asks Enter
  sends P2 Request

# no outcome yet
exit p1
";

    #[test]
    fn script_round_trips() {
        let script: Script = STORY.parse().unwrap();
        assert_eq!(script.to_string(), STORY);
        assert_eq!(script.blocks.len(), 3);
        assert_eq!(script.blocks[1].first_line_number, 3);
        assert_eq!(script.blocks[1].outcome.as_deref(), Some("P1 asks Enter\n  sends P2 Request"));
        assert_eq!(script.blocks[2].outcome, None);
    }

    #[test]
    fn both_arrow_forms_are_equal() {
        assert_eq!(
            "deliver p2->p1".parse::<ScriptAction>(),
            "deliver p2→p1".parse::<ScriptAction>()
        );
    }

    #[test]
    fn actions_have_their_line_numbers() {
        let script: Script = "# one\ngroup 2\n# three\nenter p1; enter p2\n".parse().unwrap();
        let lines: Vec<usize> =
            script.blocks[0].actions_with_lines().map(|(line, _)| line).collect();
        assert_eq!(lines, [2, 4, 4]);
    }

    #[test]
    fn parse_error_names_line_and_expected_form() {
        for (wrong, description) in [
            ("group 0", "invalid group size `0`; expected `group 3`"),
            ("crash", "expected `crash p1`"),
            ("crash p0", "invalid process `p0`; expected `p1`"),
            ("deliver p1", "invalid link `p1`; expected `p2→p1` or `p2->p1`"),
            ("deliver p1→p2 reply 0", "invalid message position `0`; the oldest message is 1"),
            ("tell p1", "expected `tell p1→p2` (a message between applications)"),
            ("hear p1→p2 reply", "expected `hear p1→p2` (a message between applications)"),
            ("split p1 p2", "expected `split p1 | p2 p3`"),
            ("split p1 |", "expected `split p1 | p2 p3`"),
            ("heal p1", "expected `heal`"),
            ("suspect p1", "expected `suspect p1 p2` (a verdict of p1's failure detector on p2)"),
            ("channel lossy", "expected `channel fifo` or `channel reordered`"),
            ("enter", "`enter` names no process; expected `enter p1`"),
            ("stabilize soon", "expected `stabilize`, `stabilize timers`, `stabilize 20`"),
            ("delay p1→p2", "expected `delay p2→p1 by 2.5` or `delay p2→p1 reply by 2.5`"),
            ("delay p1→p2 by x", "expected `delay p2→p1 by 2.5` or `delay p2→p1 reply by 2.5`"),
            ("fire p1", "expected `fire p1 timer-name`"),
        ] {
            let error = format!("group 3\n{wrong}\n").parse::<Script>().unwrap_err();
            assert_eq!(
                error,
                ScriptParseError { line: 2, description: description.into() },
                "{wrong}"
            );
        }
    }
}
