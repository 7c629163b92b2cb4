//! From names to the items that they stand for.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, ItemMacro, UseTree, Visibility};

use crate::source::{ModulePath, Modules};

/// An item: the module that defines it, and its name there.
pub(crate) type Id = (ModulePath, String);

/// A name that a module has by `use`: what it stands for, and whether it is public.
struct Import {
    name: String,
    path: Vec<String>,
    public: bool,
}

pub(crate) struct Names<'a> {
    modules: &'a Modules,
    imports: BTreeMap<&'a ModulePath, Vec<Import>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(modules: &'a Modules) -> Names<'a> {
        let imports = modules.iter().map(|(path, items)| (path, imports(items))).collect();
        Names { modules, imports }
    }

    /// The item that a path in a module stands for, if it is one of ours; a module has an empty name.
    pub(crate) fn resolve(&self, module: &[String], path: &[String]) -> Option<Id> {
        self.lookup(module, path, &mut Vec::new())
    }

    /// All public names of a module, and the items that they stand for.
    pub(crate) fn public(&self, module: &ModulePath) -> Vec<(String, Id)> {
        let mut names = Vec::new();
        for item in &self.modules[module] {
            match name_of(item) {
                Some((name, true)) if !matches!(item, Item::Mod(_)) => {
                    names.push((name.clone(), (module.clone(), name)))
                }
                Some((name, true)) => {
                    names.push((name.clone(), ([&module[..], &[name]].concat(), String::new())))
                }
                _ => {}
            }
        }
        for import in self.imports[module].iter().filter(|import| import.public) {
            if import.name == "*" {
                let found = self.resolve(module, &import.path).map(|(target, _)| self.public(&target));
                names.extend(found.unwrap_or_default());
                continue;
            }
            let found = self.resolve(module, &import.path);
            let id = found
                .unwrap_or_else(|| panic!("{}: nothing is `{}`", module.join("::"), import.path.join("::")));
            names.push((import.name.clone(), id));
        }
        names
    }

    /// The shortest public path of an item in the crate that defines it.
    pub(crate) fn path_in_crate(&self, id: &Id) -> Option<String> {
        let mut modules = vec![(id.0[..1].to_vec(), id.0[0].clone())];
        let mut seen = BTreeSet::new();
        while !modules.is_empty() {
            let mut inside = Vec::new();
            for (module, path) in modules {
                let public = self.public(&module);
                if let Some((name, _)) = public.iter().find(|(_, item)| item == id) {
                    return Some(format!("{path}::{name}"));
                }
                let own =
                    public.into_iter().filter(|(_, (target, item))| item.is_empty() && target[0] == id.0[0]);
                inside.extend(own.map(|(name, (target, _))| (target, format!("{path}::{name}"))));
            }
            modules = inside.into_iter().filter(|(module, _)| seen.insert(module.clone())).collect();
        }
        None
    }

    fn lookup(&self, module: &[String], path: &[String], seen: &mut Vec<(Id, bool)>) -> Option<Id> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            "crate" => Some(vec![module[0].clone()]),
            "self" => Some(module.to_vec()),
            "super" => Some(module[..module.len() - 1].to_vec()),
            name if self.modules.contains_key(&vec![name.to_owned()]) => Some(vec![name.to_owned()]),
            _ => None,
        };
        match base {
            Some(base) if rest.is_empty() => Some((base, String::new())),
            Some(base) => self.lookup(&base, rest, seen),
            None => {
                let found = self.named(module, first, rest.is_empty(), seen)?;
                match (rest.is_empty(), found.1.is_empty()) {
                    (true, _) => Some(found),
                    (false, true) => self.lookup(&found.0, rest, seen),
                    // A variant or an associated item.
                    (false, false) => Some(found),
                }
            }
        }
    }

    /// Resolves a name in a module; `last` if it ends a path.
    fn named(&self, module: &[String], name: &str, last: bool, seen: &mut Vec<(Id, bool)>) -> Option<Id> {
        let here = (module.to_vec(), name.to_owned());
        if seen.contains(&(here.clone(), last)) {
            return None;
        }
        seen.push((here.clone(), last));
        let items = self.modules.get(module)?;
        let imports = &self.imports[&module.to_vec()];
        let inner = [module, &[name.to_owned()]].concat();
        // A function may have the name of the private module that it is taken from.
        let is_taken = last && imports.iter().any(|import| import.name == name && import.public);
        if self.modules.contains_key(&inner) && !is_taken {
            return Some((inner, String::new()));
        }
        if items.iter().any(|item| name_of(item).is_some_and(|(found, _)| found == name)) {
            return Some(here);
        }
        let by_name = imports.iter().find(|import| import.name == name);
        if let Some(id) = by_name.and_then(|import| self.lookup(module, &import.path, seen)) {
            return Some(id);
        }
        let mut globs = imports.iter().filter(|import| import.name == "*");
        globs.find_map(|glob| {
            let (target, _) = self.lookup(module, &glob.path, seen)?;
            self.named(&target, name, last, seen)
        })
    }
}

/// The name of an item, and whether it is public.
fn name_of(item: &Item) -> Option<(String, bool)> {
    let (ident, vis) = match item {
        Item::Const(i) => (&i.ident, &i.vis),
        Item::Enum(i) => (&i.ident, &i.vis),
        Item::Fn(i) => (&i.sig.ident, &i.vis),
        Item::Mod(i) => (&i.ident, &i.vis),
        Item::Static(i) => (&i.ident, &i.vis),
        Item::Struct(i) => (&i.ident, &i.vis),
        Item::Trait(i) => (&i.ident, &i.vis),
        Item::Type(i) => (&i.ident, &i.vis),
        Item::Macro(i) => return made_by(i).map(|(_, name)| (name, true)),
        _ => return None,
    };
    Some((ident.to_string(), matches!(vis, Visibility::Public(_))))
}

/// The kind and the name of the public type that a macro makes: `pub enum Name` or `pub struct Name` in its input or its
/// definition.
pub(crate) fn made_by(item: &ItemMacro) -> Option<(String, String)> {
    let mut words = Vec::new();
    words_of(item.mac.tokens.clone(), item.ident.is_some(), &mut words);
    let made =
        words.windows(3).find(|w| w[0] == "pub" && (w[1] == "enum" || w[1] == "struct") && w[2] != "$")?;
    Some((made[1].clone(), made[2].clone()))
}

fn words_of(tokens: TokenStream, deep: bool, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if deep => words_of(group.stream(), deep, words),
            other => words.push(other.to_string()),
        }
    }
}

fn imports(items: &[Item]) -> Vec<Import> {
    let mut all = Vec::new();
    for item in items {
        if let Item::Use(item) = item {
            let public = matches!(item.vis, Visibility::Public(_));
            flatten(&item.tree, &mut Vec::new(), &mut |name, path| {
                all.push(Import { name, path, public });
            });
        }
    }
    all
}

fn flatten(tree: &UseTree, path: &mut Vec<String>, each: &mut dyn FnMut(String, Vec<String>)) {
    let join = |path: &[String], last: &str| match last {
        "self" => path.to_vec(),
        last => [path, &[last.to_owned()]].concat(),
    };
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            flatten(&inner.tree, path, each);
            path.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let full = join(path, &name);
            each(full.last().cloned().unwrap_or_default(), full);
        }
        UseTree::Rename(name) => each(name.rename.to_string(), join(path, &name.ident.to_string())),
        UseTree::Glob(_) => each("*".to_owned(), path.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, each)),
    }
}
