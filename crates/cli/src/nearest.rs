//! Suggestions for misspelt names, taken from the known names.

const MAX_SUGGESTIONS: usize = 3;

/// Number of letters of a name that [`nearest`] compares. The time of a comparison grows with the
/// square of this number. All known names are shorter.
const MAX_COMPARED_LETTERS: usize = 200;

/// Returns the known names that are nearest to `name`, the nearest one first. The result has at
/// most [`MAX_SUGGESTIONS`] names.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let place = |known: &'a str| {
        let is_part = known.split(':').any(|part| !name.is_empty() && part.starts_with(name));
        (distance(name, known), !is_part, known.len(), known)
    };
    let mut known: Vec<_> = known.into_iter().map(place).collect();
    known.sort_unstable();
    known.dedup();
    known.into_iter().take(MAX_SUGGESTIONS).map(|(.., name)| name).collect()
}

/// Returns an error message about an unknown name of the kind `what`, with the nearest known names.
pub(crate) fn unknown_name_message<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let nearest = nearest(name, known).join(", ");
    format!("there is no {what} `{name}`; nearest are {nearest}; `tenure {what}` lists all")
}

/// Returns how different two names are, as an edit distance: the least number of letters to insert,
/// remove or replace. Returns 0 if the name `known` contains the text `name`. Compares only the
/// first letters of long names.
fn distance(name: &str, known: &str) -> usize {
    if !name.is_empty() && known.contains(name) {
        return 0;
    }
    let known: Vec<char> = known.chars().take(MAX_COMPARED_LETTERS).collect();
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (place, letter) in name.chars().take(MAX_COMPARED_LETTERS).enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, other) in known.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[known.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters() {
        assert_eq!(distance("race", "race"), 0);
        assert_eq!(distance("rcae", "race"), 2);
        assert_eq!(distance("general", "two-generals"), 0);
        assert_eq!(distance("", "race"), 4);
    }

    #[test]
    fn distance_of_long_names_is_bounded() {
        let (long, other) = ("a".repeat(1_000), "b".repeat(1_000));
        assert_eq!(distance(&long, &other), MAX_COMPARED_LETTERS);
        assert_eq!(distance(&long, "race"), MAX_COMPARED_LETTERS - 1);
    }

    #[test]
    fn prefix_match_precedes_inner_match() {
        let found = nearest("ra", ["central", "raft", "coordinated:raft", "raymond", "raft"]);
        assert_eq!(found, ["raft", "raymond", "coordinated:raft"]);
    }

    #[test]
    fn nearest_names_come_first() {
        let found = unknown_name_message(
            "scenario",
            "central-emty",
            ["race", "central-queue", "central-empty"],
        );
        let description = "there is no scenario `central-emty`; nearest are central-empty, \
                           central-queue, race; `tenure scenario` lists all";
        assert_eq!(found, description);
    }
}
