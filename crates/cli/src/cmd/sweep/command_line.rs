//! The command line that is recorded with results.

use crate::cmd::program::{self, shell_word};

/// Options that do not change the results.
const OTHERS: [&str; 5] = ["--shard", "--threads", "--format", "--plot", "--raw"];

/// Returns the command line of this process without the options that do not change the results.
pub(super) fn command_line() -> String {
    normalized(program::arguments().into_iter())
}

fn normalized(words: impl Iterator<Item = String>) -> String {
    let mut line = program::name().to_owned();
    let mut is_value = false;
    for word in words {
        if std::mem::take(&mut is_value) {
            continue;
        }
        let option = word.split_once('=').map_or(word.as_str(), |(option, _)| option);
        if OTHERS.contains(&option) {
            is_value = option == word;
            continue;
        }
        line.push(' ');
        line.push_str(&shell_word(&word));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_options_that_change_results() {
        let words = "simulate lamport --shard 3/64 --sweep n=3..5 --threads=2 --raw a.csv --runs 9";
        let line = normalized(words.split(' ').map(str::to_owned));
        assert_eq!(line, "tenure simulate lamport --sweep n=3..5 --runs 9");
    }
}
