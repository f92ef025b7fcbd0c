//! Build of the WebAssembly module.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::PageError;

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the module and returns its path.
pub(super) fn build(root: &Path) -> Result<PathBuf, PageError> {
    let Some(library) = standard_library() else {
        let advice = format!("needs the target {TARGET}: rustup target add {TARGET}");
        return Err(PageError::Missing(advice));
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet", "--package", "tenure-page", "--lib"])
        .args(["--target", TARGET, "--message-format", "json-render-diagnostics"])
        .args(library.options())
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let files = found.flat_map(|message| match message["filenames"].as_array() {
        Some(names) => names.clone(),
        None => Vec::new(),
    });
    let mut modules = files.filter_map(|name| name.as_str().map(PathBuf::from));
    let module =
        modules.rfind(|name| name.file_name().is_some_and(|name| name == "tenure_page.wasm"));
    module.ok_or_else(|| PageError::Failed("cargo did not build the module".to_owned()))
}

/// Standard library of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StandardLibrary {
    /// Installed in binary form, as by rustup.
    Installed,
    /// Built from its source, which a compiler with `RUSTC_BOOTSTRAP=1` permits. Debian's packages
    /// have this source for their compiler.
    FromSource,
}

impl StandardLibrary {
    /// Returns the options of cargo that select this library.
    fn options(self) -> &'static [&'static str] {
        match self {
            StandardLibrary::Installed => &[],
            StandardLibrary::FromSource => &["-Zbuild-std=std,panic_abort"],
        }
    }
}

/// Returns the standard library of the compiler for the target, or `None` if it has none.
fn standard_library() -> Option<StandardLibrary> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let print = |what: &str| {
        let output = Command::new(&rustc).args(["--print", what, "--target", TARGET]).output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if print("target-libdir").is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Some(StandardLibrary::Installed);
    }
    let source = Path::new(&print("sysroot")?).join("lib/rustlib/src/rust/library/std");
    let may_build = std::env::var_os("RUSTC_BOOTSTRAP").is_some_and(|value| value == "1");
    (may_build && source.is_dir()).then_some(StandardLibrary::FromSource)
}
