//! Weighs the values of a template, and bounds their sum in one rendering.
//!
//! The bounds of minijinja do not replace this. With fuel for 1,000 instructions and a writer that
//! takes 1 KiB, a template that doubles a text 25 times was measured to take 1.3 GB. In process,
//! nothing else bounds its memory.

use std::sync::{
    LazyLock,
    atomic::{AtomicUsize, Ordering},
};

use minijinja::{
    Environment, Error, ErrorKind, State, Value, escape_formatter,
    value::{Object, Rest, ValueKind},
};
use minijinja_contrib::pycompat;

/// Names that only [`guarded`](super::guarded) writes.
pub(super) const ADD: &str = "madang_add";
pub(super) const TIMES: &str = "madang_times";
pub(super) const JOIN: &str = "madang_join";
/// Charges for a new value.
pub(super) const KEEP: &str = "madang_keep";
/// Charges for a value that becomes part of another one. Refuses a namespace, because a chain of
/// them has unbounded depth.
pub(super) const OWN: &str = "madang_own";
/// Charges for a part of a value, which is never heavier than the value.
pub(super) const PART: &str = "madang_part";
/// Charges for a value that is read completely.
pub(super) const WEIGH: &str = "madang_weigh";
/// Charges for a value that is read in part.
pub(super) const LOOK: &str = "madang_look";
/// The name of the purse in the input of a template.
pub(super) const PURSE: &str = "madang_purse";

/// The weight of a value, in addition to that of its text.
const EACH: usize = 64;
/// The most depth of nested values, more than a schema may have.
const MAX_DEPTH: usize = 128;
/// The most weight of one value, in bounds of a prompt. A chat may be a list, then JSON, and then
/// escaped.
const OF_ONE: usize = 8;
/// The most weight of all values of a rendering together, above [`LEAST`]. A growing text is copied
/// with each message.
const OF_ALL: usize = 64;
const LEAST: usize = 32 << 20;
/// The deepest indent of JSON.
const MAX_INDENT: usize = 16;

/// What a rendering may still spend.
#[derive(Debug)]
pub(super) struct Purse {
    left: AtomicUsize,
    of_one: usize,
}

impl Object for Purse {}

impl Purse {
    /// Creates a purse for a prompt of at most this many bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        let left = max_bytes.saturating_mul(OF_ALL).saturating_add(LEAST);
        Self { left: AtomicUsize::new(left), of_one: max_bytes.saturating_mul(OF_ONE) }
    }

    fn pay(&self, weight: usize) -> Result<(), Error> {
        let paid = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (weight <= self.of_one).then(|| left.checked_sub(weight)).flatten()
        });
        paid.map(drop).map_err(|_| too_large())
    }

    fn weigh(&self, value: &Value) -> Result<usize, Error> {
        let mut left = self.of_one;
        take(value, MAX_DEPTH, &mut left)?;
        let weight = self.of_one - left;
        self.pay(weight)?;
        Ok(weight)
    }

    /// Pays for looking up a part of a value.
    fn look(&self, value: &Value) -> Result<(), Error> {
        let length = match value.as_str() {
            Some(text) => text.len(),
            None if value.kind() == ValueKind::Map => 0,
            None => value.len().unwrap_or_default(),
        };
        self.pay(EACH.saturating_add(length))
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::OutOfFuel, "the template makes values that are too large")
}

fn take(value: &Value, depth: usize, left: &mut usize) -> Result<(), Error> {
    let text = value.as_str().map_or(0, str::len);
    *left = left.checked_sub(EACH.saturating_add(text)).ok_or_else(too_large)?;
    let kind = value.kind();
    if !matches!(kind, ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
        return Ok(());
    }
    let depth = depth.checked_sub(1).ok_or_else(too_large)?;
    if depth < MAX_DEPTH - 1 && is_namespace(value) {
        return Err(nested());
    }
    for item in value.try_iter()? {
        take(&item, depth, left)?;
        if kind == ValueKind::Map {
            take(&value.get_item(&item)?, depth, left)?;
        }
    }
    Ok(())
}

