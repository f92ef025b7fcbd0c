//! Joins JavaScript modules into one script, because a page that is opened from a disk cannot
//! import files.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Matches an import of names from a module of the same folder.
static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^import \{([^}]*)\} from "\./([a-z_]+)\.js";\n"#).expect("a valid pattern")
});
/// Matches the export of a declaration.
static DECLARATION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?m)^export ((?:async )?(?:function|class|const|let) ([A-Za-z_]\w*))";
    Regex::new(pattern).expect("a valid pattern")
});
/// Matches the export of a list of names.
static LIST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^export \{([^}]*)\};\n").expect("a valid pattern"));

/// Joins a module with all modules that it imports. Each module becomes a function, so that the
/// names of different modules do not conflict.
///
/// # Errors
///
/// Returns the reason if a module cannot be read, imports itself through other modules, or contains
/// an import or export in an unsupported form.
pub(super) fn bundle_modules(
    entry_module: &str,
    read_module: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut joined =
        Joined { read: read_module, text: String::new(), done: BTreeSet::new(), open: Vec::new() };
    joined.add(entry_module)?;
    Ok(joined.text)
}

struct Joined<'a> {
    read: &'a dyn Fn(&str) -> Result<String, String>,
    text: String,
    done: BTreeSet<String>,
    /// Modules whose imports are being added. If a module imports one of them, the imports form a
    /// cycle.
    open: Vec<String>,
}

impl Joined<'_> {
    fn add(&mut self, name: &str) -> Result<(), String> {
        if self.done.contains(name) {
            return Ok(());
        }
        if self.open.iter().any(|open| open == name) {
            return Err(format!("{name}.js imports itself through {}", self.open.join(", ")));
        }
        self.open.push(name.to_owned());
        let source = (self.read)(name)?;
        for import in IMPORT.captures_iter(&source) {
            self.add(&import[2])?;
        }
        self.text.push_str(&wrapped(name, &source)?);
        self.open.pop();
        self.done.insert(name.to_owned());
        Ok(())
    }
}

/// Returns JavaScript code that declares a constant for the module `name`. The value of the
/// constant is an object with all names that the module exports.
fn wrapped(name: &str, source: &str) -> Result<String, String> {
    let mut exported: Vec<String> =
        DECLARATION.captures_iter(source).map(|found| found[2].to_owned()).collect();
    for list in LIST.captures_iter(source) {
        exported.extend(list[1].split(',').map(|name| name.trim().to_owned()));
    }
    exported.retain(|name| !name.is_empty());
    let constant = |import: &Captures<'_>| {
        format!("const {{{}}} = ${};\n", import[1].replace(" as ", ": "), &import[2])
    };
    let body = IMPORT.replace_all(source, constant);
    let body = LIST.replace_all(&body, "");
    let body = DECLARATION.replace_all(&body, "$1");
    let other =
        body.lines().find(|line| line.starts_with("import ") || line.starts_with("export "));
    if let Some(line) = other {
        return Err(format!("{name}.js: unknown form of import or export: {line}"));
    }
    Ok(format!("const ${name} = (() => {{\n{body}return {{ {} }};\n}})();\n", exported.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::bundle_modules;

    fn bundled(modules: &[(&str, &str)]) -> Result<String, String> {
        bundle_modules(modules[0].0, &|name| {
            let found = modules.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("no {name}.js"))
        })
    }

    #[test]
    fn imported_modules_come_first_and_once() {
        let text = bundled(&[
            ("a", "import { f as g } from \"./b.js\";\nimport { k } from \"./c.js\";\ng(k);\n"),
            ("b", "import { k } from \"./c.js\";\nexport function f() { return k; }\n"),
            ("c", "const k = 1;\nexport { k };\n"),
        ])
        .unwrap();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(at("const $c") < at("const $b") && at("const $b") < at("const $a"), "{text}");
        assert_eq!(text.matches("const $c").count(), 1);
        assert!(text.contains("const { f: g } = $b;"), "{text}");
        assert!(text.contains("\nfunction f()") && text.contains("return { f };"), "{text}");
        assert!(!text.contains("import ") && !text.contains("export "), "{text}");
    }

    #[test]
    fn rejects_cycles_and_unknown_forms() {
        let cycle = [
            ("a", "import { b } from \"./b.js\";\nexport const a = 1;\n"),
            ("b", "import { a } from \"./a.js\";\nexport const b = 1;\n"),
        ];
        assert!(bundled(&cycle).is_err_and(|error| error.contains("imports itself")));
        assert!(bundled(&[("a", "export default 1;\n")]).is_err());
        assert!(bundled(&[("a", "import \"https://example.org/x.js\";\n")]).is_err());
        assert!(bundled(&[("a", "import { b } from \"./b.js\";\n")]).is_err());
    }
}
