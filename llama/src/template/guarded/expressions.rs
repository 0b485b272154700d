//! Rewrites the expressions of a guarded template.

use std::mem::discriminant;

use minijinja::{
    Error, Value,
    machinery::ast::{BinOpKind, Call, CallArg, CompareOpKind, Expr, UnaryOpKind},
};

use super::{
    super::weights::{ADD, JOIN, KEEP, LOOK, OWN, PART, TIMES, WEIGH},
    Writer, refused,
};

impl Writer {
    /// Writes an expression that binds as tightly as a name.
    pub(super) fn expression(&mut self, expression: &Expr<'_>) -> Result<(), Error> {
        match expression {
            Expr::Var(name) => self.name(name.id)?,
            Expr::Const(value) => self.constant(&value.value)?,
            Expr::Slice(slice) => {
                self.put("((");
                self.expression(&slice.expr)?;
                self.filter(LOOK);
                self.put(")[");
                for (index, part) in
                    [&slice.start, &slice.stop, &slice.step].into_iter().enumerate()
                {
                    if index > 0 {
                        self.put(":");
                    }
                    part.as_ref().map_or(Ok(()), |part| self.expression(part))?;
                }
                self.put("]");
                self.filter(PART);
                self.put(")");
            }
            Expr::UnaryOp(all) => {
                self.put(match all.op {
                    UnaryOpKind::Not => "(not ",
                    UnaryOpKind::Neg => "(-",
                });
                self.expression(&all.expr)?;
                self.put(")");
            }
            Expr::BinOp(all) => return self.binary(expression, all.op),
            Expr::Compare(all) => {
                self.put("(");
                self.weighed(&all.expr)?;
                for one in &all.ops {
                    self.put(match one.op {
                        CompareOpKind::Eq => " == ",
                        CompareOpKind::Ne => " != ",
                        CompareOpKind::Lt => " < ",
                        CompareOpKind::Lte => " <= ",
                        CompareOpKind::Gt => " > ",
                        CompareOpKind::Gte => " >= ",
                        CompareOpKind::In => " in ",
                        CompareOpKind::NotIn => " not in ",
                    });
                    self.weighed(&one.expr)?;
                }
                self.put(")");
            }
            Expr::IfExpr(all) => {
                self.put("(");
                self.expression(&all.true_expr)?;
                self.put(" if ");
                self.expression(&all.test_expr)?;
                if let Some(other) = &all.false_expr {
                    self.put(" else ");
                    self.expression(other)?;
                }
                self.put(")");
            }
            Expr::Filter(_) => {
                self.put("(");
                self.filters(expression)?;
                self.put(")");
            }
            Expr::Test(test) => {
                self.put("(");
                if test.args.is_empty() {
                    self.expression(&test.expr)?;
                } else {
                    self.weighed(&test.expr)?;
                }
                self.put(&format!(" is {}", test.name));
                if !test.args.is_empty() {
                    self.arguments(&test.args)?;
                }
                self.put(")");
            }
            Expr::GetAttr(all) => {
                self.expression(&all.expr)?;
                self.put(&format!(".{}", all.name));
            }
            Expr::GetItem(all) => {
                self.put("(");
                self.expression(&all.expr)?;
                self.filter(LOOK);
                self.put(")[");
                self.expression(&all.subscript_expr)?;
                self.put("]");
            }
            Expr::Call(call) => {
                self.put("(");
                self.call(call)?;
                self.filter(KEEP);
                self.put(")");
            }
            Expr::List(list) => {
                self.put("([");
                self.separated(&list.items, Self::expression)?;
                self.put("]");
                self.filter(OWN);
                self.put(")");
            }
            Expr::Tuple(tuple) => {
                self.put("((");
                for item in &tuple.items {
                    self.expression(item)?;
                    self.put(", ");
                }
                self.put(")");
                self.filter(OWN);
                self.put(")");
            }
            Expr::Map(map) => {
                self.put("({");
                let entries: Vec<_> = map.keys.iter().zip(&map.values).collect();
                self.separated(&entries, |writer, (key, value)| {
                    writer.expression(key)?;
                    writer.put(": ");
                    writer.expression(value)
                })?;
                self.put("}");
                self.filter(OWN);
                self.put(")");
            }
        }
        Ok(())
    }

    /// Writes an operator and equal ones on its left side as one list.
    fn binary(&mut self, expression: &Expr<'_>, op: BinOpKind) -> Result<(), Error> {
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
        let (mut operands, mut first) = (Vec::new(), expression);
        while let Expr::BinOp(all) = first
            && discriminant(&all.op) == discriminant(&op)
            && (is_chain || operands.is_empty())
        {
            operands.push(&all.right);
            first = &all.left;
        }
        operands.push(first);
        operands.reverse();
        let is_compared = !is_chain;
        self.put(open);
        self.put("(");
        for (index, operand) in operands.into_iter().enumerate() {
            if index > 0 {
                self.put(between);
            }
            if is_compared { self.weighed(operand)? } else { self.expression(operand)? }
        }
        self.put(")");
        Ok(())
    }

    /// Writes an expression whose whole value will be read.
    fn weighed(&mut self, expression: &Expr<'_>) -> Result<(), Error> {
        if let Expr::Const(value) = expression {
            return self.constant(&value.value);
        }
        self.put("(");
        self.expression(expression)?;
        self.filter(WEIGH);
        self.put(")");
        Ok(())
    }

    pub(super) fn filter(&mut self, name: &str) {
        self.put("|");
        self.put(name);
    }

    /// Writes a chain of filters; a caught block stands before the first.
    pub(super) fn filters(&mut self, expression: &Expr<'_>) -> Result<(), Error> {
        let (mut chain, mut first) = (Vec::new(), Some(expression));
        while let Some(Expr::Filter(filter)) = first {
            chain.push(filter);
            first = filter.expr.as_ref();
        }
        if let Some(first) = first {
            self.expression(first)?;
            self.filter(LOOK);
        }
        for (index, filter) in chain.into_iter().rev().enumerate() {
            if first.is_some() || index > 0 {
                self.put("|");
            }
            self.name(filter.name)?;
            self.arguments(&filter.args)?;
            self.filter(KEEP);
        }
        Ok(())
    }

    pub(super) fn call(&mut self, call: &Call<'_>) -> Result<(), Error> {
        self.expression(&call.expr)?;
        self.arguments(&call.args)
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Result<(), Error> {
        self.put("(");
        self.separated(arguments, |writer, argument| match argument {
            CallArg::Pos(value) => writer.expression(value),
            CallArg::Kwarg(name, value) => {
                writer.put(&format!("{name}="));
                writer.expression(value)
            }
            CallArg::PosSplat(value) => {
                writer.put("*");
                writer.expression(value)
            }
            CallArg::KwargSplat(value) => {
                writer.put("**");
                writer.expression(value)
            }
        })?;
        self.put(")");
        Ok(())
    }

    fn constant(&mut self, value: &Value) -> Result<(), Error> {
        if let Some(text) = value.as_str() {
            self.text(text);
        } else if value.is_number() && !value.is_integer() {
            let number = f64::try_from(value.clone())?;
            if !number.is_finite() {
                return Err(refused("has a number without an end"));
            }
            self.put(&format!("({number:?})"));
        } else {
            self.put(&format!("({value})"));
        }
        Ok(())
    }
}
