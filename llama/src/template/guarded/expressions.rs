//! Rewrites the expressions of a guarded template.

use std::mem::discriminant;

use minijinja::{
    Value,
    machinery::ast::{BinOpKind, Call, CallArg, CompareOpKind, Expr, UnaryOpKind},
};

use super::{
    super::weights::{ADD, JOIN, KEEP, LOOK, OWN, PART, TIMES, WEIGH},
    parts::{Written, free_name, joined, optional, quoted, refused},
};

/// Writes an expression so that it binds as tightly as a name.
pub(super) fn expression(expression: &Expr<'_>) -> Written {
    Ok(match expression {
        Expr::Var(name) => free_name(name.id)?,
        Expr::Const(value) => constant(&value.value)?,
        Expr::Slice(slice) => {
            let part = |part: &Option<Expr<'_>>| optional(part.as_ref(), self::expression);
            let start = part(&slice.start)?;
            let stop = part(&slice.stop)?;
            let step = part(&slice.step)?;
            let whole = self::expression(&slice.expr)?;
            format!("(({whole}|{LOOK})[{start}:{stop}:{step}]|{PART})")
        }
        Expr::UnaryOp(all) => {
            let op = match all.op {
                UnaryOpKind::Not => "not ",
                UnaryOpKind::Neg => "-",
            };
            format!("({op}{})", self::expression(&all.expr)?)
        }
        Expr::BinOp(all) => binary(expression, all.op)?,
        Expr::Compare(all) => {
            let compared = all.ops.iter().map(|one| {
                let op = match one.op {
                    CompareOpKind::Eq => "==",
                    CompareOpKind::Ne => "!=",
                    CompareOpKind::Lt => "<",
                    CompareOpKind::Lte => "<=",
                    CompareOpKind::Gt => ">",
                    CompareOpKind::Gte => ">=",
                    CompareOpKind::In => "in",
                    CompareOpKind::NotIn => "not in",
                };
                Ok(format!(" {op} {}", weighed(&one.expr)?))
            });
            format!("({}{})", weighed(&all.expr)?, compared.collect::<Written>()?)
        }
        Expr::IfExpr(all) => {
            let (value, test) =
                (self::expression(&all.true_expr)?, self::expression(&all.test_expr)?);
            let other = all.false_expr.as_ref();
            let other = optional(other, |other| Ok(format!(" else {}", self::expression(other)?)))?;
            format!("({value} if {test}{other})")
        }
        Expr::Filter(_) => format!("({})", filters(expression)?),
        Expr::Test(test) if test.args.is_empty() => {
            format!("({} is {})", self::expression(&test.expr)?, test.name)
        }
        Expr::Test(test) => {
            format!("({} is {}{})", weighed(&test.expr)?, test.name, arguments(&test.args)?)
        }
        Expr::GetAttr(all) => format!("{}.{}", self::expression(&all.expr)?, all.name),
        Expr::GetItem(all) => {
            let (whole, key) =
                (self::expression(&all.expr)?, self::expression(&all.subscript_expr)?);
            format!("({whole}|{LOOK})[{key}]")
        }
        Expr::Call(all) => format!("({}|{KEEP})", call(all)?),
        Expr::List(list) => {
            format!("([{}]|{OWN})", joined(list.items.iter().map(self::expression), ", ")?)
        }
        Expr::Tuple(tuple) => {
            let items = tuple.items.iter().map(|item| Ok(self::expression(item)? + ", "));
            format!("(({})|{OWN})", items.collect::<Written>()?)
        }
        Expr::Map(map) => {
            let entries = map.keys.iter().zip(&map.values).map(|(key, value)| {
                Ok(format!("{}: {}", self::expression(key)?, self::expression(value)?))
            });
            format!("({{{}}}|{OWN})", joined(entries, ", ")?)
        }
    })
}

/// Writes an operator and the same operators on its left side as one list.
fn binary(expression: &Expr<'_>, op: BinOpKind) -> Written {
    let (open, between, is_chain) = match op {
        BinOpKind::Add => (ADD, ", ", true),
        BinOpKind::Mul => (TIMES, ", ", true),
        BinOpKind::Concat => (JOIN, ", ", true),
        BinOpKind::ScAnd => ("", " and ", true),
        BinOpKind::ScOr => ("", " or ", true),
        BinOpKind::Sub => ("", " - ", false),
        BinOpKind::Div => ("", " / ", false),
        BinOpKind::FloorDiv => ("", " // ", false),
        BinOpKind::Rem => ("", " % ", false),
        BinOpKind::Pow => ("", " ** ", false),
        BinOpKind::Eq => ("", " == ", false),
        BinOpKind::Ne => ("", " != ", false),
        BinOpKind::Lt => ("", " < ", false),
        BinOpKind::Lte => ("", " <= ", false),
        BinOpKind::Gt => ("", " > ", false),
        BinOpKind::Gte => ("", " >= ", false),
        BinOpKind::In => ("", " in ", false),
    };
    let mut operands = Vec::new();
    let mut first = expression;
    while let Expr::BinOp(all) = first
        && discriminant(&all.op) == discriminant(&op)
        && (is_chain || operands.is_empty())
    {
        operands.push(&all.right);
        first = &all.left;
    }
    operands.push(first);
    let write = if is_chain { self::expression } else { weighed };
    Ok(format!("{open}({})", joined(operands.into_iter().rev().map(write), between)?))
}

/// Writes an expression whose whole value is read.
fn weighed(expression: &Expr<'_>) -> Written {
    if let Expr::Const(value) = expression {
        return constant(&value.value);
    }
    Ok(format!("({}|{WEIGH})", self::expression(expression)?))
}

/// Writes a chain of filters. A caught block comes before the first.
pub(super) fn filters(expression: &Expr<'_>) -> Written {
    let mut chain = Vec::new();
    let mut first = Some(expression);
    while let Some(Expr::Filter(filter)) = first {
        chain.push(filter);
        first = filter.expr.as_ref();
    }
    let first: Option<Written> =
        first.map(|first| Ok(format!("{}|{LOOK}", self::expression(first)?)));
    let filters = chain.into_iter().rev().map(|filter| {
        Ok(format!("{}{}|{KEEP}", free_name(filter.name)?, arguments(&filter.args)?))
    });
    joined(first.into_iter().chain(filters), "|")
}

pub(super) fn call(call: &Call<'_>) -> Written {
    Ok(self::expression(&call.expr)? + &arguments(&call.args)?)
}

fn arguments(arguments: &[CallArg<'_>]) -> Written {
    let arguments = arguments.iter().map(|argument| {
        Ok(match argument {
            CallArg::Pos(value) => expression(value)?,
            CallArg::Kwarg(name, value) => format!("{name}={}", expression(value)?),
            CallArg::PosSplat(value) => format!("*{}", expression(value)?),
            CallArg::KwargSplat(value) => format!("**{}", expression(value)?),
        })
    });
    Ok(format!("({})", joined(arguments, ", ")?))
}

fn constant(value: &Value) -> Written {
    if let Some(text) = value.as_str() {
        return Ok(quoted(text));
    }
    if !value.is_number() || value.is_integer() {
        return Ok(format!("({value})"));
    }
    let number = f64::try_from(value.clone())?;
    if !number.is_finite() {
        return Err(refused("has a number without an end"));
    }
    Ok(format!("({number:?})"))
}
