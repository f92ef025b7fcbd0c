//! `cargo xtask site`: writes a folder that any static host can serve.
//!
//! The folder contains the page, the book, the documents, a page for each algorithm with a live
//! picture, and the documentation of the library. All links within the folder are checked.

mod algorithms;
mod documents;
mod fragment;
mod links;
mod template;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::page::{self, PageError};
use crate::program;

#[derive(Debug, Default)]
struct Options {
    out: Option<PathBuf>,
    wasm: Option<PathBuf>,
    tenure: Option<PathBuf>,
    /// Address at which a host shows the files of the repository, without a final `/`.
    repository: Option<String>,
    /// True if the site omits the documentation of the library.
    is_without_api: bool,
}

impl Options {
    fn new(arguments: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(wish) = rest.next() {
            match *wish {
                "--out" => options.out = Some(PathBuf::from(rest.next()?)),
                "--wasm" => options.wasm = Some(PathBuf::from(rest.next()?)),
                "--tenure" => options.tenure = Some(PathBuf::from(rest.next()?)),
                "--repository" => {
                    options.repository = Some(rest.next()?.trim_end_matches('/').to_owned());
                }
                "--without-api" => options.is_without_api = true,
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Writes the site.
///
/// Exits with status 2 if the options are invalid or the WebAssembly target is not installed, and
/// with status 1 if a part cannot be built or a link is dead.
pub(crate) fn main(root: &Path, arguments: &[&str]) -> ExitCode {
    let Some(options) = Options::new(arguments) else {
        eprintln!(
            "site: expected --out FOLDER, --wasm FILE, --tenure FILE, --repository URL or \
             --without-api"
        );
        return ExitCode::from(2);
    };
    let out = options.out.clone().unwrap_or_else(|| root.join("target/site"));
    match write(root, &options, &out) {
        Ok(dead) if dead.is_empty() => {
            println!("{}: written, no dead links", out.display());
            ExitCode::SUCCESS
        }
        Ok(dead) => {
            dead.iter().for_each(|link| println!("{link}"));
            println!("site: {} dead links", dead.len());
            ExitCode::FAILURE
        }
        Err(error) => error.report(),
    }
}

/// Writes all parts of the site to a folder. Returns a line for each dead link.
fn write(root: &Path, options: &Options, out: &Path) -> Result<Vec<String>, PageError> {
    println!("{}", page::write(root, options.wasm.as_deref(), &out.join("page.html"))?);
    let tenure = match &options.tenure {
        Some(file) => file.clone(),
        None => program::build_tenure(root)?,
    };
    let mut files = documents::document_pages(root, options.repository.as_deref())?;
    let (algorithms, names) = algorithms::algorithm_pages(&tenure)?;
    files.extend(algorithms);
    if !options.is_without_api {
        document_library(root, &out.join("api"))?;
    }
    files.push(("index.html".to_owned(), template::front(&names, !options.is_without_api)));
    files.push(("site.css".to_owned(), template::styles(root)?));
    // Without this file, some hosts leave out files whose names begin with an underscore.
    files.push((".nojekyll".to_owned(), String::new()));
    for (name, text) in &files {
        let file = out.join(name);
        let folder = file.parent().unwrap_or(out);
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(links::dead_links(out, &files))
}

/// Builds the documentation of the library and copies it to a folder.
fn document_library(root: &Path, out: &Path) -> Result<(), String> {
    let target = root.join("target/site-api");
    let mut command = program::cargo(root);
    command.args(["doc", "--workspace", "--no-deps", "--locked", "--quiet", "--target-dir"]);
    match command.arg(&target).status() {
        Ok(status) if status.success() => copy(&target.join("doc"), out),
        Ok(_) => Err("cargo doc failed".to_owned()),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn reads_options() {
        let options = Options::new(&["--without-api", "--repository", "https://a.org/b/"]).unwrap();
        assert!(options.is_without_api);
        assert_eq!(options.repository.as_deref(), Some("https://a.org/b"));
        assert!(Options::new(&["--out"]).is_none());
        assert!(Options::new(&["site"]).is_none());
    }
}
