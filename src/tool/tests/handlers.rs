//! What handlers receive, and what becomes of what they return.

use super::*;

#[tokio::test]
async fn a_plain_function_becomes_a_tool() {
    let tool = registered(plain("shout", "Shouts.", shout));
    assert_eq!(tool.spec().effect, EffectPolicy::Destructive, "unannotated means destructive");
    assert_eq!(tool.tool().needs(), None);
    let outcome = run_checked(&tool, json!({ "row": "hey", "noise": 1 })).await.unwrap();
    assert_eq!(outcome, ToolOutcome::ok(json!("mina: hey!")));
}

#[tokio::test]
async fn a_transactional_function_gets_the_connection_of_the_transaction() {
    let tool = transactional("add", "Adds.", add);
    assert_eq!(tool.needs(), Some(Need::Transaction(ConnectionType::of::<Db>())));
    assert_eq!(tool.spec().effect, EffectPolicy::Destructive);
    let mut db = Db::default();
    let outcome =
        run(&tool, json!({ "row": "a", "times": 2 }), Access::Transaction(&mut db)).await.unwrap();
    assert_eq!(outcome, ToolOutcome::ok(json!({ "row": "a", "count": 2 })));
    assert_eq!(db.rows, ["a", "a"]);
}

#[tokio::test]
async fn a_rule_that_a_handler_finds_broken_is_told_as_it_is() {
    let tool = transactional("add", "Adds.", add);
    let mut db = Db::default();
    let ended = run(&tool, json!({ "row": "forbidden" }), Access::Transaction(&mut db)).await;
    let Err(ToolFault::Rule(rule)) = ended else { panic!("expected a rule, got {ended:?}") };
    assert_eq!((&*rule.code, &*rule.reason), ("r1_row", "안 됩니다"));
}

#[tokio::test]
async fn a_reading_function_takes_a_connection_that_cannot_write() {
    let tool = reading("count", "Counts.", count);
    assert_eq!(tool.spec().effect, EffectPolicy::Read);
    assert_eq!(tool.needs(), Some(Need::Reader(ConnectionType::of::<Db>())));
    let mut db = Db { rows: vec!["a".to_owned()] };
    assert_eq!(
        run(&tool, json!({}), Access::Read(&mut db)).await.unwrap(),
        ToolOutcome::ok(json!(1))
    );
}

#[tokio::test]
async fn a_handler_is_never_run_without_the_connection_it_needs() {
    let writing = transactional("add", "Adds.", add);
    let mut db = Db::default();
    let mut other = String::new();
    let row = || json!({ "row": "a" });
    for access in [Access::None, Access::Read(&mut db), Access::Transaction(&mut other)] {
        let (fault, cause) = fault(run(&writing, row(), access).await);
        assert_eq!(fault, Fault::default());
        assert!(cause.to_string().contains("without the"), "{cause}");
    }
    assert_eq!(db, Db::default());
}

struct Life {
    limit: usize,
}

impl Life {
    async fn add(&self, args: Add, db: &mut Db, _: &ToolContext) -> ToolResult<usize> {
        tokio::task::yield_now().await;
        if db.rows.len() >= self.limit {
            return Err(ToolFault::rule("r3_quota", "full"));
        }
        db.rows.push(args.row);
        Ok(db.rows.len())
    }
}

#[tokio::test]
async fn methods_become_tools_that_share_their_state() {
    let life = with(Life { limit: 1 });
    let tool = life.transactional("add", "Adds.", Life::add);
    let other = life.plain(
        "limit",
        "Tells the limit.",
        async |life: &Life, _: NoArguments, _: &ToolContext| Ok(life.limit),
    );
    let mut db = Db::default();
    assert!(run(&tool, json!({ "row": "a" }), Access::Transaction(&mut db)).await.unwrap().is_ok());
    assert!(run(&tool, json!({ "row": "b" }), Access::Transaction(&mut db)).await.is_err());
    assert_eq!(db.rows, ["a"]);
    assert_eq!(run(&other, json!({}), Access::None).await.unwrap(), ToolOutcome::ok(json!(1)));
}

#[tokio::test]
async fn closures_become_tools() {
    let tool = transactional("add", "Adds.", async |args: Add, db: &mut Db, ctx: &ToolContext| {
        add(args, db, ctx).await
    });
    let mut db = Db::default();
    assert!(run(&tool, json!({ "row": "a" }), Access::Transaction(&mut db)).await.unwrap().is_ok());
}

