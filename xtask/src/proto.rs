//! Makes Rust of the protobufs of the server, or sees whether what is there is current.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Where it is committed, so that nobody needs a compiler of protobufs to build Tenure.
const MADE: &str = "crates/etcd/src";

pub(crate) fn main(root: &Path, write: bool) -> ExitCode {
    let made = root.join(MADE);
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("xtask proto: no temporary folder: {error}");
            return ExitCode::from(2);
        }
    };
    let destination = if write { made.clone() } else { folder.path().to_path_buf() };
    let ran = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("proto/Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target/proto"))
        .arg("--")
        .arg(&destination)
        .status();
    if !ran.is_ok_and(|status| status.success()) {
        eprintln!("xtask proto: the protobufs were not compiled");
        return ExitCode::from(1);
    }
    let old = if write { Vec::new() } else { differing(folder.path(), &made) };
    for name in &old {
        println!("{MADE}/{name} is not current; `cargo xtask proto` makes it");
    }
    ExitCode::from(u8::from(!old.is_empty()))
}

/// The files of one folder that are not, or not the same, in another.
fn differing(one: &Path, other: &Path) -> Vec<String> {
    let files = fs::read_dir(one).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| fs::read(one.join(name)).ok() != fs::read(other.join(name)).ok()).collect()
}