fn nested() -> Error {
    Error::new(ErrorKind::InvalidOperation, "a namespace stands inside of another value")
}

pub(super) fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

fn with_purse<T>(
    state: &State<'_, '_>,
    use_it: impl FnOnce(&Purse) -> Result<T, Error>,
) -> Result<T, Error> {
    let purse = state.lookup(PURSE).ok_or_else(too_large)?;
    use_it(purse.downcast_object_ref::<Purse>().ok_or_else(too_large)?)
}

/// Adds the guard's functions, and replaces those that multiply the size of values.
pub(super) fn install(environment: &mut Environment<'_>) {
    environment.add_filter(KEEP, keep);
    environment.add_filter(OWN, own);
    environment.add_filter(PART, part);
    environment.add_filter(WEIGH, weigh);
    environment.add_filter(LOOK, look);
    environment.add_function(ADD, add);
    environment.add_function(TIMES, times);
    environment.add_function(JOIN, join);
    for name in ["replace", "join", "indent", "format"] {
        environment.add_filter(name, move |state: &State<'_, '_>, arguments: Rest<Value>| {
            with_purse(state, |purse| purse.pay(product(purse, name, &arguments)?))?;
            PLAIN.empty_state().apply_filter(name, &arguments)
        });
    }
    // No chat needs these, and each makes more than it is given.
    for name in ["batch", "slice", "sum", "chain", "zip", "pprint", "groupby"] {
        environment.remove_filter(name);
    }
    environment.remove_global("debug");
    environment.set_formatter(|out, state, value| {
        with_purse(state, |purse| purse.weigh(value))?;
        escape_formatter(out, state, value)
    });
    environment.set_unknown_method_callback(|state, value, method, arguments| {
        with_purse(state, |purse| {
            if matches!(method, "replace" | "join" | "format") {
                let mut all = vec![value.clone()];
                all.extend_from_slice(arguments);
                if method == "join" {
                    all.swap(0, 1);
                }
                return purse.pay(product(purse, method, &all)?);
            }
            purse.weigh(value).map(drop)
        })?;
        pycompat::unknown_method_callback(state, value, method, arguments)
    });
}

/// Filters without a guard.
pub(super) static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(Environment::new);

/// Pays for the arguments of these functions, and returns the most that they could make of them.
fn product(purse: &Purse, name: &str, arguments: &[Value]) -> Result<usize, Error> {
    let weights: Vec<usize> =
        arguments.iter().map(|argument| purse.weigh(argument)).collect::<Result<_, _>>()?;
    let weight = |index: usize| weights.get(index).copied().unwrap_or_default();
    let text = |index: usize| arguments.get(index).and_then(Value::as_str).unwrap_or_default();
    Ok(match name {
        "replace" => {
            let old = text(1);
            let times =
                if old.is_empty() { text(0).len() + 1 } else { text(0).matches(old).count() };
            times.saturating_mul(weight(2))
        }
        "join" => (weight(0) / EACH).saturating_mul(weight(1).saturating_sub(EACH)),
        "indent" => {
            let width = arguments.get(1).and_then(Value::as_usize).unwrap_or(usize::MAX);
            (text(0).matches('\n').count() + 1).saturating_mul(width)
        }
        _ => {
            let written = text(0);
            let mut digits = 0;
            let mut open = 0_usize;
            for letter in written.chars() {
                digits = if letter.is_ascii_digit() { digits + 1 } else { 0 };
                open = match letter {
                    '{' => open + 1,
                    '}' => 0,
                    _ => open,
                };
                if digits > 2 || letter == '*' || open > 2 {
                    return Err(Error::new(ErrorKind::InvalidOperation, "a width has no bound"));
                }
            }
            let marks = written.matches(['%', '{']).count();
            marks.saturating_mul(weights.iter().sum::<usize>().saturating_add(100))
        }
    })
}

