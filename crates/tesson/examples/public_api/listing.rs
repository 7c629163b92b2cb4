//! The listing: each public name with its signature, and what of a type is public.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, ItemMacro, ItemStruct, TraitItem, Visibility};

use crate::resolve::{Id, Names, made_by};
use crate::source::{ModulePath, Modules, modules};

/// All public items of the façade, a line each; then the types that stand in their signatures and are public in the crates
/// below alone, and those that have no public name at all.
pub(crate) fn listing() -> String {
    let modules = modules();
    let names = Names::new(&modules);
    let mut api = Api {
        modules: &modules,
        names: &names,
        paths: BTreeMap::new(),
        used: BTreeSet::new(),
        lines: Vec::new(),
    };
    api.module("tesson", &vec!["tesson".to_owned()]);
    let others = api.used.iter().filter(|id| !api.paths.contains_key(*id));
    let others = others.map(|id| match names.path_in_crate(id) {
        Some(path) => format!("inner {path}"),
        None => format!("unnamed {}::{}", id.0.join("::"), id.1),
    });
    let others: BTreeSet<String> = others.collect();
    api.lines.extend(others);
    api.lines.join("\n") + "\n"
}

struct Api<'a> {
    modules: &'a Modules,
    names: &'a Names<'a>,
    /// The first public path of each item that has been listed.
    paths: BTreeMap<Id, String>,
    /// Items of ours that stand in public signatures.
    used: BTreeSet<Id>,
    lines: Vec<String>,
}

