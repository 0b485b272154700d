//! Schema and type agree for argument types that are put together from each leaf and each wrapper.
//! The type reads what the exported schema accepts, and the schema accepts what the type writes.

use std::{
    collections::{BTreeMap, HashSet},
    num::{NonZeroU8, NonZeroU32},
    sync::Arc,
};

use madang::tool::{self, Breach, Tool, ToolContext, ToolRegistry, ToolResult};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// The arguments of a tool: each way in which a field may be there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(bound(
    serialize = "T: Serialize, L: Serialize",
    deserialize = "T: DeserializeOwned, L: DeserializeOwned"
))]
struct Arguments<T, L> {
    value: T,
    maybe: Option<T>,
    #[serde(default)]
    left_out: Option<L>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    bound(serialize = "L: Serialize", deserialize = "L: DeserializeOwned")
)]
struct Inner<L> {
    its_leaf: L,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    its_other: Option<L>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Either<L> {
    Nothing,
    OneLeaf(L),
    Fields { leaf: L },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
enum Tagged<L> {
    Plain,
    Leaf { leaf: L },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Named<L>(L);

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Word {
    BuildUp,
    Break,
}

/// A type, as a tool and as what it makes of JSON.
struct Made {
    tool: Arc<dyn Tool>,
    /// What the type writes of what it read; `None` where it does not read it.
    canonical: fn(&Value) -> Option<Value>,
}

async fn nothing<A: Send>(_: A, _: &ToolContext) -> ToolResult<()> {
    Ok(())
}

fn made<A>(count: usize) -> Made
where
    A: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    let tool = tool::plain(format!("tool_{count}"), "Takes its type.", nothing::<A>);
    let canonical =
        |value: &Value| serde_json::to_value(serde_json::from_value::<A>(value.clone()).ok()?).ok();
    Made { tool: Arc::new(tool), canonical }
}

macro_rules! each_wrapped {
    ($($leaf:ty),*) => {{
        let all: Vec<fn(usize) -> Made> = vec![
            $(
                made::<Arguments<$leaf, $leaf>>,
                made::<Arguments<Vec<$leaf>, Vec<Option<$leaf>>>>,
                made::<Arguments<BTreeMap<String, $leaf>, Named<$leaf>>>,
                made::<Arguments<Inner<$leaf>, Vec<Inner<$leaf>>>>,
                made::<Arguments<Either<$leaf>, Tagged<$leaf>>>,
            )*
        ];
        all.into_iter().enumerate().map(|(count, make)| make(count)).collect::<Vec<_>>()
    }};
}

fn all() -> (ToolRegistry, Vec<Made>) {
    let all = each_wrapped!(
        bool,
        i8,
        u16,
        i32,
        u64,
        usize,
        i64,
        f64,
        String,
        char,
        Word,
        NonZeroU8,
        NonZeroU32,
        HashSet<Word>
    );
    let mut registry = ToolRegistry::new();
    registry.register_all(all.iter().map(|made| made.tool.clone())).unwrap();
    (registry, all)
}

/// Numbers that are drawn one after the other from a seed.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % most as u64).unwrap()
    }

    fn of(&mut self, values: &[Value]) -> Value {
        values[self.below(values.len())].clone()
    }

    /// Anything at all, small and at the edges.
    fn anything(&mut self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(""),
            json!("a"),
            json!("가나"),
            json!("build-up"),
            json!("nothing"),
            json!([]),
            json!([null]),
            json!({}),
            json!({ "leaf": 1 }),
            json!({ "by": "plain" }),
            json!(0),
            json!(-1),
            json!(1.0),
            json!(1.5),
            json!(-0.0),
            json!(127),
            json!(128),
            json!(255),
            json!(256),
            json!(-129),
            json!(65_536),
            json!(2_147_483_648_u64),
            json!(4_294_967_296_u64),
            json!(i64::MIN),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1e19),
            json!(1e300),
        ];
        self.of(&values)
    }

    /// Something near to what a schema describes: mostly it fits, and now and then a part of it
    /// does not.
    fn near(&mut self, schema: &Value, levels: usize) -> Value {
        if self.below(12) == 0 {
            return self.anything();
        }
        if let Some(one) = schema.get("const") {
            return one.clone();
        }
        if let Some(words) = schema["enum"].as_array() {
            return self.of(words);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(forms) = schema[key].as_array() {
                let form = self.of(forms);
                return self.near(&form, levels);
            }
        }
        let kinds = schema["type"].as_array().cloned();
        let kinds = kinds.unwrap_or_else(|| vec![schema["type"].clone()]);
        match self.of(&kinds).as_str() {
            Some("object") => self.object(schema, levels),
            Some("array") if levels > 0 => {
                (0..self.below(4)).map(|_| self.near(&schema["items"], levels - 1)).collect()
            }
            Some("array") => json!([]),
            Some("integer") => {
                let ends =
                    [schema["minimum"].clone(), schema["maximum"].clone(), json!(1), json!(7)];
                let end = self.of(&ends);
                if end.is_null() { json!(0) } else { end }
            }
            Some("number") => self.of(&[json!(0.5), json!(-1e300), json!(3), json!(u64::MAX)]),
            Some("boolean") => json!(self.below(2) == 0),
            Some("null") => Value::Null,
            _ => self.of(&[json!("x"), json!("가"), json!(""), json!("two words"), json!("🎭")]),
        }
    }

    fn object(&mut self, schema: &Value, levels: usize) -> Value {
        let mut fields = serde_json::Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_there =
                required.contains(&json!(key)) && self.below(20) > 0 || self.below(2) == 0;
            if is_there && levels > 0 {
                fields.insert(key.clone(), self.near(property, levels - 1));
            }
        }
        if let Some(values) = schema.get("additionalProperties").filter(|it| it.is_object()) {
            for key in ["a", "가"] {
                fields.insert(key.to_owned(), self.near(values, levels.saturating_sub(1)));
            }
        }
        if self.below(12) == 0 {
            fields.insert("unknown".to_owned(), self.anything());
        }
        Value::Object(fields)
    }
}

#[test]
fn each_type_reads_what_its_schema_accepts_and_its_schema_accepts_what_it_writes() {
    let (registry, all) = all();
    let counts = std::cell::Cell::new((0_u32, 0_u32, 0_u32));
    let config = ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() };
    proptest!(config, |(which in 0..all.len(), seed in any::<u64>())| {
        let Made { tool, canonical } = &all[which];
        let schema = &tool.spec().parameters;
        let arguments = Drawn(seed).near(schema, 6);
        let (mut accepted, mut refused, mut written) = counts.get();
        match registry.get(&tool.spec().name).unwrap().validate(arguments.clone()) {
            Ok(checked) => {
                accepted += 1;
                let read = canonical(&checked.arguments);
                prop_assert!(read.is_some(), "{arguments} passes {schema}");
            }
            Err(problems) => {
                refused += 1;
                for problem in problems.as_slice() {
                    let is_misfit = matches!(problem.breach, Breach::Misfit { .. });
                    prop_assert!(!is_misfit, "{arguments} passes {schema}, but: {problems}");
                }
            }
        }
        if let Some(canonical) = canonical(&arguments) {
            written += 1;
            let checked = registry.get(&tool.spec().name).unwrap().validate(canonical.clone());
            prop_assert!(checked.is_ok(), "{canonical} does not pass {schema}: {checked:?}");
        }
        counts.set((accepted, refused, written));
    });
    let (accepted, refused, written) = counts.get();
    assert!(accepted > 2_000 && refused > 2_000 && written > 2_000, "{:?}", counts.get());
}
