//! Removes keys that a schema does not know, and counts the cost of checking the rest.

use serde_json::{Map, Number, Value};

use super::shape::{Holding, Shape};
use crate::protocol::Breach;

/// The most bytes of JSON Pointers that are kept after the first of a kind. Each pointer has the
/// keys above it, so the pointers of many values below a long key would take gigabytes.
const MAX_POINTER_BYTES: usize = 64 * 1024;

/// The findings of [`prune`].
#[derive(Debug, Default)]
pub(super) struct Pruned {
    /// JSON Pointers to the keys that were removed.
    pub(super) removed: Pointers,
    /// JSON Pointers to optional keys whose null counted as absent.
    pub(super) nulls: Pointers,
    /// The bytes of the longest pointer visited.
    pub(super) longest_pointer: usize,
    /// The most schemas that the validator will visit.
    pub(super) steps: u64,
}

/// The first of some JSON Pointers, and later ones as far as there is room.
#[derive(Debug, Default)]
pub(super) struct Pointers {
    pub(super) kept: Vec<String>,
    bytes: usize,
}

impl Pointers {
    fn push(&mut self, parent: &str, key: &str) {
        self.bytes = self.bytes.saturating_add(parent.len() + key.len());
        if self.kept.is_empty() || self.bytes <= MAX_POINTER_BYTES {
            let mut pointer = parent.to_owned();
            push(&mut pointer, key);
            self.kept.push(pointer);
        }
    }
}

/// Removes keys that the schema neither names nor mentions. If the schema allows or forbids other
/// keys, or names no keys at all, they stay, and the validator decides.
///
/// Every schema that could hold at a pointer counts, so a key of any alternative stays.
pub(super) fn prune(
    shape: &Shape,
    arguments: &mut Map<String, Value>,
    max_steps: u64,
) -> Result<Pruned, Breach> {
    let mut pruning =
        Pruning { shape, max_steps, pointer: String::new(), pruned: Pruned::default() };
    pruning.count(shape.holding_at_root(), 1)?;
    pruning.object(arguments, shape.holding_at_root())?;
    Ok(pruning.pruned)
}

struct Pruning<'a> {
    shape: &'a Shape,
    max_steps: u64,
    pointer: String,
    pruned: Pruned,
}

impl Pruning<'_> {
    /// Recurses by the depth of the arguments, which was bounded before.
    fn value(&mut self, value: &mut Value, holding: &Holding) -> Result<(), Breach> {
        self.count(holding, 1)?;
        match value {
            Value::Object(fields) => self.object(fields, holding),
            Value::Array(items) => self.array(items, holding),
            Value::Number(number) => {
                if let Some(whole) = whole(number)
                    && self.is_integer(holding)
                {
                    *number = whole;
                }
                Ok(())
            }
            Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, holding: &Holding) -> Result<(), Breach> {
        let shape = self.shape;
        let parts = || holding.iter().map(|(part, visits)| (shape.part(*part), *visits));
        let names_keys = parts().any(|(part, _)| part.properties.is_some());
        if names_keys && !parts().any(|(part, _)| part.minds_other_keys) {
            fields.retain(|key, _| {
                let is_known = parts()
                    .any(|(part, _)| part.properties.as_ref().is_some_and(|p| p.contains_key(key)));
                if !is_known {
                    self.pruned.removed.push(&self.pointer, key);
                }
                is_known
            });
        }
        self.drop_nulls(fields, holding);
        let key_names =
            shape.holding_for(parts().flat_map(|(part, visits)| each(&part.key_names, visits)));
        self.count(&key_names, fields.len() as u64)?;
        for (key, field) in fields {
            let children = parts().flat_map(|(part, visits)| {
                let named = part.properties.as_ref().and_then(|properties| properties.get(key));
                each(&part.other_keys, visits).chain(named.map(|child| (child, visits)))
            });
            let below = shape.holding_for(children);
            let parent = self.enter(key);
            self.value(field, &below)?;
            self.pointer.truncate(parent);
        }
        Ok(())
    }

    /// Treats an explicit null for an optional key that does not allow null as an absent key.
    fn drop_nulls(&mut self, fields: &mut Map<String, Value>, holding: &Holding) {
        let shape = self.shape;
        let parts = || holding.keys().map(|part| shape.part(*part));
        fields.retain(|key, value| {
            if !value.is_null() || parts().any(|part| part.required.contains(key)) {
                return true;
            }
            let mut named = parts()
                .filter_map(|part| part.properties.as_ref()?.get(key))
                .map(|child| shape.holding_for([(child, 1)].into_iter()))
                .peekable();
            let is_named = named.peek().is_some();
            let passes = named.flat_map(|holding| holding.into_keys().collect::<Vec<_>>());
            let stays = !is_named || passes.into_iter().any(|part| shape.part(part).lets_null_pass);
            if !stays {
                self.pruned.nulls.push(&self.pointer, key);
            }
            stays
        });
    }

    fn is_integer(&self, holding: &Holding) -> bool {
        let parts = || holding.keys().map(|part| self.shape.part(*part));
        parts().any(|part| part.is_integer) && !parts().any(|part| part.is_number)
    }

    fn array(&mut self, items: &mut [Value], holding: &Holding) -> Result<(), Breach> {
        let shape = self.shape;
        let parts = || holding.iter().map(|(part, visits)| (shape.part(*part), *visits));
        let positions = parts().map(|(part, _)| part.first_items.len()).max().unwrap_or(0);
        let at = |index: usize| {
            shape.holding_for(parts().flat_map(move |(part, visits)| {
                let here = part.first_items.get(index);
                let others = if here.is_some() { &[][..] } else { &part.other_items };
                each(&part.all_items, visits)
                    .chain(each(others, visits))
                    .chain(here.map(|child| (child, visits)))
            }))
        };
        let beyond = at(positions);
        for (index, item) in items.iter_mut().enumerate() {
            let parent = self.enter(&index.to_string());
            if index < positions {
                self.value(item, &at(index))
            } else {
                self.value(item, &beyond)
            }?;
            self.pointer.truncate(parent);
        }
        Ok(())
    }

    /// Steps down to a value. Returns the end of its parent's pointer.
    fn enter(&mut self, key: &str) -> usize {
        let parent = self.pointer.len();
        push(&mut self.pointer, key);
        self.pruned.longest_pointer = self.pruned.longest_pointer.max(self.pointer.len());
        parent
    }

    fn count(&mut self, holding: &Holding, times: u64) -> Result<(), Breach> {
        let visits = holding.values().fold(1, |sum: u64, visits| sum.saturating_add(*visits));
        self.pruned.steps = visits.saturating_mul(times).saturating_add(self.pruned.steps);
        if self.pruned.steps > self.max_steps { Err(Breach::TooComplex) } else { Ok(()) }
    }
}

/// Returns the whole number that a fraction such as `1.0` equals, which JSON Schema takes for an
/// integer.
fn whole(number: &Number) -> Option<Number> {
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    let fraction = number.as_f64().filter(|_| number.is_f64())?;
    if fraction.fract() != 0.0 || !(-BEYOND / 2.0..BEYOND).contains(&fraction) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and within"
    )]
    Some(if fraction < 0.0 { (fraction as i64).into() } else { (fraction as u64).into() })
}

fn each(children: &[usize], visits: u64) -> impl Iterator<Item = (&usize, u64)> {
    children.iter().map(move |child| (child, visits))
}

/// Adds a key to a JSON Pointer.
fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
}
