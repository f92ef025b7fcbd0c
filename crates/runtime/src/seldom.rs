//! Lines of one kind in a log: some at once, the others counted.

use std::fmt;
use std::time::{Duration, Instant};

/// So many lines of one kind are said within [`WINDOW`].
const MOST: u32 = 5;

/// How long lines are counted together.
const WINDOW: Duration = Duration::from_secs(30);

/// One kind of line. Whoever can cause it, a stranger too, fills no disk with it.
#[derive(Debug, Default)]
pub(crate) struct Seldom {
    since: Option<Instant>,
    said: u32,
    kept_back: u64,
}

/// How many lines of the same kind were not said before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptBack(u64);

impl Seldom {
    /// Whether a line may be said, and how many were kept back before it; nothing where it is to
    /// be kept back, too.
    pub(crate) fn say(&mut self) -> Option<KeptBack> {
        self.say_at(Instant::now())
    }

    fn say_at(&mut self, now: Instant) -> Option<KeptBack> {
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            self.since = Some(now);
            self.said = 0;
        }
        if self.said == MOST {
            self.kept_back += 1;
            return None;
        }
        self.said += 1;
        Some(KeptBack(std::mem::take(&mut self.kept_back)))
    }
}

/// What is put behind a line.
impl fmt::Display for KeptBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(" (and one more like it that was not logged)"),
            more => write!(f, " (and {more} more like it that were not logged)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_some_lines_and_then_its_size() {
        let (mut seldom, begin) = (Seldom::default(), Instant::now());
        let said = (0..1000).filter_map(|_| seldom.say_at(begin)).count();
        assert_eq!(said, 5);
        assert_eq!(seldom.say_at(begin + WINDOW / 2), None);
        let told = seldom.say_at(begin + WINDOW).expect("a line is due again").to_string();
        assert_eq!(told, " (and 996 more like it that were not logged)");
        assert_eq!(seldom.say_at(begin + WINDOW).expect("so is another").to_string(), "");
    }
}