impl Api<'_> {
    fn module(&mut self, path: &str, module: &ModulePath) {
        let id = (module.clone(), String::new());
        if let Some(first) = self.paths.get(&id) {
            return self.lines.push(format!("{path} = {first}"));
        }
        self.paths.insert(id, path.to_owned());
        self.lines.push(format!("mod {path}"));
        let mut public = self.names.public(module);
        // Modules last: an item is described where its path is shortest.
        public.sort_by_key(|(name, (_, item))| (item.is_empty(), name.clone()));
        for (name, (target, item)) in public {
            let path = format!("{path}::{name}");
            if item.is_empty() { self.module(&path, &target) } else { self.item(&path, (target, item)) }
        }
    }

    fn item(&mut self, path: &str, id: Id) {
        if let Some(first) = self.paths.get(&id) {
            return self.lines.push(format!("{path} = {first}"));
        }
        self.paths.insert(id.clone(), path.to_owned());
        let (module, name) = &id;
        for item in &self.modules[module] {
            match item {
                Item::Const(i) if i.ident == *name => self.line(module, &format!("const {path}: "), &i.ty),
                Item::Static(i) if i.ident == *name => self.line(module, &format!("static {path}: "), &i.ty),
                Item::Type(i) if i.ident == *name => {
                    self.line(module, &format!("type {path}{} = ", text(&i.generics)), &i.ty)
                }
                Item::Fn(i) if i.sig.ident == *name => self.signature(module, path, &i.sig),
                Item::Struct(i) if i.ident == *name => {
                    self.lines.push(format!("{}struct {path}{}", marks(&i.attrs), text(&i.generics)));
                    self.fields(module, path, &i.fields, false);
                    self.impls(path, &id);
                }
                Item::Enum(i) if i.ident == *name => {
                    self.lines.push(format!("{}enum {path}{}", marks(&i.attrs), text(&i.generics)));
                    for variant in &i.variants {
                        let path = format!("{path}::{}", variant.ident);
                        self.lines.push(format!("variant {path}"));
                        self.fields(module, &path, &variant.fields, true);
                    }
                    self.impls(path, &id);
                }
                Item::Macro(i) if made_by(i).is_some_and(|(_, made)| made == *name) => {
                    let (kind, _) = made_by(i).expect("it was made");
                    if i.mac.path.segments.last().is_some_and(|name| name.ident == "error_kinds") {
                        self.lines.push(format!("#[non_exhaustive] {kind} {path} by error_kinds!"));
                        let variants = kinds(&i.mac.tokens);
                        self.lines.extend(variants.iter().map(|kind| format!("variant {path}::{kind}")));
                    } else if let Some(declared) = option_set(i) {
                        self.lines.push(format!("{}struct {path}", marks(&declared.attrs)));
                        self.fields(module, path, &declared.fields, false);
                    } else {
                        let input = self.input(module, i);
                        self.lines.push(format!("{kind} {path} by a macro of {input}"));
                    }
                    self.impls(path, &id);
                }
                Item::Trait(i) if i.ident == *name => {
                    let bounds = text(&i.supertraits);
                    self.lines.push(format!("trait {path}{}: {bounds}", text(&i.generics)));
                    for item in &i.items {
                        self.trait_item(module, path, item);
                    }
                }
                _ => {}
            }
        }
    }

    /// The input of a macro: the call itself, or the calls of a definition.
    fn input(&self, module: &ModulePath, item: &ItemMacro) -> String {
        let Some(name) = &item.ident else { return without_texts(&item.mac.tokens) };
        let calls = self.modules[module].iter().filter_map(|item| match item {
            Item::Macro(call) if call.mac.path.is_ident(name) => Some(without_texts(&call.mac.tokens)),
            _ => None,
        });
        calls.collect::<Vec<_>>().join(" ")
    }

    fn trait_item(&mut self, module: &ModulePath, path: &str, item: &TraitItem) {
        match item {
            TraitItem::Fn(f) => {
                let given = if f.default.is_some() { "provided " } else { "required " };
                let at = self.lines.len();
                self.signature(module, &format!("{path}::{}", f.sig.ident), &f.sig);
                self.lines[at].insert_str(0, given);
            }
            TraitItem::Const(c) => self.line(module, &format!("const {path}::{}: ", c.ident), &c.ty),
            TraitItem::Type(t) => self.lines.push(format!("type {path}::{}", t.ident)),
            _ => {}
        }
    }

    fn fields(&mut self, module: &ModulePath, path: &str, fields: &Fields, all: bool) {
        for (n, field) in fields.iter().enumerate() {
            if all || matches!(field.vis, Visibility::Public(_)) {
                let name = field.ident.as_ref().map_or_else(|| n.to_string(), ToString::to_string);
                self.line(module, &format!("field {path}.{name}: "), &field.ty);
            }
        }
    }

    /// Public methods of a type, and the traits that it has by hand.
    fn impls(&mut self, path: &str, id: &Id) {
        let modules = self.modules;
        let of_crate = modules.iter().filter(|(module, _)| module[0] == id.0[0] || module[0] == "tesson");
        for (module, items) in of_crate {
            for item in items {
                let Item::Impl(item) = item else { continue };
                if self.is_of(module, item, id) {
                    self.implementation(module, path, item);
                }
            }
        }
    }

    fn is_of(&self, module: &ModulePath, item: &ItemImpl, id: &Id) -> bool {
        let syn::Type::Path(of) = &*item.self_ty else { return false };
        self.names.resolve(module, &segments(&of.path)).as_ref() == Some(id)
    }

    fn implementation(&mut self, module: &ModulePath, path: &str, item: &ItemImpl) {
        if let Some((of, _)) = &item.trait_ {
            self.lines.push(format!("impl {} for {path}", text(of)));
            return;
        }
        for inner in &item.items {
            match inner {
                ImplItem::Fn(f) if is_shown(&f.vis, &f.attrs) => {
                    self.signature(module, &format!("{path}::{}", f.sig.ident), &f.sig);
                }
                ImplItem::Const(c) if is_shown(&c.vis, &c.attrs) => {
                    self.line(module, &format!("const {path}::{}: ", c.ident), &c.ty);
                }
                _ => {}
            }
        }
    }

    fn signature(&mut self, module: &ModulePath, path: &str, sig: &syn::Signature) {
        let mut without_name = sig.clone();
        without_name.ident = syn::Ident::new("F", sig.ident.span());
        let shown = text(&without_name).replacen("fn F", &format!("fn {path}"), 1);
        self.use_types(module, |types| types.visit_signature(sig));
        self.lines.push(shown);
    }

    fn line(&mut self, module: &ModulePath, before: &str, ty: &syn::Type) {
        self.use_types(module, |types| types.visit_type(ty));
        self.lines.push(format!("{before}{}", text(ty)));
    }

    /// Notes the items of ours that a signature names.
    fn use_types(&mut self, module: &ModulePath, walk: impl FnOnce(&mut Paths)) {
        let mut types = Paths(Vec::new());
        walk(&mut types);
        let found = types.0.iter().filter_map(|path| self.names.resolve(module, path));
        self.used.extend(found.filter(|(_, name)| !name.is_empty()).collect::<Vec<_>>());
    }
}

