//! `cargo xtask page`: writes the simulator, the checker, the questions and the book as one HTML
//! file.
//!
//! The file contains the front end of the lab, the engine as WebAssembly, and all data. The page
//! needs no network and can be opened from a disk. Its content security policy permits no request.

mod bundle;
mod chapters;
mod engine;
mod html;
mod lessons;
pub(crate) mod markdown;
mod order;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

pub(crate) use chapters::{BOOK_DIRECTORY, chapter_names};
pub(crate) use html::escape;
pub(crate) use markdown::LinkTarget;

/// Maximum size of the HTML file after compression, in bytes.
const MAX_COMPRESSED: usize = 2_450_000;

#[derive(Debug)]
pub(crate) enum PageError {
    /// A tool is missing. The text tells how to install it.
    Missing(String),
    Failed(String),
}

impl PageError {
    /// Prints the reason and returns the exit status: 2 for a missing tool, 1 otherwise.
    pub(crate) fn report(&self) -> ExitCode {
        let (PageError::Missing(text) | PageError::Failed(text)) = self;
        eprintln!("page: {text}");
        ExitCode::from(if matches!(self, PageError::Missing(_)) { 2 } else { 1 })
    }
}

impl From<String> for PageError {
    fn from(text: String) -> Self {
        PageError::Failed(text)
    }
}

/// Writes the page. `arguments` are `--wasm FILE` for a built module, and `--out FILE`.
///
/// Exits with status 2 if the options are invalid or the WebAssembly target is not installed, and
/// with status 1 if the page cannot be built or is too large.
pub(crate) fn main(root: &Path, arguments: &[&str]) -> ExitCode {
    let (mut wasm, mut out) = (None, root.join("target/page.html"));
    let mut rest = arguments.iter();
    while let Some(wish) = rest.next() {
        match (*wish, rest.next()) {
            ("--wasm", Some(file)) => wasm = Some(PathBuf::from(file)),
            ("--out", Some(file)) => out = PathBuf::from(file),
            _ => {
                eprintln!("page: expected --wasm FILE or --out FILE, found {wish}");
                return ExitCode::from(2);
            }
        }
    }
    match write(root, wasm.as_deref(), &out) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => error.report(),
    }
}

/// Writes the page to a file and returns a line about its size. `wasm` is the path of the
/// WebAssembly module. If `wasm` is `None`, builds the module.
pub(crate) fn write(root: &Path, wasm: Option<&Path>, out: &Path) -> Result<String, PageError> {
    let built = match wasm {
        Some(file) => file.to_path_buf(),
        None => engine::build_wasm_module(root)?,
    };
    let module = fs::read(&built).map_err(|error| format!("{}: {error}", built.display()))?;
    let module = order::group_similar_functions(&module)?;
    let page = compose(root, &module)?;
    let compressed = compress(page.as_bytes())?.len();
    if compressed > MAX_COMPRESSED {
        let message = format!("{compressed} bytes compressed, the limit is {MAX_COMPRESSED}");
        return Err(PageError::Failed(message));
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), fs::create_dir_all).map_err(|error| error.to_string())?;
    fs::write(out, &page).map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(format!("{}: {} bytes, {compressed} compressed", out.display(), page.len()))
}

fn compose(root: &Path, module: &[u8]) -> Result<String, String> {
    let folder = root.join("crates/lab/src/page");
    let shared = root.join("crates/trace/src/diagram/html/viewer");
    let read = |file: PathBuf| {
        fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
    };
    let elements = read(shared.join("element.js"))?;
    let script = bundle::bundle_modules("lab", &|name| match name {
        "element" => Ok(format!("{elements}export {{ byId, element, facts, updateChildren }};\n")),
        name => read(folder.join(format!("{name}.js"))),
    })?;
    let parts = html::EmbeddedParts {
        styles: [read(shared.join("palette.css"))?, read(folder.join("lab.css"))?].concat(),
        script,
        worker: read(folder.join("worker.js"))?,
        module: STANDARD.encode(compress(module)?),
        questions: lessons::questions_json(root)?,
        book: chapters::chapters_json(root)?,
    };
    html::embed_parts(&read(folder.join("lab.html"))?, &parts)
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    let written = writer.write_all(bytes).and_then(|()| writer.finish());
    written.map_err(|error| error.to_string())
}
