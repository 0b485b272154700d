//! How arguments reach the types of a handler, its predicate and its consequence.

use madang_actors::registry::unwind;

use super::*;

#[test]
fn arguments_that_fit_the_schema_but_not_the_type_are_invalid_before_anything_runs() {
    let tool = registered(transactional("add", "Adds.", add));
    assert!(tool.validate(json!({ "row": "a", "times": 255 })).is_ok());

    #[derive(Deserialize, JsonSchema)]
    struct Even {
        #[serde(deserialize_with = "even")]
        number: i32,
    }
    fn even<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        let number = i32::deserialize(deserializer)?;
        if number % 2 == 0 {
            Ok(number)
        } else {
            Err(serde::de::Error::custom(format!("{number} is odd")))
        }
    }
    let tool = registered(plain("halve", "Halves.", async |args: Even, _: &ToolContext| {
        Ok(args.number / 2)
    }));
    let told = |arguments: Value| tool.validate(arguments).unwrap_err().to_string();
    assert_eq!(told(json!({ "number": 4711 })), "/number: does not fit");
    assert_eq!(told(json!({ "number": 1_i64 << 40 })), "/number: must be at most 2147483647");
    assert!(tool.validate(json!({ "number": 4712 })).is_ok());
}

#[tokio::test]
async fn a_handler_called_with_arguments_that_do_not_fit_gives_a_validation_error() {
    let tool = transactional("add", "Adds.", add);
    let mut db = Db::default();
    let outcome = run(&tool, json!({ "row": 4711 }), Access::Transaction(&mut db)).await.unwrap();
    assert_eq!(
        outcome,
        ToolOutcome::error("validation", "인자 오류: /row: 올바르지 않습니다. 필요한 값: a string")
    );
    assert_eq!(db, Db::default());
}

#[test]
fn the_predicate_and_the_consequence_read_typed_arguments() {
    let tool = transactional("add", "Adds.", add)
        .asks(|args| args.times > 1)
        .consequence(|args, locale| format!("{} {}", locale.pick("추가:", "adds"), args.row));
    let tool: &dyn Tool = &tool;
    assert!(tool.asks(&json!({ "row": "a", "times": 2 })));
    assert!(!tool.asks(&json!({ "row": "a" })));
    assert!(tool.asks(&json!({ "row": 1 })), "what cannot be read is asked about");
    assert_eq!(tool.consequence(&json!({ "row": "a" }), Locale::EN).as_deref(), Some("adds a"));
    assert_eq!(tool.consequence(&json!({ "row": "a" }), Locale::KO).as_deref(), Some("추가: a"));
    let silent: &dyn Tool = &transactional("add", "Adds.", add);
    assert!(silent.asks(&json!({ "row": "a" })));
    assert_eq!(silent.consequence(&json!({ "row": "a" }), Locale::EN), None);
}

#[tokio::test]
async fn a_schema_written_by_hand_has_a_handler_beside_it() {
    let spec = ToolSpec::new(
        "ping",
        "Answers.",
        json!({ "type": "object", "properties": { "message": { "type": "string" } } }),
    );
    let tool = registered(from_schema(spec, async |args: Value, ctx: ToolContext| {
        let message = args["message"]
            .as_str()
            .map_or("pong".to_owned(), |message| format!("pong: {message}"));
        Ok(ToolOutcome::ok(json!(message)).with_metadata("for", json!(ctx.user.as_str())))
    }));
    for (arguments, told) in [(json!({ "message": "hi", "x": 1 }), "pong: hi"), (json!({}), "pong")]
    {
        let outcome = run_checked(&tool, arguments).await.unwrap();
        assert_eq!(outcome, ToolOutcome::ok(json!(told)).with_metadata("for", json!("mina")));
    }
    assert!(tool.validate(json!({ "message": 1 })).is_err());
}

#[tokio::test]
async fn a_type_that_contains_itself_is_checked_at_every_level() {
    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Node {
        name: String,
        #[serde(default)]
        children: Vec<Self>,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Tree {
        root: Node,
    }
    let tool =
        registered(plain("plant", "Plants.", async |args: Tree, _: &ToolContext| Ok(args.root)));
    let tree = json!({ "root": { "name": "a", "children": [{ "name": "b", "x": 1 }] } });
    let outcome = run_checked(&tool, tree).await.unwrap();
    let planted = json!({ "name": "a", "children": [{ "name": "b", "children": [] }] });
    assert_eq!(outcome, ToolOutcome::ok(planted));
    let told =
        tool.validate(json!({ "root": { "name": "a", "children": [{ "name": 1 }] } })).unwrap_err();
    assert_eq!(told.to_string(), "/root/children/0/name: must be of type string");
}

#[tokio::test]
async fn a_panic_while_arguments_are_read_comes_where_the_handler_is_run() {
    #[derive(JsonSchema)]
    struct Bomb {}
    impl<'de> Deserialize<'de> for Bomb {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("while reading")
        }
    }
    let tool = registered(plain("bomb", "Explodes.", async |_: Bomb, _: &ToolContext| Ok(())));
    assert!(unwind(run_checked(&tool, json!({}))).await.is_err());
}