/// The paths that stand in a signature.
struct Paths(Vec<Vec<String>>);

impl<'a> Visit<'a> for Paths {
    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0.push(segments(path));
        visit::visit_path(self, path);
    }
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn is_shown(vis: &Visibility, attributes: &[Attribute]) -> bool {
    let is_hidden =
        |a: &Attribute| a.path().is_ident("doc") && a.to_token_stream().to_string().contains("hidden");
    matches!(vis, Visibility::Public(_)) && !attributes.iter().any(is_hidden)
}

/// The attributes in front of a type: that more may be added to it, and what is derived.
fn marks(attributes: &[Attribute]) -> String {
    let of = |a: &Attribute| match () {
        () if a.path().is_ident("non_exhaustive") => Some("#[non_exhaustive] ".to_owned()),
        () if a.path().is_ident("derive") => Some(format!("#[{}] ", text(&a.meta))),
        () => None,
    };
    attributes.iter().filter_map(of).collect()
}

/// The variants that `error_kinds!` declares, with their fields.
fn kinds(tokens: &TokenStream) -> Vec<String> {
    let Some(TokenTree::Group(variants)) = tokens.clone().into_iter().last() else { return Vec::new() };
    let is_attribute =
        |token: &TokenTree| matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket);
    let kind = |variant: &Vec<TokenTree>| {
        let mut tokens =
            variant.iter().filter(|token| !matches!(token, TokenTree::Punct(_)) && !is_attribute(token));
        let name = tokens.next()?.to_string();
        let Some(TokenTree::Group(fields)) = tokens.next() else { return Some(name) };
        let before_default = |field: Vec<TokenTree>| -> TokenStream {
            field.into_iter().take_while(|token| token.to_string() != "=").collect()
        };
        let fields = split(&fields.stream()).into_iter().map(|field| text(&before_default(field)));
        Some(format!("{name} {{ {} }}", fields.collect::<Vec<_>>().join(", ")))
    };
    split(&variants.stream()).iter().filter_map(kind).collect()
}

/// Tokens between commas.
fn split(tokens: &TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let parts = tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','));
    parts.filter(|part| !part.is_empty()).map(<[_]>::to_vec).collect()
}

/// The struct that `options!` makes: its attributes, and the fields of all entries.
fn option_set(item: &ItemMacro) -> Option<ItemStruct> {
    if item.mac.path.segments.last().is_none_or(|name| name.ident != "options") {
        return None;
    }
    let mut tokens: Vec<TokenTree> = item.mac.tokens.clone().into_iter().collect();
    let Some(TokenTree::Group(entries)) = tokens.pop() else { return None };
    // What the options are read with.
    tokens.pop_if(
        |last| matches!(last, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis),
    );
    let entries: Vec<TokenTree> = entries.stream().into_iter().collect();
    let starts = entries.iter().enumerate().filter(|(_, token)| token.to_string() == "pub");
    let field = |(start, _): (usize, &TokenTree)| {
        let of_field = entries[start..].iter().take_while(|token| !["=", ";"].contains(&&*token.to_string()));
        of_field.filter(|token| token.to_string() != "let").cloned().collect::<TokenStream>()
    };
    let fields: Vec<TokenStream> = starts.map(field).collect();
    let head: TokenStream = tokens.into_iter().collect();
    syn::parse2(quote::quote! { #head { #(#fields,)* } }).ok()
}

/// The input of a macro without documentation and messages.
fn without_texts(tokens: &TokenStream) -> String {
    let mut kept = Vec::new();
    let mut after_hash = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Punct(p) if p.as_char() == '#' => after_hash = true,
            TokenTree::Group(_) if after_hash => after_hash = false,
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => kept.push(format!("{{{}}}", without_texts(&group.stream()))),
            other => kept.push(other.to_string()),
        }
    }
    kept.join(" ")
}

/// Tokens as they are written, nearly.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (spaced, tight) in [
        (" :: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        ("& ", "&"),
        (" ,", ","),
        (" :", ":"),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        ("[ ", "["),
        (" ]", "]"),
        (" ;", ";"),
        ("< ", "<"),
        ("->(", "-> ("),
        (":: ", "::"),
        ("(mut self", "(self"),
        (" ::", "::"),
    ] {
        text = text.replace(spaced, tight);
    }
    text
}
