//! The layout of the source: which room uses which, how many entries a folder has, and where the interpreter is released.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of `base`, each with those it may use.
const BASE: [(&str, &[&str]); 7] = [
    ("error", &[]),
    ("monitor", &["error"]),
    ("parallel", &["error", "monitor"]),
    ("rng", &[]),
    ("union_find", &[]),
    ("csr", &["error", "monitor"]),
    ("points", &["error", "monitor"]),
];

/// The other rooms, each with those it may use. All but `linalg` may use `base` as well.
const ROOMS: [(&str, &[&str]); 7] = [
    ("linalg", &[]),
    ("neighbors", &["linalg"]),
    ("charts", &["linalg", "neighbors"]),
    ("measure", &["linalg", "neighbors", "charts"]),
    ("embed", &["linalg", "neighbors", "charts", "measure"]),
    ("spectral", &["linalg", "neighbors", "charts"]),
    ("synthetic", &[]),
];

/// The most files and folders in one folder.
const MAX_ENTRIES: usize = 12;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Every folder below one, itself included.
fn folders(top: &Path) -> Vec<PathBuf> {
    let below = entries(top).into_iter().filter(|path| path.is_dir());
    below.flat_map(|path| folders(&path)).chain([top.to_owned()]).collect()
}

/// The lines of code of every Rust file below a folder, with the module path of the file.
fn modules(top: &Path) -> Vec<(Vec<String>, Vec<String>)> {
    let files = folders(top).into_iter().flat_map(|folder| entries(&folder));
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.map(|path| (module(path.strip_prefix(top).unwrap()), code(&path))).collect()
}

fn module(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if names.last().is_some_and(|name| name == "mod" || name == "lib") {
        names.pop();
    }
    names
}

fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

/// The room of a module: modules of `base` are rooms of their own.
fn room(module: &[String]) -> Option<&str> {
    let inner = usize::from(module.first().is_some_and(|name| name == "base"));
    module.get(inner).map(String::as_str)
}

/// The module paths that a line names by `crate::` or `super::`.
fn used(module: &[String], line: &str) -> Vec<Vec<String>> {
    let (mut paths, mut rest) = (vec![], line);
    while let Some(at) = ["crate::", "super::"].iter().filter_map(|start| rest.find(start)).min() {
        let end = rest[at..].find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let (path, after) = rest[at..].split_at(end.unwrap_or(rest.len() - at));
        let mut names = module.to_vec();
        for name in path.split("::").filter(|name| !name.is_empty()) {
            match name {
                "crate" => names.clear(),
                "super" => drop(names.pop()),
                _ => names.push(name.to_owned()),
            }
        }
        paths.push(names);
        rest = after;
    }
    paths
}

#[test]
fn rooms_use_only_those_before_them() {
    let mut checked = 0;
    for (module, lines) in modules(&folder("rust/src")) {
        let Some(own) = room(&module) else { continue };
        let (_, named) = BASE.iter().chain(&ROOMS).find(|(name, _)| *name == own).unwrap();
        let base = ROOMS.iter().any(|(name, _)| *name == own && own != "linalg");
        let is_allowed = |other: &str| {
            other == own || named.contains(&other) || (base && BASE.iter().any(|(name, _)| *name == other))
        };
        for line in &lines {
            for path in used(&module, line) {
                let Some(other) = room(&path) else { panic!("{own} names the crate as a whole: {line}") };
                assert!(is_allowed(other), "{own} must not use {other}: {line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 300, "only {checked} paths were found");
}

#[test]
fn folders_are_small() {
    for top in ["rust/src", "tests/rust"] {
        for folder in folders(&folder(top)) {
            let count = entries(&folder).len();
            assert!(count <= MAX_ENTRIES, "{} has {count} entries", folder.display());
        }
    }
}

/// To be enabled once the border has one place that releases the interpreter.
#[test]
fn only_run_releases_the_interpreter() {
    for (module, lines) in modules(&folder("rust/py/src")) {
        let releases = lines.iter().find(|line| line.contains("detach("));
        assert!(releases.is_none() || module == ["run"], "{module:?}: {}", releases.unwrap());
    }
}
