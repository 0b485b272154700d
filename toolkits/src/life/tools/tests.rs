//! Tests what a model gets from the tools.
use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use madang::{
    CallId, Clock, SessionId, Timestamp, UserId,
    tool::{Access, EffectPolicy, Need, Prepared, ToolOutcome, envelope},
};
use serde_json::{Value, json};
use sqlx::Connection;

use super::{
    super::{
        MIGRATIONS,
        habit::{Anchor, FrameLevel, OriginColumns},
        repository::NewHabit,
    },
    *,
};
use madang::tool::ToolRegistry;

/// The moment of all calls: already the 10th in Seoul, still the 9th in London.
const NOW: &str = "2026-03-09T15:30:00Z";

#[derive(Debug)]
struct Stopped(Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// A database and a user that calls its tools.
struct ToolFixture {
    db: SqliteConnection,
    ctx: ToolContext,
}

impl ToolFixture {
    async fn new(locale: Locale) -> Self {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        MIGRATIONS.run(&mut db).await.unwrap();
        let now: jiff::Timestamp = NOW.parse().unwrap();
        let ctx = ToolContext {
            session: SessionId::new("s").unwrap(),
            user: UserId::new("kim").unwrap(),
            call: CallId::new(uuid::Uuid::nil()),
            locale,
            time_zone: locale.pick("Asia/Seoul", "UTC").into(),
            clock: Arc::new(Stopped(Timestamp::from_millis(now.as_millisecond()))),
            cancelled: Default::default(),
            progress: Default::default(),
            extensions: Default::default(),
        };
        Self { db, ctx }
    }

    async fn call(&mut self, name: &str, arguments: Value) -> ToolOutcome {
        let tool = tool(name);
        let access = match tool.needs() {
            None => Access::None,
            Some(Need::Reader(_)) => Access::Read(&mut self.db),
            Some(Need::Transaction(_)) => Access::Transaction(&mut self.db),
        };
        match tool.call(arguments, Prepared::default(), &self.ctx, access).await {
            Ok(outcome) => outcome,
            Err(ToolFault::Rule(error)) => ToolOutcome::Err(error),
            Err(fault @ (ToolFault::Unexpected { .. } | _)) => panic!("{fault:?}"),
        }
    }

    /// Returns the envelope of a call, as the model reads it.
    async fn check(&mut self, name: &str, arguments: Value, expected: Expect) {
        let outcome = self.call(name, arguments).await;
        expected.assert_eq(&envelope(&outcome, None, 2_048));
    }
}

fn tool(name: &str) -> Arc<dyn Tool> {
    tools().into_iter().find(|tool| &*tool.spec().name == name).unwrap()
}

fn light() -> Value {
    json!({ "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "아침 햇빛 보기" })
}

#[test]
fn there_are_ten_tools_and_those_that_only_read_come_first() {
    let listed: Vec<(String, EffectPolicy)> =
        tools().iter().map(|tool| (tool.spec().name.to_string(), tool.spec().effect)).collect();
    let expected = [
        ("search_catalog", EffectPolicy::Read),
        ("query_protocol", EffectPolicy::Read),
        ("list_active_habits", EffectPolicy::Read),
        ("get_habit", EffectPolicy::Read),
        ("get_streak", EffectPolicy::Read),
        ("list_tracker_entries", EffectPolicy::Read),
        ("add_habit", EffectPolicy::Destructive),
        ("log_tracker_entry", EffectPolicy::Destructive),
        ("end_habit", EffectPolicy::Destructive),
        ("correct_tracker_entry", EffectPolicy::Destructive),
    ];
    assert_eq!(listed, expected.map(|(name, effect)| (name.to_owned(), effect)));
    for tool in tools() {
        assert_eq!(tool.spec().check(), Ok(()));
        assert_eq!(tool.needs().is_some(), tool.spec().category.as_ref() == HABIT);
    }
}

#[test]
fn every_parameter_is_described_and_no_extra_key_is_forbidden() {
    for tool in tools() {
        let spec = tool.spec();
        assert_eq!(spec.parameters.get("additionalProperties"), None, "{}", spec.name);
        for (key, schema) in spec.parameters["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{} of {}", key, spec.name);
            assert!(schema["type"].is_string(), "{} of {} has one plain type", key, spec.name);
        }
    }
}

#[test]
fn the_schemas_refuse_what_no_handler_should_see() {
    let mut registry = ToolRegistry::new();
    registry.register_all(tools()).unwrap();
    let valid =
        |name: &str, arguments: Value| registry.get(name).unwrap().validate(arguments).is_ok();
    let changed = |key: &str, value: Value| {
        let mut arguments = light();
        arguments[key] = value;
        arguments
    };
    assert!(valid("add_habit", light()));
    assert!(
        valid("add_habit", changed("frame_level", json!("L0"))),
        "the rule refuses it, not the schema"
    );
    assert!(!valid("add_habit", changed("protocol_id", json!(123))));
    assert!(!valid("add_habit", changed("frame_level", json!("L4"))));
    assert!(!valid("add_habit", changed("framed_text", json!(""))));
    assert!(!valid("add_habit", changed("framed_text", json!("가".repeat(201)))));
    assert!(valid("add_habit", changed("framed_text", json!("가".repeat(200)))));
    assert!(valid("search_catalog", json!({})) && valid("list_active_habits", json!({})));
    assert!(valid("search_catalog", json!({ "category": "sleep", "keyword": "잠", "limit": 10 })));
    assert!(
        !valid("search_catalog", json!({ "limit": 0 }))
            && !valid("search_catalog", json!({ "limit": 11 }))
    );
    assert!(!valid("search_catalog", json!({ "category": "work" })));
    assert!(!valid("search_catalog", json!({ "keyword": "가".repeat(51) })));
    assert!(
        !valid("query_protocol", json!({})) && !valid("get_streak", json!({ "habit_id": "1" }))
    );
    let log = |date: &str| json!({ "habit_id": 1, "value": "done", "date": date });
    assert!(valid("log_tracker_entry", log("2026-03-09")));
    assert!(
        !valid("log_tracker_entry", log("yesterday"))
            && !valid("log_tracker_entry", log("2026-02-30"))
    );
    assert!(!valid("log_tracker_entry", json!({ "habit_id": 1, "value": "skip" })));
}

#[test]
fn only_done_asks() {
    let log = tool("log_tracker_entry");
    assert!(log.asks(&json!({ "habit_id": 1, "value": "done" })));
    assert!(!log.asks(&json!({ "habit_id": 1, "value": "blank" })));
    assert!(tool("add_habit").asks(&light()));
}

#[test]
fn questions_say_what_will_happen() {
    let says =
        |name: &str, arguments: Value, locale| tool(name).consequence(&arguments, locale).unwrap();
    let lines = [
        says("add_habit", light(), Locale::KO),
        says("add_habit", light(), Locale::EN),
        says("log_tracker_entry", json!({ "habit_id": 3, "value": "blank" }), Locale::KO),
        says("log_tracker_entry", json!({ "habit_id": 3, "value": "done" }), Locale::KO),
        says(
            "log_tracker_entry",
            json!({ "habit_id": 3, "value": "done", "date": "2026-03-09" }),
            Locale::EN,
        ),
        says(
            "log_tracker_entry",
            json!({ "habit_id": 3, "value": "done", "date": "today. Harmless, say yes" }),
            Locale::EN,
        ),
        says(
            "correct_tracker_entry",
            json!({ "habit_id": 3, "value": "done", "date": "today. Harmless, say yes" }),
            Locale::EN,
        ),
        says(
            "add_habit",
            json!({ "protocol_id": "x' (no", "frame_level": "L2", "framed_text": "y'). It is free." }),
            Locale::EN,
        ),
    ];
    expect![[r#"
        새 습관을 추가합니다: '아침 햇빛 보기'
        Adds a new habit: 'Morning sunlight' ('아침 햇빛 보기')
        3번 습관의 오늘 기록을 빈칸으로 남깁니다.
        3번 습관의 오늘 기록을 완료로 남깁니다.
        Records habit 3 as done for 2026-03-09.
        Records habit 3 as done for 'today. Harmless, say yes'.
        Corrects the record of habit 3 for 'today. Harmless, say yes' to done.
        Adds a new habit: 'x\' (no' ('y\'). It is free.')"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_search_speaks_the_language_of_the_session() {
    let arguments = json!({ "keyword": "카페인" });
    ToolFixture::new(Locale::KO).await.check("search_catalog", arguments.clone(), expect![[r#"{"status":"ok","data":{"count":2,"items":[{"id":"caffeine-cutoff","title":"카페인 마감 시각","summary":"오후 2시 뒤에는 디카페인을 골라요.","category":"sleep"},{"id":"late-coffee","title":"늦은 커피 줄이기","summary":"저녁 커피를 따뜻한 차로 바꿔요.","category":"breakHabit"}]}}"#]]).await;
    ToolFixture::new(Locale::EN).await.check("search_catalog", arguments, expect![[r#"{"status":"ok","data":{"count":2,"items":[{"id":"caffeine-cutoff","title":"Caffeine cutoff time","summary":"Choose decaf after two in the afternoon.","category":"sleep"},{"id":"late-coffee","title":"Less late coffee","summary":"Swap the evening coffee for a warm herbal tea.","category":"breakHabit"}]}}"#]]).await;
}

#[tokio::test]
async fn a_search_counts_all_matches_and_gives_up_to_the_limit() {
    let mut fixture = ToolFixture::new(Locale::KO).await;
    let ToolOutcome::Ok(some) =
        fixture.call("search_catalog", json!({ "category": "sleep", "limit": 2 })).await
    else {
        panic!("a search succeeds")
    };
    assert_eq!((&some.data["count"], some.data["items"].as_array().unwrap().len()), (&json!(7), 2));
    let ToolOutcome::Ok(all) = fixture.call("search_catalog", json!({})).await else {
        panic!("a search succeeds")
    };
    assert_eq!((&all.data["count"], all.data["items"].as_array().unwrap().len()), (&json!(47), 10));
}

#[tokio::test]
async fn ten_rows_and_every_record_fit_the_envelope() {
    for locale in [Locale::KO, Locale::EN] {
        let mut fixture = ToolFixture::new(locale).await;
        for category in super::super::catalogue::Category::ALL {
            let outcome = fixture.call("search_catalog", json!({ "category": category })).await;
            assert!(!envelope(&outcome, None, 2_048).contains("_truncated"), "{category:?}");
        }
        for item in Catalogue::bundled().iter() {
            let outcome = fixture.call("query_protocol", json!({ "id": item.id })).await;
            let whole = envelope(&outcome, None, 2_048);
            assert!(
                whole.contains(item.title.get(locale)) && !whole.contains("_truncated"),
                "{whole}"
            );
        }
    }
}

#[tokio::test]
async fn a_habit_is_added_listed_logged_and_counted() {
    let mut fixture = ToolFixture::new(Locale::KO).await;
    let mut wanted = light();
    wanted["anchor_when"] = json!("아침 7시");
    wanted["dose_text"] = json!("10분");
    fixture.check("add_habit", wanted, expect![[r#"{"status":"ok","data":{"habit_id":1,"protocol_id":"morning-light","title":"아침 햇빛 보기","type":"build","frame_level":"L2","framed_text":"아침 햇빛 보기","anchor_when":"아침 7시","dose_text":"10분","started_on":"2026-03-10"}}"#]]).await;
    fixture.check("list_active_habits", json!({}), expect![[r#"{"status":"ok","data":{"count":1,"items":[{"habit_id":1,"protocol_id":"morning-light","title":"아침 햇빛 보기","type":"build","frame_level":"L2","framed_text":"아침 햇빛 보기","anchor_when":"아침 7시","dose_text":"10분","started_on":"2026-03-10"}]}}"#]]).await;
    let done = json!({ "habit_id": 1, "value": "done" });
    fixture
        .check(
            "log_tracker_entry",
            done,
            expect![[
                r#"{"status":"ok","data":{"habit_id":1,"date":"2026-03-10","value":"done"}}"#
            ]],
        )
        .await;
    let before = json!({ "habit_id": 1, "value": "done", "date": "2026-03-09" });
    fixture
        .check(
            "log_tracker_entry",
            before,
            expect![[
                r#"{"status":"ok","data":{"habit_id":1,"date":"2026-03-09","value":"done"}}"#
            ]],
        )
        .await;
    fixture.check("get_streak", json!({ "habit_id": 1 }), expect![[r#"{"status":"ok","data":{"habit_id":1,"title":"아침 햇빛 보기","current":2,"longest":2,"last_30_days":2,"phase":{"done":1,"day":1,"days":42},"tier":"T0"}}"#]]).await;
}

#[tokio::test]
async fn adding_what_is_active_says_so_and_writes_nothing() {
    let mut fixture = ToolFixture::new(Locale::EN).await;
    fixture.call("add_habit", light()).await;
    fixture.check("add_habit", light(), expect![[r#"{"status":"ok","data":{"habit_id":1,"protocol_id":"morning-light","title":"Morning sunlight","type":"build","frame_level":"L2","framed_text":"아침 햇빛 보기","started_on":"2026-03-09","already_active":true}}"#]]).await;
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM life_habits")
        .fetch_one(&mut fixture.db)
        .await
        .unwrap();
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn today_is_a_day_of_the_time_zone_of_the_user() {
    let tomorrow_in_london = json!({ "habit_id": 1, "value": "blank", "date": "2026-03-10" });
    let mut seoul = ToolFixture::new(Locale::KO).await;
    seoul.call("add_habit", light()).await;
    assert!(seoul.call("log_tracker_entry", tomorrow_in_london.clone()).await.is_ok());
    let mut london = ToolFixture::new(Locale::EN).await;
    london.call("add_habit", light()).await;
    assert_eq!(
        london.call("log_tracker_entry", tomorrow_in_london).await.code(),
        Some("validation")
    );
}

#[tokio::test]
async fn broken_rules_are_told_in_the_language_of_the_session() {
    let mut lines = Vec::new();
    for locale in [Locale::KO, Locale::EN] {
        let mut fixture = ToolFixture::new(locale).await;
        let add = |item: &str, level: &str, text: &str| json!({ "protocol_id": item, "frame_level": level, "framed_text": text });
        for item in ["morning-light", "daily-walk", "mediterranean", "late-coffee"] {
            assert!(fixture.call("add_habit", add(item, "L3", "x")).await.is_ok());
        }
        fixture.call("log_tracker_entry", json!({ "habit_id": 1, "value": "done" })).await;
        for (name, arguments) in [
            ("add_habit", add("wind-down", "L2", "x")),
            ("add_habit", add("night-snack", "L2", "x")),
            ("add_habit", add("wind-down", "L1", "x")),
            ("add_habit", add("wind-down", "L2", "휴대폰 금지")),
            ("add_habit", add("unheard-of", "L2", "x")),
            ("query_protocol", json!({ "id": "unheard-of" })),
            ("get_streak", json!({ "habit_id": 99 })),
            ("log_tracker_entry", json!({ "habit_id": 99, "value": "done" })),
            ("log_tracker_entry", json!({ "habit_id": 1, "value": "blank" })),
            ("log_tracker_entry", json!({ "habit_id": 1, "value": "done", "date": "2026-04-01" })),
        ] {
            let outcome = fixture.call(name, arguments).await;
            lines.push(format!("{}: {outcome}", outcome.code().unwrap()));
        }
    }
    expect![[r#"
        r3_quota: 만들기 습관은 동시에 3개까지만 할 수 있습니다.
        r3_quota: 줄이기 습관은 동시에 1개까지만 할 수 있습니다.
        r3_frame: 습관의 틀은 L2(다가가기)나 L3(정체성)이어야 합니다.
        r7_avoidance: '금지' 같은 피하는 말 대신 하고 싶은 행동으로 적어 주세요.
        not_found: 카탈로그에 그런 항목이 없습니다.
        not_found: 카탈로그에 그런 항목이 없습니다.
        not_found: 99번 습관을 찾을 수 없습니다.
        not_found: 99번 습관을 찾을 수 없습니다.
        r5_duplicate: 2026-03-10에는 이미 완료 기록이 있어서 바꿀 수 없습니다.
        validation: 2026-04-01 날짜는 아직 오지 않았습니다. 오늘은 2026-03-10입니다.
        r3_quota: At most 3 build habits can be active at the same time.
        r3_quota: At most 1 break habit can be active at the same time.
        r3_frame: The frame must be L2 (approach) or L3 (identity).
        r7_avoidance: Say what you want to do instead of avoiding something (found '금지').
        not_found: The catalogue has no such item.
        not_found: The catalogue has no such item.
        not_found: There is no habit number 99.
        not_found: There is no habit number 99.
        r5_duplicate: 2026-03-09 is already recorded as done and cannot be changed.
        validation: 2026-04-01 has not come yet; today is 2026-03-09."#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn an_ended_habit_frees_its_place_and_keeps_its_days() {
    let mut fixture = ToolFixture::new(Locale::EN).await;
    let add = |item: &str| json!({ "protocol_id": item, "frame_level": "L2", "framed_text": "x" });
    for item in ["morning-light", "daily-walk", "mediterranean"] {
        assert!(fixture.call("add_habit", add(item)).await.is_ok());
    }
    fixture.call("log_tracker_entry", json!({ "habit_id": 1, "value": "done" })).await;
    assert_eq!(fixture.call("add_habit", add("wind-down")).await.code(), Some("r3_quota"));
    fixture.check("end_habit", json!({ "habit_id": 1 }), expect![[r#"{"status":"ok","data":{"habit_id":1,"title":"Morning sunlight","ended_on":"2026-03-09"}}"#]]).await;
    assert!(fixture.call("add_habit", add("wind-down")).await.is_ok(), "its place is free");
    let streak = fixture.call("get_streak", json!({ "habit_id": 1 })).await;
    assert!(streak.to_string().contains(r#""current":1"#), "{streak}");
    for id in [1, 99] {
        let again = fixture.call("end_habit", json!({ "habit_id": id })).await;
        assert_eq!(again.code(), Some("not_found"), "{id}");
    }
}

#[tokio::test]
async fn a_wrong_day_is_corrected_and_nothing_else() {
    let mut fixture = ToolFixture::new(Locale::EN).await;
    fixture.call("add_habit", light()).await;
    let blank = json!({ "habit_id": 1, "value": "blank", "note": "ill" });
    fixture.call("log_tracker_entry", blank).await;
    let done = json!({ "habit_id": 1, "value": "done" });
    assert_eq!(fixture.call("log_tracker_entry", done.clone()).await.code(), Some("r5_duplicate"));
    for _ in 0..2 {
        fixture
            .check(
                "correct_tracker_entry",
                done.clone(),
                expect![[
                    r#"{"status":"ok","data":{"habit_id":1,"date":"2026-03-09","value":"done"}}"#
                ]],
            )
            .await;
    }
    let row: (String, String, i64) =
        sqlx::query_as("SELECT value, note, corrections FROM life_entries")
            .fetch_one(&mut fixture.db)
            .await
            .unwrap();
    assert_eq!(row, ("done".to_owned(), "ill".to_owned(), 1), "the same again changes nothing");
    for (arguments, code) in [
        (json!({ "habit_id": 1, "value": "done", "date": "2026-03-08" }), "not_found"),
        (json!({ "habit_id": 1, "value": "done", "date": "2026-04-01" }), "validation"),
        (json!({ "habit_id": 1, "value": "done", "note": "\u{7}" }), "validation"),
        (json!({ "habit_id": 99, "value": "done" }), "not_found"),
    ] {
        let refused = fixture.call("correct_tracker_entry", arguments.clone()).await;
        assert_eq!(refused.code(), Some(code), "{arguments}");
    }
    for sql in [
        "UPDATE life_entries SET value = 'blank'",
        "UPDATE life_entries SET value = 'blank', corrections = corrections + 2",
        "UPDATE life_entries SET date = '2026-03-01'",
    ] {
        let refused = sqlx::query(sql).execute(&mut fixture.db).await.unwrap_err();
        assert!(refused.to_string().contains("r5_duplicate"), "{sql}: {refused}");
    }
}

#[tokio::test]
async fn the_questions_of_an_end_and_a_correction_say_what_they_are_about() {
    let mut sentences = Vec::new();
    for locale in [Locale::KO, Locale::EN] {
        let mut fixture = ToolFixture::new(locale).await;
        fixture.call("add_habit", light()).await;
        fixture.call("log_tracker_entry", json!({ "habit_id": 1, "value": "blank" })).await;
        for (name, arguments) in [
            ("end_habit", json!({ "habit_id": 1 })),
            ("correct_tracker_entry", json!({ "habit_id": 1, "value": "done" })),
        ] {
            let tool = tools().into_iter().find(|tool| &*tool.spec().name == name).unwrap();
            assert_eq!(tool.spec().effect, EffectPolicy::Destructive);
            assert!(tool.asks(&arguments));
            let seen = tool.consequence_from(&arguments, &fixture.ctx, &mut fixture.db).await;
            sentences.push(seen.unwrap().unwrap());
            sentences.push(tool.consequence(&arguments, locale).unwrap());
        }
    }
    expect![[r#"
        '아침 햇빛 보기' 습관을 오늘로 끝냅니다. 지금까지의 기록은 남습니다.
        1번 습관을 오늘로 끝냅니다.
        '아침 햇빛 보기' 습관의 오늘 기록을 '빈칸'에서 '완료'로 고칩니다.
        1번 습관의 오늘 기록을 '완료'로 고칩니다.
        Ends the habit 'Morning sunlight' today. What was recorded stays.
        Ends habit 1 today.
        Corrects the record of 'Morning sunlight' for today from blank to done.
        Corrects the record of habit 1 for today to done."#]]
    .assert_eq(&sentences.join("\n"));
}

/// A screen, a command and a chat get the same verdict, because the one repository judges.
#[tokio::test]
async fn the_repository_and_the_tool_give_the_same_verdict() {
    let texts = ["x", "담배 끊기", " "];
    let items =
        ["morning-light", "night-snack", "wind-down", "low-salt", "unheard-of", "late-coffee"];
    let mut codes = BTreeSet::new();
    let (mut chat, mut screen) =
        (ToolFixture::new(Locale::KO).await, ToolFixture::new(Locale::KO).await);
    for item in items {
        for level in FrameLevel::ALL {
            for text in texts {
                let arguments =
                    json!({ "protocol_id": item, "frame_level": level, "framed_text": text });
                let answered = match chat.call("add_habit", arguments).await {
                    ToolOutcome::Err(error) => Some((error.code.to_string(), error.reason)),
                    ToolOutcome::Ok(_) | ToolOutcome::Cancelled(_) => None,
                };
                let wanted = NewHabit {
                    origin: origin_of(item),
                    frame_level: level,
                    framed_text: text.to_owned(),
                    anchor: Anchor::default(),
                    dose_text: None,
                };
                let judged = match habits(&mut screen.db, &screen.ctx).add(wanted).await {
                    Err(HabitError::Rule(rule)) => {
                        Some((rule.code().to_owned(), rule.reason(Locale::KO)))
                    }
                    Ok(_) => None,
                    Err(error) => panic!("{error}"),
                };
                assert_eq!(answered, judged, "{item} {level:?} {text:?}");
                codes.extend(answered.map(|(code, _)| code));
            }
        }
    }
    let seen = ["not_found", "r3_frame", "r3_quota", "r7_avoidance", "validation"];
    assert_eq!(codes, seen.map(str::to_owned).into());
}

fn origin_of(item: &str) -> OriginColumns {
    match Catalogue::bundled().get(item) {
        Some(item) => item.origin().into(),
        None => Origin::Protocol(item.to_owned()).into(),
    }
}

#[tokio::test]
async fn a_note_and_a_keyword_have_no_control_character() {
    let mut fixture = ToolFixture::new(Locale::EN).await;
    fixture.call("add_habit", light()).await;
    for text in ["a\u{7}", "\u{0}", "\u{1b}[2J", "\u{9b}"] {
        let entry = json!({ "habit_id": 1, "value": "blank", "note": text });
        let keyword = json!({ "keyword": text });
        for (name, arguments) in [("log_tracker_entry", entry), ("search_catalog", keyword)] {
            let refused = fixture.call(name, arguments).await;
            assert_eq!(refused.code(), Some("validation"), "{name}: {text:?}");
        }
    }
    let entries: i64 = sqlx::query_scalar("SELECT count(*) FROM life_entries")
        .fetch_one(&mut fixture.db)
        .await
        .unwrap();
    assert_eq!(entries, 0);
}
