//! Warning before simulations that take hours.

use tenure_core::CostUnit;
use tenure_sim::{EntriesPerProcess, RequestPattern};

use super::plan::SimulationPlan;

/// Upper estimate of the number of messages that the simulator processes per second.
const MESSAGES_PER_SECOND: u64 = 3_000_000;

const HOUR: u64 = 3600;

impl SimulationPlan {
    /// Returns a warning if the runs of this plan take at least an hour, estimated from the least
    /// number of messages. Returns `None` if they may take less, or if a run has a time limit.
    pub(super) fn duration_warning(&self, runs: u64) -> Option<String> {
        let settings = self.common_settings();
        if settings.limits.until.is_some() {
            return None;
        }
        let times = match self.card.messages.per {
            CostUnit::Entry => entries(settings.workload.locking.as_ref()?, settings.size),
            _ => 1,
        };
        let messages = self.card.messages.least.saturating_mul(times).saturating_mul(runs);
        let hours = messages / MESSAGES_PER_SECOND / HOUR;
        (hours > 0).then(|| {
            format!(
                "these runs send at least {messages} messages and take at least {hours} hours; \
                 Ctrl-C ends them and prints the figures so far, --until sets a time limit"
            )
        })
    }
}

fn entries(locking: &tenure_sim::LockWorkload, size: u32) -> u64 {
    match (&locking.pattern, &locking.entries) {
        (RequestPattern::Sequential { total }, _) => *total,
        (_, EntriesPerProcess::Each(each)) => u64::from(*each) * u64::from(size),
        (_, EntriesPerProcess::Listed(listed)) => listed.iter().map(|each| u64::from(*each)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use crate::cmd::parse_options;
    use crate::cmd::simulate::{Options, build_plan};

    fn warning_for(line: &str) -> Option<String> {
        let options: Options = parse_options(line.split(' ')).expect("a valid command line");
        build_plan(&options)
            .expect("a run that is possible")
            .duration_warning(options.run.runs_or(1))
    }

    #[test]
    fn warns_of_runs_that_take_hours() {
        let warning = warning_for("lamport -n 100000").expect("a warning");
        assert!(warning.contains("29999700000 messages and take at least 2 hours"), "{warning}");
        assert!(warning_for("chang-roberts -n 1000000 --runs 1000000").is_some());
    }

    #[test]
    fn does_not_warn_of_short_or_limited_runs() {
        for line in
            ["lamport", "lamport -n 3000", "lamport -n 100000 --until 5", "bully -n 1000 --runs 9"]
        {
            assert_eq!(warning_for(line), None, "{line}");
        }
    }
}
