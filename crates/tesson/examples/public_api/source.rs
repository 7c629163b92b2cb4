//! The modules of the workspace's crates, parsed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::{Attribute, Item};

/// A module: crate first, then the names that lead to it.
pub(crate) type ModulePath = Vec<String>;

/// The items of all modules.
pub(crate) type Modules = BTreeMap<ModulePath, Vec<Item>>;

/// Parses the façade and the crates that it stands on.
pub(crate) fn modules() -> Modules {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the façade lies among the crates");
    let mut modules = Modules::new();
    for entry in fs::read_dir(crates).expect("the folder of crates") {
        let folder = entry.expect("an entry of it").path();
        let name =
            folder.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8").replace('-', "_");
        if let ("tesson_cli" | "tesson_py", _) | (_, false) = (&*name, folder.join("src/lib.rs").is_file()) {
            continue;
        }
        file(&folder.join("src/lib.rs"), &folder.join("src"), vec![name], &mut modules);
    }
    modules
}

fn file(path: &Path, folder: &Path, module: ModulePath, modules: &mut Modules) {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    items(parsed.items, folder, module, modules);
}

fn items(items_of: Vec<Item>, folder: &Path, module: ModulePath, modules: &mut Modules) {
    for item in &items_of {
        let Item::Mod(inner) = item else { continue };
        if is_test(&inner.attrs) {
            continue;
        }
        let name = inner.ident.to_string();
        let (inside, path) = (folder.join(&name), [&module[..], std::slice::from_ref(&name)].concat());
        match &inner.content {
            Some((_, content)) => items(content.clone(), &inside, path, modules),
            None => {
                let (beside, within) = (folder.join(format!("{name}.rs")), inside.join("mod.rs"));
                file(if beside.is_file() { &beside } else { &within }, &inside, path, modules);
            }
        }
    }
    modules.insert(module, items_of);
}

fn is_test(attributes: &[Attribute]) -> bool {
    let of_tests = |a: &Attribute| {
        a.path().is_ident("cfg") && a.meta.require_list().is_ok_and(|l| l.tokens.to_string() == "test")
    };
    attributes.iter().any(of_tests)
}
