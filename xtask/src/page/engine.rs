//! Builds the simulator and the checker as a WebAssembly module.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::PageError;
use crate::program;

const TARGET: &str = "wasm32-unknown-unknown";

pub(super) fn build_wasm_module(root: &Path) -> Result<PathBuf, PageError> {
    let Some(library) = standard_library() else {
        let advice = format!("needs the target {TARGET}: rustup target add {TARGET}");
        return Err(PageError::Missing(advice));
    };
    let mut arguments = vec!["--package", "tenure-page", "--lib", "--target", TARGET];
    arguments.extend(library.options());
    let files = program::build_files(root, "page", &arguments)?;
    let module = files.into_iter().rfind(|file| file.ends_with("tenure_page.wasm"));
    module.ok_or_else(|| PageError::Failed("cargo did not build the module".to_owned()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StandardLibrary {
    /// The standard library is installed in binary form, as by rustup.
    Installed,
    /// The compiler builds the standard library from its source, which requires
    /// `RUSTC_BOOTSTRAP=1`. The packages of Debian contain this source.
    FromSource,
}

impl StandardLibrary {
    fn options(self) -> &'static [&'static str] {
        match self {
            StandardLibrary::Installed => &[],
            StandardLibrary::FromSource => &["-Zbuild-std=std,panic_abort"],
        }
    }
}

/// Returns how the installed compiler provides the standard library for the target. Returns `None`
/// if the compiler cannot provide the library.
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
