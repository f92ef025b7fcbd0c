//! Golden tests: each script in a directory is compared with its expected outcome.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tenure_core::{Group, Protocol};

use crate::scripts::diff::diff;
use crate::scripts::perform::perform_script;
use crate::scripts::script::Script;
use crate::scripts::service_command::ServiceCommand;

/// Performs each script (`*.txt`) in `folder` on test clusters of `P`. Compares the outcome of each
/// block with the text below the line `----` of the block. A block with actions must have this
/// line.
///
/// If the environment contains `TENURE_GOLDEN=rewrite`, the scripts are rewritten with the actual
/// outcome. Review the difference before you commit it. Tests run in the directory of their crate,
/// so `folder` is relative to this directory.
///
/// # Panics
///
/// Panics with all problems and differences if an outcome differs, if a script cannot be read,
/// parsed or performed, or if there is no script.
pub fn run_golden_scripts<P: Protocol<Command: ServiceCommand>>(
    folder: impl AsRef<Path>,
    config: impl Fn(Group) -> P::Config,
) {
    let rewrite = std::env::var("TENURE_GOLDEN").is_ok_and(|wish| wish == "rewrite");
    let folder = folder.as_ref();
    let scripts = scripts(folder).unwrap_or_else(|description| panic!("{description}"));
    assert!(!scripts.is_empty(), "there is no script (*.txt) in {}", folder.display());
    let mut wrong = String::new();
    for path in scripts {
        if let Err(description) = check::<P>(&path, &config, rewrite) {
            let _ = writeln!(wrong, "{}: {description}", path.display());
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}\nTENURE_GOLDEN=rewrite accepts the actual outcome.");
}

fn scripts(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("cannot list {}: {error}", folder.display());
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            scripts.push(path);
        }
    }
    scripts.sort();
    Ok(scripts)
}

fn check<P: Protocol<Command: ServiceCommand>>(
    path: &Path,
    config: &impl Fn(Group) -> P::Config,
    rewrite: bool,
) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let expected: Script = text.parse().map_err(|error| format!("{error}"))?;
    let happened = replay::<P>(&expected, config)?;
    if rewrite {
        return fs::write(path, happened.to_string()).map_err(|error| error.to_string());
    }
    if happened == expected {
        return Ok(());
    }
    let difference = diff(&expected.to_string(), &happened.to_string());
    Err(format!("the outcome differs\n{difference}"))
}

/// Performs a script, and returns the script with the actual outcome of each block. A block without
/// actions and without `----` stays as it is.
fn replay<P: Protocol<Command: ServiceCommand>>(
    script: &Script,
    config: &impl Fn(Group) -> P::Config,
) -> Result<Script, String> {
    let mut script = script.clone();
    let outcomes = perform_script::<P>(&script, config).map_err(|error| error.to_string())?;
    for (block, outcome) in script.blocks.iter_mut().zip(outcomes) {
        if block.outcome.is_some() || block.actions_with_lines().next().is_some() {
            block.outcome = Some(outcome);
        }
    }
    Ok(script)
}
