//! Finds arguments of a command line that are names of files. The files contain graphs, trees or
//! quorums.

use std::path::Path;

use crate::cmd::group::GroupOptions;

const OPTIONS: [&str; 3] = ["--topology", "--tree", "--quorums"];

/// Returns the first of these options in `words` whose value is the name of an existing file. The
/// name may be followed by `+weights`.
pub(crate) fn option_naming_file(words: &[String]) -> Option<&'static str> {
    let is_file = |value: &str| {
        let name = value.split("+weights").next().unwrap_or(value);
        Path::new(value).exists() || Path::new(name).exists()
    };
    values(words).find(|(_, value)| is_file(value)).map(|(option, _)| option)
}

fn values(words: &[String]) -> impl Iterator<Item = (&'static str, &str)> {
    let next = words.iter().skip(1).map(String::as_str).chain([""]);
    words.iter().zip(next).filter_map(|(word, next)| {
        let option = OPTIONS.into_iter().find(|option| word.starts_with(option))?;
        match word.strip_prefix(option)? {
            "" => Some((option, next)),
            rest => Some((option, rest.strip_prefix('=')?)),
        }
    })
}

/// Replaces the names of files on a command line by the contents of the files. The result has the
/// same meaning on a machine without these files.
pub(crate) fn inline_files(words: &[String], group: &GroupOptions) -> Vec<String> {
    let content = |option: &str| match option {
        "--topology" => group.topology.as_ref().map(|it| it.inlined()),
        "--tree" => group.tree.as_ref().map(|it| it.inlined()),
        "--quorums" => group.quorums.as_ref().map(|it| it.inlined()),
        _ => None,
    };
    let mut before = "";
    let replaced = words.iter().map(String::as_str).map(|word| {
        let option = std::mem::replace(&mut before, word);
        if OPTIONS.contains(&option) {
            return content(option).unwrap_or_else(|| word.to_owned());
        }
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        match content(option) {
            Some(content) if !value.is_empty() => format!("{option}={content}"),
            _ => word.to_owned(),
        }
    });
    replaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn finds_files_among_values() {
        let here = file!();
        assert_eq!(option_naming_file(&words("raymond --tree heap --topology grid")), None);
        // The test runs in the folder of the crate or of the workspace.
        let path = if Path::new(here).exists() { here.to_owned() } else { "Cargo.toml".to_owned() };
        assert_eq!(option_naming_file(&words(&format!("x --tree {path}"))), Some("--tree"));
        assert_eq!(option_naming_file(&words(&format!("x --topology={path}"))), Some("--topology"));
    }
}
