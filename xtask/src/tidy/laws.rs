//! The three laws on dependencies, and that every crate takes the workspace's lints.

use toml::{Table, Value};

use super::{File, Finding, Tree};

/// What each crate of the house may depend on, of the house.
const HOUSE: &[(&str, &[&str])] = &[
    ("tenure-core", &[]),
    ("tenure-algorithms", &["tenure-core", "tenure-session", "tenure-store"]),
    ("tenure-store", &[]),
    ("tenure-session", &[]),
    ("tenure-trace", &["tenure-core"]),
    ("tenure-sim", &["tenure-core", "tenure-trace"]),
    ("tenure-check", &["tenure-core", "tenure-trace"]),
    ("tenure-runtime", &["tenure-core", "tenure-trace"]),
    (
        "tenure-daemon",
        &["tenure-core", "tenure-trace", "tenure-algorithms", "tenure-runtime", "tenure-web"],
    ),
    ("tenure-web", &[]),
    ("tenure-ports", &[]),
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
    ("tenure-lessons", &[]),
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
    ("tenure-claims", &[]),
    ("tenure-browser", &[]),
    ("tenure", EVERYTHING),
    // The store only for a feature that the service asks of it.
    ("tenure-textbook", &["tenure", "tenure-store"]),
    ("your-own-lock", &["tenure"]),
    ("xtask", EVERYTHING),
];

const EVERYTHING: &[&str] = &[
    "tenure-core",
    "tenure-algorithms",
    "tenure-store",
    "tenure-session",
    "tenure-trace",
    "tenure-sim",
    "tenure-check",
    "tenure-runtime",
    "tenure-daemon",
    "tenure-web",
    "tenure-ports",
    "tenure-lab",
    "tenure-instances",
    "tenure-lessons",
    "tenure-etcd",
    "tenure-client",
    "tenure-server",
    "tenure",
];

/// The crates that are pure: of the world outside they may use these, if it is optional.
const PURE: &[&str] = &["tenure-core", "tenure-algorithms", "tenure-store", "tenure-session"];
const FOR_THE_PURE: &[&str] = &["serde", "postcard"];

/// The three engines, which never meet.
const ENGINES: &[&str] = &["tenure-sim", "tenure-check", "tenure-runtime"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, manifest) in tree.manifests() {
        let Some(name) = package_name(&manifest) else { continue };
        if manifest.contains_key("workspace") {
            continue; // a workspace of its own, such as the fuzz targets
        }
        findings.extend(lints(file, &manifest));
        match HOUSE.iter().find(|(known, _)| *known == name) {
            Some((_, allowed)) => findings.extend(arrows(file, name, allowed, &manifest)),
            None => findings.push(Finding::new(
                &file.path,
                1,
                format!("the crate `{name}` has no place in the house"),
                "give it one in ARCHITECTURE.md and in xtask/src/tidy/laws.rs",
            )),
        }
    }
    findings
}

fn package_name(manifest: &Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

fn lints(file: &File, manifest: &Table) -> Option<Finding> {
    let inherited = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    (inherited != Some(&Value::Boolean(true))).then(|| {
        Finding::new(
            &file.path,
            1,
            "the crate does not take the workspace's lints",
            "add `[lints]` with `workspace = true`",
        )
    })
}

fn arrows(file: &File, name: &str, allowed: &[&str], manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (dependency, value) in dependencies(manifest) {
        let line = line_of_key(file, dependency);
        let package = value.get("package").and_then(Value::as_str).unwrap_or(dependency);
        if EVERYTHING.contains(&package) || HOUSE.iter().any(|(known, _)| *known == package) {
            if !allowed.contains(&package) {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    forbidden_arrow(name, package),
                    "move what is shared down, or make it a dev-dependency if only tests use it",
                ));
            }
        } else if PURE.contains(&name) {
            findings.extend(impurity(name, package, value).map(|says| {
                let fix = "a pure crate depends on nothing but optional serde and postcard";
                Finding::new(&file.path, line, says, fix)
            }));
        }
    }
    findings
}

fn forbidden_arrow(name: &str, package: &str) -> String {
    if ENGINES.contains(&name) && ENGINES.contains(&package) {
        format!("`{name}` depends on `{package}`, but engines never depend on each other")
    } else {
        format!("`{name}` depends on `{package}`, but no arrow points up")
    }
}

fn impurity(name: &str, package: &str, value: &Value) -> Option<String> {
    if !FOR_THE_PURE.contains(&package) {
        Some(format!("`{name}` depends on `{package}`"))
    } else if value.get("optional") != Some(&Value::Boolean(true)) {
        Some(format!("`{name}` depends on `{package}` without `optional = true`"))
    } else {
        None
    }
}

/// What the crate needs to be built, on any target; dev-dependencies do not count.
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

/// The first line that begins with `key`, or names it in a header; 1 if none does.
fn line_of_key(file: &File, key: &str) -> usize {
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
    fn a_crate_may_depend_on_what_lies_below_it() {
        let below = "[dependencies]\ntenure-core.workspace = true\ntenure-trace.workspace = true";
        assert_eq!(found("tenure-sim", below), [""; 0]);
    }

    #[test]
    fn an_arrow_that_points_up_is_found_in_its_line() {
        let up = "[dependencies]\ntenure-runtime.workspace = true";
        let findings = found("tenure-trace", up);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("crates/x/Cargo.toml:6: `tenure-trace` depends on"));
        assert!(findings[0].contains("no arrow points up"));
    }

    #[test]
    fn an_arrow_is_found_under_another_name_and_for_one_target() {
        let renamed = "[dependencies]\nengine = { package = \"tenure-sim\", path = \"../sim\" }";
        assert_eq!(found("tenure-core", renamed).len(), 1);
        let unix = "[target.'cfg(unix)'.dependencies]\ntenure-daemon.workspace = true";
        assert_eq!(found("tenure-runtime", unix).len(), 1);
    }

    #[test]
    fn engines_never_depend_on_each_other() {
        let findings = found("tenure-check", "[dependencies.tenure-sim]\nworkspace = true");
        assert!(findings[0].contains(":5:") && findings[0].contains("engines never"));
    }

    #[test]
    fn nobody_depends_on_the_command() {
        assert_eq!(found("tenure-daemon", "[dependencies]\ntenure.workspace = true").len(), 1);
    }

    #[test]
    fn a_pure_crate_takes_nothing_but_optional_serde() {
        let optional = "[dependencies]\nserde = { workspace = true, optional = true }";
        assert_eq!(found("tenure-core", optional), [""; 0]);
        assert_eq!(found("tenure-core", "[dependencies]\nserde.workspace = true").len(), 1);
        assert_eq!(found("tenure-algorithms", "[dependencies]\nfastrand = \"2\"").len(), 1);
    }

    #[test]
    fn dev_dependencies_do_not_count() {
        let dev = "[dev-dependencies]\ntenure-check.workspace = true\nproptest = \"1\"";
        assert_eq!(found("tenure-algorithms", dev), [""; 0]);
    }

    #[test]
    fn a_crate_without_the_lints_or_without_a_place_is_found() {
        let without = findings(check, &[("a/Cargo.toml", "[package]\nname = \"tenure-core\"")]);
        assert!(without[0].contains("does not take the workspace's lints"));
        assert!(found("tenure-extra", "")[0].contains("no place in the house"));
    }
}