fn keep(state: &State<'_, '_>, value: Value) -> Result<Value, Error> {
    with_purse(state, |purse| purse.weigh(&value))?;
    whole(value)
}

fn own(state: &State<'_, '_>, value: Value) -> Result<Value, Error> {
    if is_namespace(&value) {
        return Err(nested());
    }
    keep(state, value)
}

fn part(state: &State<'_, '_>, value: Value) -> Result<Value, Error> {
    with_purse(state, |purse| match value.as_str() {
        Some(text) => purse.pay(text.len().saturating_add(EACH)),
        None => purse.pay(value.len().unwrap_or(usize::MAX).saturating_add(1).saturating_mul(EACH)),
    })?;
    whole(value)
}

fn weigh(state: &State<'_, '_>, value: Value) -> Result<Value, Error> {
    // Only the key of a map is read.
    if value.kind() == ValueKind::Map {
        return look(state, value);
    }
    with_purse(state, |purse| purse.weigh(&value))?;
    Ok(value)
}

fn look(state: &State<'_, '_>, value: Value) -> Result<Value, Error> {
    with_purse(state, |purse| purse.look(&value))?;
    Ok(value)
}

/// Makes a list of a lazy value. Lazy values hold each other, and a long chain of them overflows
/// the stack.
fn whole(value: Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Iterable {
        return Ok(value);
    }
    Ok(value.try_iter()?.collect::<Vec<Value>>().into())
}

/// Applies operators without a guard.
fn operate(expression: &str, left: Value, right: Value) -> Result<Value, Error> {
    PLAIN.compile_expression(expression)?.eval(minijinja::context! { left, right })
}

fn fold(
    values: Vec<Value>,
    mut step: impl FnMut(Value, Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let mut values = values.into_iter();
    let first = values.next().unwrap_or_default();
    values.try_fold(first, &mut step)
}

fn add(state: &State<'_, '_>, values: Rest<Value>) -> Result<Value, Error> {
    with_purse(state, |purse| {
        fold(values.0, |left, right| {
            if left.is_number() && right.is_number() {
                return operate("left + right", left, right);
            }
            purse.weigh(&left)?;
            purse.weigh(&right)?;
            match (left.as_str(), right.as_str()) {
                (Some(left), Some(right)) => {
                    purse.pay(left.len().saturating_add(right.len()))?;
                    Ok([left, right].concat().into())
                }
                _ => whole(operate("left + right", left, right)?),
            }
        })
    })
}

fn times(state: &State<'_, '_>, values: Rest<Value>) -> Result<Value, Error> {
    with_purse(state, |purse| {
        fold(values.0, |left, right| {
            let (many, times) = if left.is_number() { (&right, &left) } else { (&left, &right) };
            if !many.is_number() {
                let weight = purse.weigh(many)?;
                let weight = many.as_str().map_or(weight, str::len);
                purse.pay(weight.saturating_mul(times.as_usize().unwrap_or_default()))?;
            }
            whole(operate("left * right", left, right)?)
        })
    })
}

#[expect(clippy::needless_pass_by_value, reason = "minijinja hands its functions values")]
fn join(state: &State<'_, '_>, values: Rest<Value>) -> Result<Value, Error> {
    with_purse(state, |purse| {
        for value in values.iter() {
            // It is weighed twice, because it is read once and written once.
            purse.weigh(value)?;
            purse.weigh(value)?;
        }
        let mut text = String::new();
        for value in values.iter() {
            match value.as_str() {
                Some(part) => text.push_str(part),
                None => text.push_str(&value.to_string()),
            }
        }
        purse.pay(text.len())?;
        Ok(text.into())
    })
}

/// Pays for a value that is written as JSON, with its indents.
pub(super) fn pay_json(
    state: &State<'_, '_>,
    value: &Value,
    indent: Option<usize>,
) -> Result<(), Error> {
    if indent.is_some_and(|indent| indent > MAX_INDENT) {
        return Err(too_large());
    }
    with_purse(state, |purse| purse.weigh(value).map(drop))
}
