//! A crate's files name each other by module: what `lib.rs` gathers is for those outside.

use super::{File, Finding, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_inner = |path: &str| {
        path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("/lib.rs")
    };
    tree.files().iter().filter(|file| is_inner(&file.path)).flat_map(through_lib).collect()
}

fn through_lib(file: &File) -> Vec<Finding> {
    let lines = file.lines().filter(|(_, text)| gathers(text.trim_start()));
    let finding = |(line, _)| {
        let says = "this imports through `lib.rs`";
        Finding::new(&file.path, line, says, "import from the module that has it")
    };
    lines.map(finding).collect()
}

/// Whether a name that is no module's follows the opening brace.
fn gathers(line: &str) -> bool {
    let Some(names) = line.strip_prefix("use crate::{") else { return false };
    let names = names.trim_end_matches([';', '}']).split(',').map(str::trim);
    names.filter(|name| !name.contains("::")).any(|name| name.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(path: &str, text: &str) -> usize {
        findings(check, &[(path, text)]).len()
    }

    #[test]
    fn names_of_other_modules_are_imported_from_them() {
        let text = "use crate::process::{Group, ProcessId};\nuse crate::{monitors, time::Delay};\n";
        assert_eq!(found("crates/core/src/node.rs", text), 0);
    }

    #[test]
    fn names_through_the_root_are_found_but_for_the_root_itself() {
        let text = "//! A node.\n\nuse crate::{Group, ProcessId};\n";
        assert_eq!(found("crates/core/src/node.rs", text), 1);
        assert_eq!(found("crates/core/src/lib.rs", text), 0);
        assert_eq!(found("crates/core/tests/node.rs", text), 0);
    }
}
