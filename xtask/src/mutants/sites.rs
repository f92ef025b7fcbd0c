//! Where an algorithm's file can be changed by one operator, and how that is written so that an
//! environment variable chooses.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Stmt};

/// One change.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The file, below the sources of the algorithms.
    pub(super) file: String,
    pub(super) line: usize,
    /// What is there, and what would be.
    pub(super) says: String,
    /// Where it lies in the file.
    pub(super) place: Range<usize>,
    /// The text that replaces it; `{on}` asks whether this change is chosen.
    template: String,
}

impl Site {
    /// The text with the question by which a running program chooses it.
    pub(super) fn written(&self, number: usize) -> String {
        self.template.replace("{on}", &format!("crate::mutated({number})"))
    }
}

/// What says something of an algorithm, or configures it, is not the algorithm.
const PLUMBING: [&str; 7] =
    ["Algorithm", "Configured", "Default", "Stamped", "Debug", "Switch", "Serialize"];

/// Formulas of cards.
const FORMULAS: [&str; 5] = ["messages", "phases", "probes", "most_messages", "last_phase"];

/// Every change of a file.
pub(super) fn of(file: &str, text: &str) -> Vec<Site> {
    let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut finder = Finder { file, text, sites: Vec::new() };
    finder.visit_file(&parsed);
    finder.sites
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    fn put(&mut self, span: Span, says: String, template: String) {
        let says = says.split_whitespace().collect::<Vec<_>>().join(" ");
        let (file, line) = (self.file.to_owned(), span.start().line);
        self.sites.push(Site { file, line, says, place: span.byte_range(), template });
    }

    fn negate(&mut self, condition: &Expr) {
        if !has_let(condition) {
            let text = self.text(condition.span()).to_owned();
            let template = format!("{{on}} != ({text})");
            self.put(condition.span(), format!("`{text}` negated"), template);
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = |path: &syn::Path| path.segments.last().map(|last| last.ident.to_string());
        let of = item.trait_.as_ref().and_then(|(_, path, _)| name(path));
        let of_config = matches!(&*item.self_ty, syn::Type::Path(ty)
            if name(&ty.path).is_some_and(|name| name == "Config"));
        if !of_config && !of.is_some_and(|name| PLUMBING.contains(&name.as_str())) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() && !FORMULAS.iter().any(|name| item.sig.ident == name) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if let Some((now, then)) = other(&binary.op).filter(|_| !has_let(&binary.clone().into())) {
            let [left, right] = [&binary.left, &binary.right].map(|it| self.text(it.span()));
            let (was, is) = (format!("{left} {now} {right}"), format!("{left} {then} {right}"));
            let template = match now.ends_with('=') && now.len() == 2 && "+-".contains(&now[..1]) {
                true => format!("if {{on}} {{ {is} }} else {{ {was} }}"),
                false => format!("(if {{on}} {{ {is} }} else {{ {was} }})"),
            };
            self.put(binary.span(), format!("`{was}`: `{then}`"), template);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_if(&mut self, it: &'ast syn::ExprIf) {
        self.negate(&it.cond);
        visit::visit_expr_if(self, it);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.negate(guard);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement
            && matches!(expression, Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_))
        {
            let text = self.text(statement.span()).to_owned();
            let says = format!("`{}` dropped", text.trim_end_matches(';'));
            self.put(statement.span(), says, format!("if !{{on}} {{ {text} }}"));
        }
        visit::visit_stmt(self, statement);
    }
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// An operator as it is written, and the one that stands for it in a mutant.
fn other(operator: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        BinOp::Lt(_) => ("<", "<="),
        BinOp::Le(_) => ("<=", "<"),
        BinOp::Gt(_) => (">", ">="),
        BinOp::Ge(_) => (">=", ">"),
        BinOp::Eq(_) => ("==", "!="),
        BinOp::Ne(_) => ("!=", "=="),
        BinOp::And(_) => ("&&", "||"),
        BinOp::Or(_) => ("||", "&&"),
        BinOp::Add(_) => ("+", "-"),
        BinOp::Sub(_) => ("-", "+"),
        BinOp::AddAssign(_) => ("+=", "-="),
        BinOp::SubAssign(_) => ("-=", "+="),
        _ => return None,
    })
}
