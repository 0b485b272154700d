//! Rewrites a chat template so that each value it makes is weighed. The template engine itself
//! bounds steps, but not values.
//!
//! The source is measured by its tokens and then parsed. The tree is written as source again, with
//! a filter or function of `weights` around every part that makes or reads a value. This file
//! writes the statements, `expressions` writes the expressions, and `parts` writes what both
//! consist of. The engine compiles the result.
//!
//! ```text
//! {{ a + b + c }}   becomes, without its brackets,   {{ madang_add(a, b, c) }}
//! ```
//!
//! Invariants:
//! - The rewritten template renders the same text, or ends with an error.
//! - An unknown construct is refused, so that no new kind of expression goes unweighed.
//! - A template cannot use a name of the guard, and cannot read the purse.
//! - The length of the source, of each block and of each chain of `elif` is bounded before parsing,
//!   because the parser goes down the stack for each operator.

mod expressions;
mod parts;

use minijinja::{
    Error,
    machinery::{
        Token,
        ast::{Expr, Macro, Stmt},
        parse, tokenize,
    },
    syntax::SyntaxConfig,
};

use self::{
    expressions::{call, expression, filters},
    parts::{Written, free_name, joined, optional, quoted, refused},
};
use super::weights::{LOOK, OWN};

/// Rewrites the template.
///
/// # Errors
/// Refuses unknown constructs, so that no new kind of expression goes unweighed.
pub(super) fn guarded(source: &str, syntax: SyntaxConfig) -> Written {
    measure(source, syntax.clone())?;
    statement(&parse(source, "chat", syntax)?)
}

/// Bounds the lengths, because parsing, compiling and dropping go one step down the stack for each
/// operator in a row.
fn measure(source: &str, syntax: SyntaxConfig) -> Result<(), Error> {
    if source.len() > MAX_BYTES {
        return Err(refused("is too long"));
    }
    let mut in_block = 0;
    let mut alternatives = 0;
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

/// The most bytes of a template, sixteen times the longest known one.
const MAX_BYTES: usize = 1 << 20;
/// The most tokens of a block, several times those of the longest in a known template.
const MAX_TOKENS_OF_A_BLOCK: usize = 1_000;
const MAX_ALTERNATIVES: usize = 500;

fn statements(all: &[Stmt<'_>]) -> Written {
    all.iter().map(statement).collect()
}

fn statement(statement: &Stmt<'_>) -> Written {
    Ok(match statement {
        Stmt::Template(template) => statements(&template.children)?,
        Stmt::EmitExpr(emit) => format!("{{{{ {} }}}}", expression(&emit.expr)?),
        // Written as a value, so that a caught block is weighed too.
        Stmt::EmitRaw(raw) => format!("{{{{ {} }}}}", quoted(raw.raw)),
        Stmt::ForLoop(all) => {
            let target = target(&all.target)?;
            let values = expression(&all.iter)?;
            let filter = all.filter_expr.as_ref();
            let filter = optional(filter, |filter| Ok(format!(" if {}", expression(filter)?)))?;
            let recursive = if all.recursive { " recursive" } else { "" };
            let head = format!("for {target} in ({values}|{LOOK}){filter}{recursive}");
            let body = [statements(&all.body)?, otherwise(&all.else_body)?].concat();
            block(&head, &body, "endfor")
        }
        Stmt::IfCond(condition) => {
            let mut written = String::from("{% if ");
            let mut condition = condition;
            loop {
                written.push_str(&expression(&condition.expr)?);
                written.push_str(" %}");
                written.push_str(&statements(&condition.true_body)?);
                let [Stmt::IfCond(next)] = &condition.false_body[..] else { break };
                written.push_str("{% elif ");
                condition = next;
            }
            written + &otherwise(&condition.false_body)? + "{% endif %}"
        }
        Stmt::WithBlock(with) => {
            let assignments = with
                .assignments
                .iter()
                .map(|(name, value)| Ok(format!("({}) = {}", target(name)?, expression(value)?)));
            let head = format!("with {}", joined(assignments, ", ")?);
            block(&head, &statements(&with.body)?, "endwith")
        }
        Stmt::Set(set) => {
            let own = if has_attribute(&set.target) { format!("|{OWN}") } else { String::new() };
            format!("{{% set {} = ({}{own}) %}}", target(&set.target)?, expression(&set.expr)?)
        }
        Stmt::SetBlock(set) => {
            let filter = set.filter.as_ref();
            let filter = optional(filter, |filter| Ok(format!(" | {}", filters(filter)?)))?;
            let head = format!("set {}{filter}", target(&set.target)?);
            block(&head, &statements(&set.body)?, "endset")
        }
        Stmt::FilterBlock(all) => {
            let head = format!("filter {}", filters(&all.filter)?);
            block(&head, &statements(&all.body)?, "endfilter")
        }
        Stmt::Macro(all) => {
            let head = format!("macro {}{}", all.name, parameters(all)?);
            block(&head, &statements(&all.body)?, "endmacro")
        }
        Stmt::CallBlock(all) => {
            let head = format!("call{} {}", parameters(&all.macro_decl)?, call(&all.call)?);
            block(&head, &statements(&all.macro_decl.body)?, "endcall")
        }
        Stmt::Do(all) => format!("{{% do {} %}}", call(&all.call)?),
        Stmt::Continue(_) => "{% continue %}".to_owned(),
        Stmt::Break(_) => "{% break %}".to_owned(),
        Stmt::AutoEscape(_)
        | Stmt::Block(_)
        | Stmt::Import(_)
        | Stmt::FromImport(_)
        | Stmt::Extends(_)
        | Stmt::Include(_) => return Err(refused("has a block that no chat needs")),
    })
}

fn block(head: &str, body: &str, end: &str) -> String {
    format!("{{% {head} %}}{body}{{% {end} %}}")
}

fn otherwise(body: &[Stmt<'_>]) -> Written {
    if body.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("{{% else %}}{}", statements(body)?))
}

fn parameters(all: &Macro<'_>) -> Written {
    let required = all.args.len() - all.defaults.len();
    let defaults = std::iter::repeat_n(None, required).chain(all.defaults.iter().map(Some));
    let parameters = all.args.iter().zip(defaults).map(|(name, value)| {
        Ok(target(name)? + &optional(value, |value| Ok(format!("={}", expression(value)?)))?)
    });
    Ok(format!("({})", joined(parameters, ", ")?))
}

/// Writes the target of an assignment.
fn target(target: &Expr<'_>) -> Written {
    if let Expr::List(list) = target {
        let names = list.items.iter().map(|item| {
            let name = self::target(item)?;
            Ok(if matches!(item, Expr::List(_)) { format!("({name}), ") } else { name + ", " })
        });
        names.collect()
    } else if let Expr::GetAttr(all) = target {
        Ok(format!("{}.{}", self::target(&all.expr)?, all.name))
    } else if let Expr::Var(name) = target {
        free_name(name.id)
    } else {
        Err(refused("assigns to something that is not a name"))
    }
}

fn has_attribute(target: &Expr<'_>) -> bool {
    if let Expr::List(list) = target {
        return list.items.iter().any(has_attribute);
    }
    matches!(target, Expr::GetAttr(_))
}
