//! Checks the dependencies between crates, and that every crate uses the lints of the workspace.

use toml::{Table, Value};

use super::{Finding, RepositoryFile, RepositoryTree};

const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("tenure-core", &[]),
    ("tenure-algorithms", &["tenure-core", "tenure-session", "tenure-store"]),
    ("tenure-store", &["tenure-session"]),
    ("tenure-session", &[]),
    ("tenure-trace", &["tenure-core"]),
    ("tenure-sim", &["tenure-core", "tenure-trace"]),
    ("tenure-check", &["tenure-core", "tenure-trace"]),
    ("tenure-prove", &["tenure-check"]),
    // These crates contain only tests, so all their dependencies are dev-dependencies.
    ("tenure-algorithms-tests", &[]),
    ("tenure-check-tests", &[]),
    ("tenure-runtime", &["tenure-core", "tenure-trace"]),
    (
        "tenure-daemon",
        &["tenure-core", "tenure-trace", "tenure-algorithms", "tenure-runtime", "tenure-web"],
    ),
    ("tenure-web", &[]),
    ("tenure-lab", &["tenure-core", "tenure-trace", "tenure-sim", "tenure-web"]),
    (
        "tenure-instances",
        &[
            "tenure-core",
            "tenure-algorithms",
            "tenure-trace",
            "tenure-sim",
            "tenure-check",
            "tenure-runtime",
            "tenure-daemon",
            "tenure-lab",
        ],
    ),
    ("tenure-etcd", &[]),
    ("tenure-client", &["tenure-etcd", "tenure-session"]),
    (
        "tenure-server",
        &[
            "tenure-etcd",
            "tenure-core",
            "tenure-algorithms",
            "tenure-session",
            "tenure-store",
            "tenure-trace",
            "tenure-runtime",
        ],
    ),
    ("tenure-browser", &[]),
    ("tenure", ALL_CRATES),
    ("tenure-page", &["tenure"]),
    // This crate needs `tenure-store` only to enable a feature that the service uses.
    ("tenure-textbook", &["tenure", "tenure-store"]),
    ("leader-service", &["tenure-client"]),
    ("your-own-lock", &["tenure"]),
    ("xtask", ALL_CRATES),
];

const ALL_CRATES: &[&str] = &[
    "tenure-core",
    "tenure-algorithms",
    "tenure-store",
    "tenure-session",
    "tenure-trace",
    "tenure-sim",
    "tenure-check",
    "tenure-prove",
    "tenure-runtime",
    "tenure-daemon",
    "tenure-web",
    "tenure-lab",
    "tenure-instances",
    "tenure-etcd",
    "tenure-client",
    "tenure-server",
    "tenure",
];

/// Crates that do not access the outside world. They may have the dependencies in
/// `OPTIONAL_IN_PURE`, but only as optional dependencies.
const PURE: &[&str] = &["tenure-core", "tenure-algorithms", "tenure-store", "tenure-session"];
const OPTIONAL_IN_PURE: &[&str] = &["serde", "postcard"];

/// The three engines, which must not depend on each other.
const ENGINES: &[&str] = &["tenure-sim", "tenure-check", "tenure-runtime"];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, manifest) in tree.manifests() {
        let Some(name) = package_name(&manifest) else { continue };
        if manifest.contains_key("workspace") {
            continue; // a separate workspace, such as the fuzz targets
        }
        findings.extend(lints(file, &manifest));
        match ALLOWED_DEPENDENCIES.iter().find(|(known, _)| *known == name) {
            Some((_, allowed)) => {
                findings.extend(forbidden_dependencies(file, name, allowed, &manifest))
            }
            None => findings.push(Finding::new(
                &file.path,
                1,
                format!("the crate `{name}` has no place in the architecture"),
                "add it to ARCHITECTURE.md and xtask/src/tidy/dependencies.rs",
            )),
        }
    }
    findings
}

fn package_name(manifest: &Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

/// Crate that does not use the lints of the workspace, but its own modified copy of them. The crate
/// exports symbols to WebAssembly, and the lints of the workspace forbid the attributes that export
/// symbols.
const EXPORTS_SYMBOLS: &str = "tenure-page";

fn lints(file: &RepositoryFile, manifest: &Table) -> Option<Finding> {
    if package_name(manifest) == Some(EXPORTS_SYMBOLS) {
        return None;
    }
    let inherited = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    (inherited != Some(&Value::Boolean(true))).then(|| {
        Finding::new(
            &file.path,
            1,
            "the crate does not use the workspace's lints",
            "add `[lints]` with `workspace = true`",
        )
    })
}

fn forbidden_dependencies(
    file: &RepositoryFile,
    name: &str,
    allowed: &[&str],
    manifest: &Table,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (dependency, value) in dependencies(manifest) {
        let line = line_of_key(file, dependency);
        let package = value.get("package").and_then(Value::as_str).unwrap_or(dependency);
        if ALL_CRATES.contains(&package)
            || ALLOWED_DEPENDENCIES.iter().any(|(known, _)| *known == package)
        {
            if !allowed.contains(&package) {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    forbidden_message(name, package),
                    "move shared code to a lower crate, or use a dev-dependency for tests",
                ));
            }
        } else if PURE.contains(&name) {
            findings.extend(impurity(name, package, value).map(|message| {
                let fix = "a pure crate may depend only on optional serde and postcard";
                Finding::new(&file.path, line, message, fix)
            }));
        }
    }
    findings
}

