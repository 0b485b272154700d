//! Rewrites a chat template so that each value it makes is weighed: the template engine bounds steps, not values.
//!
//! The source is measured by its tokens and then parsed. The `Writer` writes the tree as source again, with a filter or
//! function of `weights` around every part that makes or reads a value. This file writes the statements, `expressions`
//! the expressions. The engine compiles the result.
//!
//! ```text
//! {{ a + b + c }}   becomes, without its brackets,   {{ madang_add(a, b, c) }}
//! ```
//!
//! Invariants:
//! - The rewritten template renders the same text, or ends with an error.
//! - An unknown construct is refused, so that no new kind of expression goes unweighed.
//! - A template cannot use a name of the guard, nor read the purse.
//! - The lengths of source, blocks and chains of `elif` are bounded before parsing, because the parser goes down the
//!   stack for each operator.

mod expressions;

use minijinja::{
    Error, ErrorKind,
    machinery::{
        Token,
        ast::{Expr, Macro, Stmt},
        parse, tokenize,
    },
    syntax::SyntaxConfig,
};

use super::weights::{LOOK, OWN};

/// Rewrites the template. Refuses unknown constructs, so that no new kind of expression goes unweighed.
pub(super) fn guarded(source: &str, syntax: SyntaxConfig) -> Result<String, Error> {
    measure(source, syntax.clone())?;
    let template = parse(source, "chat", syntax)?;
    let mut writer = Writer { written: String::with_capacity(source.len() * 2) };
    writer.statement(&template)?;
    Ok(writer.written)
}

/// Bounds the length, because parsing, compiling and dropping go one step down the stack for each operator beside
/// another.
fn measure(source: &str, syntax: SyntaxConfig) -> Result<(), Error> {
    if source.len() > MAX_BYTES {
        return Err(refused("is too long"));
    }
    let (mut in_block, mut alternatives) = (0, 0);
    for token in tokenize(source, false, syntax) {
        let token = token?.0;
        if matches!(token, Token::TemplateData(_) | Token::VariableStart | Token::BlockStart) {
            in_block = 0;
        } else if in_block == 0 && matches!(token, Token::Ident("elif")) {
            alternatives += 1;
        } else {
            in_block += 1;
        }
        if in_block > MAX_TOKENS_OF_A_BLOCK || alternatives > MAX_ALTERNATIVES {
            return Err(refused("has an expression that is too long"));
        }
    }
    Ok(())
}

/// Sixteen times the longest known template.
const MAX_BYTES: usize = 1 << 20;
/// Several times the longest block of the known templates.
const MAX_TOKENS_OF_A_BLOCK: usize = 1_000;
const MAX_ALTERNATIVES: usize = 500;

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::SyntaxError, format!("the template {why}"))
}

