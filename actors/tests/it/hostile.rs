//! Whatever JSON comes in, tools and envelopes end in a value: nothing panics, overflows the stack
//! or passes its bound.

use std::sync::{Arc, Mutex};

use madang_actors::{
    port::{Access, BoxFuture, Prepared, Tool, ToolContext, ToolFault, ToolResult},
    protocol::{
        Fault, Limits, Locale, MAX_LEVELS, ToolOutcome, ToolSpec, dismantle, envelope, is_deeper,
    },
    registry::ToolRegistry,
};
use madang_testing::hostile;
use serde_json::{Value, json};

use crate::support;

/// Gives what it was handed last.
#[derive(Debug, Clone)]
struct Give {
    spec: ToolSpec,
    next: Arc<Mutex<Option<ToolOutcome>>>,
}

impl Give {
    fn new(parameters: Value) -> Self {
        Self { spec: ToolSpec::new("give", "Gives something.", parameters), next: Arc::default() }
    }
}

impl Tool for Give {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: Prepared,
        _: &'a ToolContext,
        _: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        let next = self.next.lock().unwrap().take();
        Box::pin(async { Ok(next.unwrap()) })
    }
}

fn registry(parameters: Value) -> (ToolRegistry, Give) {
    let tool = Give::new(parameters);
    let mut registry = ToolRegistry::new();
    registry.register(tool.clone()).unwrap();
    (registry, tool)
}

#[test]
fn every_schema_is_compiled_or_refused_and_checks_whatever_is_written() {
    let (short, long): (Vec<_>, Vec<_>) =
        hostile::argument_texts().into_iter().partition(|(_, text)| text.len() < 4_096);
    let mut compiled = 0;
    for (name, schema) in hostile::schemas() {
        let mut registry = ToolRegistry::new();
        if registry.register(Give::new(schema)).is_err() {
            continue;
        }
        compiled += 1;
        // What is long is refused before any schema has its say, or costs the same with each.
        let long = long.iter().filter(|_| compiled == 1);
        for (text_name, text) in short.iter().chain(long) {
            let checked = registry.get("give").unwrap().check(text, &Limits::default());
            if let Ok(checked) = checked {
                assert!(!is_deeper(&checked.arguments, 64), "{name}: {text_name}");
            }
        }
    }
    assert!(compiled > 20, "{compiled}");
}

#[test]
fn every_value_is_validated_or_refused() {
    let (registry, _) = registry(json!({ "type": "object" }));
    let tool = registry.get("give").unwrap();
    let limits = Limits::default();
    hostile::for_each_value(|name, value| {
        let is_deep = is_deeper(&value, 64);
        let checked = tool.validate(value);
        assert!(!(is_deep && checked.is_ok()), "{name}");
    });
    hostile::for_each_value(|name, value| {
        let is_deep = is_deeper(&value, 63);
        let typed = Value::Object([("a".to_owned(), value)].into_iter().collect());
        let checked = tool.check_typed(typed, &limits);
        assert!(!(is_deep && checked.is_ok()), "{name}");
        if let Ok(checked) = checked {
            assert!(checked.arguments.to_string().len() <= limits.max_arguments_bytes, "{name}");
        }
    });
}

#[tokio::test]
async fn a_result_that_could_not_be_stored_is_a_fault_wherever_it_hides() {
    let (registry, tool) = registry(json!({ "type": "object" }));
    let registered = registry.get("give").unwrap();
    let ctx = support::context(Locale::EN);
    let mut outcomes = Vec::new();
    hostile::for_each_value(|name, value| {
        outcomes.push((format!("{name} as data"), ToolOutcome::ok(value)));
    });
    hostile::for_each_value(|name, value| {
        let outcome = ToolOutcome::error("rule", "no").with_metadata("more", value);
        outcomes.push((format!("{name} as metadata"), outcome));
    });
    let limits = Limits::default();
    for (name, outcome) in outcomes {
        let fits = outcome.storable(limits.max_outcome_bytes).is_ok();
        *tool.next.lock().unwrap() = Some(outcome);
        let prepared = Prepared::default();
        let access = Access::None;
        let ended = registered.handle(json!({}), prepared, &ctx, access, &limits).await;
        if fits {
            let ended = ended.unwrap();
            let told = envelope(&ended, None, limits.max_envelope_bytes);
            assert!(told.len() <= limits.max_envelope_bytes, "{name}: {}", told.len());
            assert!(serde_json::from_str::<Value>(&told).is_ok(), "{name}");
            // What is around it in an event.
            let around = json!({ "event": { "message": { "outcome": ended } } });
            assert!(serde_json::from_str::<Value>(&around.to_string()).is_ok(), "{name}");
        } else {
            let Err(ToolFault::Unexpected { fault, .. }) = ended else {
                panic!("{name}: {ended:?}")
            };
            assert_eq!(fault, Fault::SERIALIZE, "{name}");
        }
    }
    assert!(ToolOutcome::ok(hostile::lists(MAX_LEVELS)).storable(usize::MAX).is_ok());
    dismantle(hostile::lists(100_000));
}
