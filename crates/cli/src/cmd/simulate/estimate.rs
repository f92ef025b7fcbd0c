//! What runs will cost at the least, said before they start.

use tenure_core::Per;
use tenure_sim::{Entries, Pattern};

use super::plan::Plan;

/// So many messages in a second are many.
const MESSAGES_PER_SECOND: u64 = 3_000_000;

const HOUR: u64 = 3600;

impl Plan {
    /// Where these runs plainly take hours: how many messages they send at the least, and how long
    /// that lasts. Nothing of runs that end at a time that was said.
    pub(super) fn estimate(&self, runs: u64) -> Option<String> {
        let settings = self.common();
        if settings.limits.until.is_some() {
            return None;
        }
        let times = match self.card.messages.per {
            Per::Entry => entries(settings.workload.locking.as_ref()?, settings.size),
            _ => 1,
        };
        let messages = self.card.messages.least.saturating_mul(times).saturating_mul(runs);
        let hours = messages / MESSAGES_PER_SECOND / HOUR;
        (hours > 0).then(|| {
            format!(
                "that is {messages} messages at the least, and takes {hours} hours or more; Ctrl-C \
                 ends it and prints what was measured until then, --until ends it at a time"
            )
        })
    }
}

/// How often anybody enters in a run.
fn entries(locking: &tenure_sim::Locking, size: u32) -> u64 {
    match (&locking.pattern, &locking.entries) {
        (Pattern::Sequential { total }, _) => *total,
        (_, Entries::Each(each)) => u64::from(*each) * u64::from(size),
        (_, Entries::Listed(listed)) => listed.iter().map(|each| u64::from(*each)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cmd::simulate::{Options, plan};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn estimate(line: &str) -> Option<String> {
        let words = format!("simulate {line}");
        let line = Line::try_parse_from(words.split(' ')).expect("a line that can be understood");
        let runs = line.options.run.runs(1).expect("a number");
        plan(&line.options).expect("a run that is possible").estimate(runs)
    }

    #[test]
    fn who_asks_for_hours_is_told_before() {
        let says = estimate("lamport -n 100000").expect("a warning");
        assert!(says.starts_with("that is 29999700000 messages at the least, and takes 2 hours"));
        assert!(estimate("chang-roberts -n 1000000 --runs 1000000").is_some());
    }

    #[test]
    fn who_asks_for_minutes_or_says_when_it_ends_is_not() {
        for line in
            ["lamport", "lamport -n 3000", "lamport -n 100000 --until 5", "bully -n 1000 --runs 9"]
        {
            assert_eq!(estimate(line), None, "{line}");
        }
    }
}