fn forbidden_message(name: &str, package: &str) -> String {
    if ENGINES.contains(&name) && ENGINES.contains(&package) {
        format!("`{name}` depends on `{package}`, but engines must not depend on each other")
    } else {
        format!("`{name}` depends on `{package}`, which is not a lower crate")
    }
}

fn impurity(name: &str, package: &str, value: &Value) -> Option<String> {
    if !OPTIONAL_IN_PURE.contains(&package) {
        Some(format!("`{name}` depends on `{package}`"))
    } else if value.get("optional") != Some(&Value::Boolean(true)) {
        Some(format!("`{name}` depends on `{package}` without `optional = true`"))
    } else {
        None
    }
}

/// Returns the dependencies with which a crate is built, on all targets together. Omits
/// dev-dependencies.
fn dependencies(manifest: &Table) -> impl Iterator<Item = (&str, &Value)> {
    const KINDS: &[&str] = &["dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(Value::as_table);
    let everywhere = std::iter::once(manifest);
    let somewhere = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    everywhere
        .chain(somewhere)
        .flat_map(|table| KINDS.iter().filter_map(|kind| table.get(*kind)?.as_table()))
        .flat_map(|table| table.iter().map(|(name, value)| (name.as_str(), value)))
}

/// Returns the number of the first line that begins with `key`, or whose table header contains
/// `key`. If there is no such line, returns 1.
fn line_of_key(file: &RepositoryFile, key: &str) -> usize {
    let begins = |line: &str| {
        let tail = line.trim_start().strip_prefix(key)?;
        tail.starts_with([' ', '.', '=']).then_some(())
    };
    let header = format!("dependencies.{key}]");
    file.lines()
        .find(|(_, line)| begins(line).is_some() || line.trim_end().ends_with(&header))
        .map_or(1, |(line, _)| line)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(name: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}");
        findings(check, &[("crates/x/Cargo.toml", &text)])
    }

    #[test]
    fn accepts_dependency_on_lower_crate() {
        let below = "[dependencies]\ntenure-core.workspace = true\ntenure-trace.workspace = true";
        assert_eq!(found("tenure-sim", below), [""; 0]);
    }

    #[test]
    fn finds_dependency_on_higher_crate() {
        let up = "[dependencies]\ntenure-runtime.workspace = true";
        let findings = found("tenure-trace", up);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("crates/x/Cargo.toml:6: `tenure-trace` depends on"));
        assert!(findings[0].contains("not a lower crate"));
    }

    #[test]
    fn finds_renamed_and_target_specific_dependencies() {
        let renamed = "[dependencies]\nengine = { package = \"tenure-sim\", path = \"../sim\" }";
        assert_eq!(found("tenure-core", renamed).len(), 1);
        let unix = "[target.'cfg(unix)'.dependencies]\ntenure-daemon.workspace = true";
        assert_eq!(found("tenure-runtime", unix).len(), 1);
    }

    #[test]
    fn finds_dependency_between_engines() {
        let findings = found("tenure-check", "[dependencies.tenure-sim]\nworkspace = true");
        assert!(findings[0].contains(":5:") && findings[0].contains("engines must not"));
    }

    #[test]
    fn finds_dependency_on_command() {
        assert_eq!(found("tenure-daemon", "[dependencies]\ntenure.workspace = true").len(), 1);
    }

    #[test]
    fn pure_crate_accepts_only_optional_serde() {
        let optional = "[dependencies]\nserde = { workspace = true, optional = true }";
        assert_eq!(found("tenure-core", optional), [""; 0]);
        assert_eq!(found("tenure-core", "[dependencies]\nserde.workspace = true").len(), 1);
        assert_eq!(found("tenure-algorithms", "[dependencies]\nfastrand = \"2\"").len(), 1);
    }

    #[test]
    fn ignores_dev_dependencies() {
        let dev = "[dev-dependencies]\ntenure-check.workspace = true\nproptest = \"1\"";
        assert_eq!(found("tenure-algorithms", dev), [""; 0]);
    }

    #[test]
    fn finds_crate_without_lints_or_place() {
        let without = findings(check, &[("a/Cargo.toml", "[package]\nname = \"tenure-core\"")]);
        assert!(without[0].contains("does not use the workspace's lints"));
        assert!(found("tenure-extra", "")[0].contains("no place in the architecture"));
    }
}
