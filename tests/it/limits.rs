//! Each limit at both ends of its type and of its range: the runtime refuses it with a sentence, or
//! it works.

use std::time::Duration;

use madang::{Error, Limits, Runtime, TurnOptions, error::BuildError, tool::EffectPolicy};
use madang_actors::supervisor::Health;
use madang_testing::{FakeTool, MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::json;
use tokio::time::timeout;

/// Of the clock that the test turns: longer than any of the limits but those of ten years.
const PATIENCE: Duration = Duration::from_secs(40 * 365 * 24 * 60 * 60);

/// A turn with a call of each kind and an answer. What is too small for it may be refused or fail
/// in it, by its name; it may not panic, and it may not hang.
async fn works(runtime: &Runtime) -> Result<(), String> {
    let session =
        runtime.user("kim").unwrap().session("s").await.map_err(|error| format!("{error:?}"))?;
    for text in ["go", "again"] {
        let options = TurnOptions::default();
        match session.send_with(text, options).await {
            Ok(turn) => drop(turn.ended().await.map_err(|error| format!("{error:?}"))?),
            Err(Error::Closed) => return Err("its session died".into()),
            Err(_) => {}
        }
    }
    session.state().await.map_err(|error| format!("{error:?}"))?;
    match runtime.health() {
        Health::Healthy => Ok(()),
        unhealthy @ (Health::Unhealthy { .. } | _) => Err(format!("{unhealthy:?}")),
    }
}

#[tokio::test(start_paused = true)]
async fn each_limit_works_or_is_refused_at_the_start() {
    let all = Limits::each_at_its_ends();
    let mut refused = 0;
    let mut wrong = Vec::new();
    for (name, limits) in &all {
        let model = ScriptedModel::repeating([
            ScriptedCompletion::call("look", &json!({})),
            ScriptedCompletion::call("save", &json!({})),
            ScriptedCompletion::call("mail", &json!({})),
            ScriptedCompletion::text("Done."),
        ]);
        let tools = [
            FakeTool::read("look"),
            FakeTool::transactional("save"),
            FakeTool::write("mail").with_spec(|spec| spec.effect(EffectPolicy::Write)),
        ];
        let mut builder = Runtime::builder().model(model).store(MemoryStore::new());
        for tool in tools {
            builder = builder.tool(tool);
        }
        let runtime = match builder.limits(limits.clone()).start().await {
            Ok(runtime) => runtime,
            Err(BuildError::Limit(error)) => {
                assert_eq!((error.name, limits.check()), (*name, Err(error.clone())));
                assert!(error.to_string().starts_with(&format!("the limit {name} is ")));
                refused += 1;
                continue;
            }
            Err(other) => panic!("{name}: {other:?}"),
        };
        let worked = match timeout(PATIENCE, works(&runtime)).await {
            Ok(worked) => worked,
            Err(_) => Err("it hangs".into()),
        };
        if let Err(error) = worked {
            wrong.push(format!("{name}: {error} with {limits:?}"));
        }
        let _ = timeout(PATIENCE, runtime.shutdown()).await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused > 0 && refused < all.len() / 2, "{refused} of {}", all.len());
}