struct Writer {
    written: String,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.written.push_str(text);
    }

    fn statements(&mut self, all: &[Stmt<'_>]) -> Result<(), Error> {
        all.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), Error> {
        match statement {
            Stmt::Template(template) => self.statements(&template.children)?,
            Stmt::EmitExpr(emit) => {
                self.put("{{ ");
                self.expression(&emit.expr)?;
                self.put(" }}");
            }
            // As a value, so that a caught block is weighed too.
            Stmt::EmitRaw(raw) => {
                self.put("{{ ");
                self.text(raw.raw);
                self.put(" }}");
            }
            Stmt::ForLoop(all) => {
                self.put("{% for ");
                self.target(&all.target)?;
                self.put(" in (");
                self.expression(&all.iter)?;
                self.filter(LOOK);
                self.put(")");
                if let Some(filter) = &all.filter_expr {
                    self.put(" if ");
                    self.expression(filter)?;
                }
                self.put(if all.recursive { " recursive %}" } else { " %}" });
                self.statements(&all.body)?;
                if !all.else_body.is_empty() {
                    self.put("{% else %}");
                    self.statements(&all.else_body)?;
                }
                self.put("{% endfor %}");
            }
            Stmt::IfCond(condition) => {
                let mut condition = condition;
                self.put("{% if ");
                loop {
                    self.expression(&condition.expr)?;
                    self.put(" %}");
                    self.statements(&condition.true_body)?;
                    match &condition.false_body[..] {
                        [Stmt::IfCond(next)] => condition = next,
                        [] => break,
                        other => {
                            self.put("{% else %}");
                            self.statements(other)?;
                            break;
                        }
                    }
                    self.put("{% elif ");
                }
                self.put("{% endif %}");
            }
            Stmt::WithBlock(with) => {
                self.put("{% with ");
                self.separated(&with.assignments, |writer, (target, value)| {
                    writer.put("(");
                    writer.target(target)?;
                    writer.put(") = ");
                    writer.expression(value)
                })?;
                self.put(" %}");
                self.statements(&with.body)?;
                self.put("{% endwith %}");
            }
            Stmt::Set(set) => {
                self.put("{% set ");
                self.target(&set.target)?;
                self.put(" = (");
                self.expression(&set.expr)?;
                if has_attribute(&set.target) {
                    self.filter(OWN);
                }
                self.put(") %}");
            }
            Stmt::SetBlock(set) => {
                self.put("{% set ");
                self.target(&set.target)?;
                if let Some(filter) = &set.filter {
                    self.put(" | ");
                    self.filters(filter)?;
                }
                self.put(" %}");
                self.statements(&set.body)?;
                self.put("{% endset %}");
            }
            Stmt::FilterBlock(filter) => {
                self.put("{% filter ");
                self.filters(&filter.filter)?;
                self.put(" %}");
                self.statements(&filter.body)?;
                self.put("{% endfilter %}");
            }
            Stmt::Macro(all) => {
                self.put(&format!("{{% macro {}", all.name));
                self.parameters(all)?;
                self.put(" %}");
                self.statements(&all.body)?;
                self.put("{% endmacro %}");
            }
            Stmt::CallBlock(all) => {
                self.put("{% call");
                self.parameters(&all.macro_decl)?;
                self.put(" ");
                self.call(&all.call)?;
                self.put(" %}");
                self.statements(&all.macro_decl.body)?;
                self.put("{% endcall %}");
            }
            Stmt::Do(all) => {
                self.put("{% do ");
                self.call(&all.call)?;
                self.put(" %}");
            }
            Stmt::Continue(_) => self.put("{% continue %}"),
            Stmt::Break(_) => self.put("{% break %}"),
            Stmt::AutoEscape(_)
            | Stmt::Block(_)
            | Stmt::Import(_)
            | Stmt::FromImport(_)
            | Stmt::Extends(_)
            | Stmt::Include(_) => return Err(refused("has a block that no chat needs")),
        }
        Ok(())
    }

    fn parameters(&mut self, all: &Macro<'_>) -> Result<(), Error> {
        let required = all.args.len() - all.defaults.len();
        let defaults = all.defaults.iter().map(Some);
        let defaults = std::iter::repeat_n(None, required).chain(defaults);
        let parameters: Vec<_> = all.args.iter().zip(defaults).collect();
        self.put("(");
        self.separated(&parameters, |writer, (name, value)| {
            writer.target(name)?;
            value.map_or(Ok(()), |value| {
                writer.put("=");
                writer.expression(value)
            })
        })?;
        self.put(")");
        Ok(())
    }

    /// Writes the target of an assignment.
    fn target(&mut self, target: &Expr<'_>) -> Result<(), Error> {
        if let Expr::List(list) = target {
            for item in &list.items {
                let is_list = matches!(item, Expr::List(_));
                self.put(if is_list { "(" } else { "" });
                self.target(item)?;
                self.put(if is_list { "), " } else { ", " });
            }
            Ok(())
        } else if let Expr::GetAttr(all) = target {
            self.target(&all.expr)?;
            self.put(".");
            self.put(all.name);
            Ok(())
        } else if let Expr::Var(name) = target {
            self.name(name.id)
        } else {
            Err(refused("assigns to something that is no name"))
        }
    }

    fn separated<T>(
        &mut self,
        all: &[T],
        mut write: impl FnMut(&mut Self, &T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (index, one) in all.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            write(self, one)?;
        }
        Ok(())
    }

    /// Refuses the names of the guard.
    fn name(&mut self, name: &str) -> Result<(), Error> {
        if name.starts_with("madang_") {
            return Err(refused("uses a name that is not its own"));
        }
        self.put(name);
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.put("\"");
        for letter in text.chars() {
            if matches!(letter, '"' | '\\') {
                self.put("\\");
            }
            self.written.push(letter);
        }
        self.put("\"");
    }
}

fn has_attribute(target: &Expr<'_>) -> bool {
    if let Expr::List(list) = target {
        return list.items.iter().any(has_attribute);
    }
    matches!(target, Expr::GetAttr(_))
}
