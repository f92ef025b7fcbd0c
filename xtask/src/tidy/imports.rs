//! Check: a file imports items of its own crate from the modules that define them. The re-exports
//! of `lib.rs` are for other crates.

use super::{Finding, RepositoryFile, RepositoryTree};

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let is_inner = |path: &str| {
        path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("/lib.rs")
    };
    tree.files().iter().filter(|file| is_inner(&file.path)).flat_map(through_lib).collect()
}

fn through_lib(file: &RepositoryFile) -> Vec<Finding> {
    let lines = file.lines().filter(|(_, text)| imports_through_root(text.trim_start()));
    let finding = |(line, _)| {
        let message = "import through `lib.rs`";
        Finding::new(&file.path, line, message, "import from the module")
    };
    lines.map(finding).collect()
}

/// Returns true if `line` imports an item through the root of the crate, as in
/// `use crate::{Group, ProcessId};`. A line that imports only modules is accepted.
fn imports_through_root(line: &str) -> bool {
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
    fn accepts_imports_from_modules() {
        let text = "use crate::process::{Group, ProcessId};\nuse crate::{monitors, time::Delay};\n";
        assert_eq!(found("crates/core/src/node.rs", text), 0);
    }

    #[test]
    fn finds_imports_through_root_outside_root() {
        let text = "//! A node.\n\nuse crate::{Group, ProcessId};\n";
        assert_eq!(found("crates/core/src/node.rs", text), 1);
        assert_eq!(found("crates/core/src/lib.rs", text), 0);
        assert_eq!(found("crates/core/tests/node.rs", text), 0);
    }
}