#[tokio::test]
async fn slow_work_is_prepared_before_the_transaction_and_handed_to_the_handler() {
    let tool = prepared(
        "fetch",
        "Fetches a row and stores it.",
        async |args: &Add, _: &ToolContext| {
            tokio::task::yield_now().await;
            Ok(args.row.to_uppercase())
        },
        async |args: Add, fetched: String, db: &mut Db, _: &ToolContext| {
            db.rows.extend([args.row, fetched]);
            Ok(())
        },
    );
    let ctx = context(Locale::KO);
    let arguments = json!({ "row": "a" });
    let made = tool.prepare(&arguments, &ctx).await.unwrap();
    let mut db = Db::default();
    let outcome =
        tool.call(arguments.clone(), made, &ctx, Access::Transaction(&mut db)).await.unwrap();
    assert_eq!(outcome, ToolOutcome::ok(Value::Null));
    assert_eq!(db.rows, ["a", "A"]);
    let (_, cause) = fault(run(&tool, arguments, Access::Transaction(&mut db)).await);
    assert!(cause.to_string().contains("without the alloc::string::String"), "{cause}");
    assert_eq!(db.rows.len(), 2);
}

#[tokio::test]
async fn a_result_that_cannot_be_serialised_is_a_fault_of_that_type() {
    let tool = plain("map", "Gives a map.", async |_: NoArguments, _: &ToolContext| {
        Ok(std::collections::HashMap::from([((1, 2), "keys of JSON are texts")]))
    });
    let (kind, _) = fault(run(&tool, json!({}), Access::None).await);
    assert_eq!(kind, Fault::SERIALIZE);
}

#[tokio::test]
async fn a_handler_may_give_an_outcome_with_metadata_of_its_own() {
    let tool = plain("finish", "Ends the turn.", async |_: NoArguments, _: &ToolContext| {
        Ok(ToolOutcome::ok(json!("done")).with_metadata("stop_loop", json!(true)))
    });
    let outcome = run(&tool, json!({}), Access::None).await.unwrap();
    assert!(outcome.stops_loop());
    assert_eq!(outcome.to_string(), "done");
}

#[tokio::test]
async fn any_error_becomes_a_fault_by_the_question_mark() {
    let tool =
        plain("parse", "Parses.", async |args: Add, _: &ToolContext| Ok(args.row.parse::<u8>()?));
    let (kind, cause) = fault(run(&tool, json!({ "row": "x" }), Access::None).await);
    assert_eq!(kind, Fault::default());
    assert_eq!(cause.to_string(), "invalid digit found in string");
}

#[test]
fn the_builder_s_words_arrive_in_the_description() {
    let tool = transactional("add", "Adds.", add)
        .category("rows")
        .effect(EffectPolicy::Write)
        .idempotent()
        .timeout(std::time::Duration::from_secs(1))
        .max_concurrent(2)
        .narrower("get");
    let spec = tool.spec();
    assert_eq!(
        (&*spec.category, spec.effect, spec.is_idempotent),
        ("rows", EffectPolicy::Write, true)
    );
    assert_eq!(
        (spec.timeout, spec.max_concurrent),
        (Some(std::time::Duration::from_secs(1)), Some(2))
    );
    assert_eq!(spec.narrower.as_deref(), Some("get"));
}

#[test]
fn a_tool_says_of_its_arguments_and_its_user_what_a_call_works_on() {
    let works_on = |args: &Add, ctx: &ToolContext| {
        let key = format!("{}/{}", ctx.user, args.row);
        (args.times > 0).then(|| Resource::new(key).at_once(2))
    };
    let tool = registered(transactional("add", "Adds.", add).resource(works_on));
    let of = |arguments: Value| tool.tool().resource(&arguments, &context(Locale::EN));
    assert_eq!(of(json!({ "row": "x", "times": 1 })), Some(Resource::new("mina/x").at_once(2)));
    assert_eq!(of(json!({ "row": "x" })), None);
    assert_eq!(of(json!({})), None, "it cannot be called with these");
    let another = registered(transactional("add", "Adds.", add));
    assert_eq!(another.tool().resource(&json!({ "row": "x" }), &context(Locale::EN)), None);
}

#[test]
fn an_effect_that_does_not_go_with_the_connection_is_refused_at_registration() {
    let says_it_reads = transactional("add", "Adds.", add).effect(EffectPolicy::Read);
    let says_it_writes = reading("count", "Counts.", count).effect(EffectPolicy::Write);
    for (tool, words) in [
        (
            Box::new(says_it_reads) as Box<dyn Tool>,
            "add cannot have the effect Read: its handler is lent the transaction",
        ),
        (
            Box::new(says_it_writes),
            "count cannot have the effect Write: its handler is lent a connection that cannot write",
        ),
    ] {
        let mut registry = ToolRegistry::new();
        let refused = registry.register_all([Arc::from(tool)]).unwrap_err();
        assert!(
            matches!(refused, RegistryError::Effect(_)) && refused.to_string().contains(words),
            "{refused}"
        );
        assert!(registry.is_empty());
    }
}
