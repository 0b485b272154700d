//! Tests what the repository and its tables accept, on a real SQLite.
use jiff::civil::date;
use sqlx::{Connection, sqlite::SqliteConnectOptions};

use super::*;
use crate::life::MIGRATIONS;

const TODAY: Date = date(2026, 3, 10);

async fn database() -> SqliteConnection {
    let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    MIGRATIONS.run(&mut db).await.unwrap();
    db
}

fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

fn wanted(item: &str) -> NewHabit {
    let item = Catalogue::bundled().get(item).unwrap();
    NewHabit {
        origin: item.origin().into(),
        frame_level: FrameLevel::L2,
        framed_text: "나는 하루를 가볍게 연다".to_owned(),
        anchor: Anchor { when: Some("아침 7시".to_owned()), after_what: None },
        dose_text: Some("10분".to_owned()),
    }
}

fn entry(habit: HabitId, date: Date, value: TrackerValue) -> NewEntry {
    NewEntry { habit, date, value, note: None }
}

impl HabitRepository<'_> {
    async fn added(&mut self, item: &str) -> Habit {
        match self.add(wanted(item)).await.unwrap() {
            Added::New(habit) => habit,
            Added::AlreadyActive(habit) => panic!("{habit:?} was active"),
        }
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, HabitError>) -> &'static str {
    match result {
        Err(HabitError::Rule(violation)) => violation.code(),
        other => panic!("{other:?} is not a broken rule"),
    }
}

#[tokio::test]
async fn an_added_habit_reads_back_as_it_was_written() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    let mut written = Vec::new();
    for item in ["morning-light", "late-coffee", "mediterranean"] {
        written.push(habits.added(item).await);
    }
    assert_eq!(habits.active().await.unwrap(), written);
    let types = written.iter().map(|habit| habit.origin.habit_type());
    assert!(types.eq([HabitType::Build, HabitType::Break, HabitType::Build]));
    assert_eq!(written[2].origin, Origin::DietPattern("mediterranean".to_owned()));
    assert_eq!(habits.habit(written[0].id).await.unwrap(), written[0]);
}

#[tokio::test]
async fn an_item_that_is_active_is_given_back_and_not_written_again() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    let first = habits.added("morning-light").await;
    let again = NewHabit { framed_text: "다른 말".to_owned(), ..wanted("morning-light") };
    assert_eq!(habits.add(again).await.unwrap(), Added::AlreadyActive(first.clone()));
    assert_eq!(habits.active().await.unwrap(), [first]);
}

#[tokio::test]
async fn r1_the_fourth_build_habit_is_refused_and_a_full_item_stays_already_active() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    for item in ["morning-light", "daily-walk", "mediterranean"] {
        habits.added(item).await;
    }
    assert_eq!(code(habits.add(wanted("wind-down")).await), "r3_quota");
    assert!(matches!(habits.add(wanted("daily-walk")).await, Ok(Added::AlreadyActive(_))));
    habits.added("late-coffee").await;
    assert_eq!(habits.active().await.unwrap().len(), 4);
}

#[tokio::test]
async fn r2_the_second_break_habit_is_refused() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    habits.added("late-coffee").await;
    assert_eq!(code(habits.add(wanted("night-snack")).await), "r3_quota");
}

#[tokio::test]
async fn quotas_are_per_user_and_an_ended_habit_frees_its_place() {
    let mut db = database().await;
    let kim = user("kim");
    let lee = user("lee");
    let first = HabitRepository::new(&mut db, &kim, TODAY).added("late-coffee").await;
    HabitRepository::new(&mut db, &lee, TODAY).added("late-coffee").await;
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    habits.end(first.id).await.unwrap();
    assert_eq!(code(habits.end(first.id).await), "not_found");
    habits.added("night-snack").await;
    assert_eq!(habits.active().await.unwrap().len(), 1);
}

#[tokio::test]
async fn each_broken_rule_is_told_by_its_code_and_writes_nothing() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    let base = || wanted("morning-light");
    let both = OriginColumns {
        protocol_id: Some("morning-light".to_owned()),
        break_protocol_id: Some("late-coffee".to_owned()),
        diet_pattern_id: None,
    };
    let in_the_wrong_column =
        OriginColumns { protocol_id: Some("late-coffee".to_owned()), ..OriginColumns::default() };
    let unknown =
        OriginColumns { protocol_id: Some("no-such".to_owned()), ..OriginColumns::default() };
    let long = Some("가".repeat(201));
    let cases = [
        ("r8_xor", NewHabit { origin: OriginColumns::default(), ..base() }),
        ("r8_xor", NewHabit { origin: both, ..base() }),
        ("not_found", NewHabit { origin: unknown, ..base() }),
        ("not_found", NewHabit { origin: in_the_wrong_column, ..base() }),
        ("r3_frame", NewHabit { frame_level: FrameLevel::L0, ..base() }),
        ("r3_frame", NewHabit { frame_level: FrameLevel::L1, ..base() }),
        ("r7_avoidance", NewHabit { framed_text: "담배 끊기".to_owned(), ..base() }),
        ("validation", NewHabit { framed_text: "  ".to_owned(), ..base() }),
        ("validation", NewHabit { framed_text: "가".repeat(201), ..base() }),
        ("validation", NewHabit { dose_text: long.clone(), ..base() }),
        (
            "validation",
            NewHabit { anchor: Anchor { when: long.clone(), after_what: None }, ..base() },
        ),
        ("validation", NewHabit { anchor: Anchor { when: None, after_what: long }, ..base() }),
    ];
    for (expected, wanted) in cases {
        assert_eq!(code(habits.add(wanted.clone()).await), expected, "{wanted:?}");
    }
    assert_eq!(habits.active().await.unwrap(), []);
}

#[tokio::test]
async fn r5_one_value_a_day() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    let id = habits.added("morning-light").await.id;
    let done = entry(id, TODAY, TrackerValue::Done);
    assert_eq!(habits.log(&done).await.unwrap(), EntryVerdict::Record);
    let again = NewEntry { note: Some("다시".to_owned()), ..done.clone() };
    assert_eq!(habits.log(&again).await.unwrap(), EntryVerdict::AlreadyRecorded);
    assert_eq!(code(habits.log(&entry(id, TODAY, TrackerValue::Blank)).await), "r5_duplicate");
    let rows: Vec<(String, String, Option<String>)> =
        sqlx::query_as("SELECT date, value, note FROM life_entries")
            .fetch_all(&mut db)
            .await
            .unwrap();
    assert_eq!(rows, [("2026-03-10".to_owned(), "done".to_owned(), None)]);
}

#[tokio::test]
async fn an_entry_needs_a_day_that_has_come_and_a_habit_of_the_same_user() {
    let mut db = database().await;
    let kim = user("kim");
    let lee = user("lee");
    let id = HabitRepository::new(&mut db, &kim, TODAY).added("morning-light").await.id;
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    assert_eq!(
        code(habits.log(&entry(id, date(2026, 3, 11), TrackerValue::Done)).await),
        "validation"
    );
    let unknown = HabitId(id.0 + 1);
    assert_eq!(code(habits.log(&entry(unknown, TODAY, TrackerValue::Done)).await), "not_found");
    assert_eq!(code(habits.streak(unknown).await), "not_found");
    let mut others = HabitRepository::new(&mut db, &lee, TODAY);
    assert_eq!(code(others.log(&entry(id, TODAY, TrackerValue::Done)).await), "not_found");
    assert_eq!(code(others.streak(id).await), "not_found");
    assert_eq!(code(others.end(id).await), "not_found");
    assert_eq!(others.active().await.unwrap(), []);
}

#[tokio::test]
async fn a_streak_counts_done_days_and_no_blank_ones() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, date(2026, 3, 1));
    let id = habits.added("morning-light").await.id;
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    for day in [3, 7, 8, 9] {
        habits.log(&entry(id, date(2026, 3, day), TrackerValue::Done)).await.unwrap();
    }
    habits.log(&entry(id, TODAY, TrackerValue::Blank)).await.unwrap();
    let (_, streak) = habits.streak(id).await.unwrap();
    assert_eq!((streak.current, streak.longest, streak.last_30_days), (3, 3, 4));
    assert_eq!((streak.phase.done, streak.phase.day), (4, 10));
}

/// Statements that bypass the repository, and the tables' answers.
#[tokio::test]
async fn the_tables_know_the_rules_as_well() {
    const COLUMNS: &str = "INSERT INTO life_habits (user_id, type, protocol_id, break_protocol_id, \
        diet_pattern_id, frame_level, framed_text, started_on) VALUES ";
    let mut db = database().await;
    let accepted = [
        "('kim', 'build', 'a', NULL, NULL, 'L2', 'x', '2026-03-10')",
        "('kim', 'build', 'b', NULL, NULL, 'L3', 'x', '2026-03-10')",
        "('kim', 'build', NULL, NULL, 'c', 'L3', 'x', '2026-03-10')",
        "('kim', 'break', NULL, 'd', NULL, 'L3', 'x', '2026-03-10')",
        "('lee', 'build', 'a', NULL, NULL, 'L2', 'x', '2026-03-10')",
    ];
    for values in accepted {
        run(&mut db, format!("{COLUMNS}{values}")).await.unwrap();
    }
    run(&mut db, "INSERT INTO life_entries (habit_id, date, value, note) VALUES (1, '2026-03-10', 'done', NULL)").await.unwrap();
    let habit = |values: &str| format!("{COLUMNS}{values}");
    let refused = [
        ("r3_quota", habit("('kim', 'build', 'e', NULL, NULL, 'L2', 'x', '2026-03-10')")),
        ("r3_quota", habit("('kim', 'break', NULL, 'e', NULL, 'L2', 'x', '2026-03-10')")),
        (
            "r3_quota",
            "UPDATE life_habits SET user_id = 'kim', protocol_id = 'e' WHERE user_id = 'lee'"
                .to_owned(),
        ),
        ("active_item", habit("('lee', 'build', 'a', NULL, NULL, 'L2', 'x', '2026-03-10')")),
        ("r3_frame", habit("('lee', 'build', 'e', NULL, NULL, 'L1', 'x', '2026-03-10')")),
        ("r8_xor", habit("('lee', 'build', 'e', NULL, 'f', 'L2', 'x', '2026-03-10')")),
        ("r8_xor", habit("('lee', 'build', NULL, NULL, NULL, 'L2', 'x', '2026-03-10')")),
        (
            "type_follows_origin",
            habit("('lee', 'break', 'e', NULL, NULL, 'L2', 'x', '2026-03-10')"),
        ),
        ("type IN", habit("('lee', 'other', 'e', NULL, NULL, 'L2', 'x', '2026-03-10')")),
        ("framed_text", habit("('lee', 'build', 'e', NULL, NULL, 'L2', '', '2026-03-10')")),
        ("started_on", habit("('lee', 'build', 'e', NULL, NULL, 'L2', 'x', 'soon')")),
        ("UNIQUE", "INSERT INTO life_entries (habit_id, date, value, note) VALUES (1, '2026-03-10', 'blank', NULL)".to_owned()),
        ("r5_duplicate", "UPDATE life_entries SET value = 'blank'".to_owned()),
        ("value IN", "INSERT INTO life_entries (habit_id, date, value, note) VALUES (1, '2026-03-09', 'skip', NULL)".to_owned()),
        ("date IS", "INSERT INTO life_entries (habit_id, date, value, note) VALUES (1, '2026-02-30', 'done', NULL)".to_owned()),
        (
            "FOREIGN KEY",
            "INSERT INTO life_entries (habit_id, date, value, note) VALUES (99, '2026-03-09', 'done', NULL)".to_owned(),
        ),
    ];
    for (expected, statement) in refused {
        let message = run(&mut db, statement.clone()).await.unwrap_err().to_string();
        assert!(message.contains(expected), "{statement}\n{message}");
    }
    // An ended habit cannot come back once its place is taken.
    run(&mut db, "UPDATE life_habits SET ended_on = '2026-03-10' WHERE id = 1").await.unwrap();
    run(&mut db, habit("('kim', 'build', 'e', NULL, NULL, 'L2', 'x', '2026-03-10')"))
        .await
        .unwrap();
    let back = run(&mut db, "UPDATE life_habits SET ended_on = NULL WHERE id = 1").await;
    assert!(back.unwrap_err().to_string().contains("r3_quota"));
}

async fn run(db: &mut SqliteConnection, statement: impl Into<String>) -> Result<(), sqlx::Error> {
    sqlx::query(sqlx::AssertSqlSafe(statement.into())).execute(db).await.map(drop)
}

/// Two writers check before either writes: the rule lets both pass, the table only one.
#[tokio::test]
async fn two_adds_at_the_same_moment_cannot_both_take_the_last_place() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        SqliteConnectOptions::new().filename(folder.path().join("life.db")).create_if_missing(true);
    let mut db = SqliteConnection::connect_with(&options).await.unwrap();
    MIGRATIONS.run(&mut db).await.unwrap();
    let kim = user("kim");
    for item in ["morning-light", "daily-walk"] {
        HabitRepository::new(&mut db, &kim, TODAY).added(item).await;
    }
    let add = async |item: &'static str| {
        let mut db = SqliteConnection::connect_with(&options).await.unwrap();
        HabitRepository::new(&mut db, &kim, TODAY).add(wanted(item)).await
    };
    let ends =
        tokio::join!(add("wind-down"), add("dark-room"), add("short-nap"), add("stair-climb"));
    let ends = [ends.0, ends.1, ends.2, ends.3];
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1, "{ends:?}");
    for end in ends.into_iter().filter(Result::is_err) {
        assert_eq!(code(end), "r3_quota");
    }
    assert_eq!(HabitRepository::new(&mut db, &kim, TODAY).active().await.unwrap().len(), 3);
}

#[tokio::test]
async fn the_table_tells_its_refusal_as_the_rule() {
    let mut db = database().await;
    let kim = user("kim");
    let mut habits = HabitRepository::new(&mut db, &kim, TODAY);
    for item in ["morning-light", "daily-walk", "mediterranean"] {
        habits.added(item).await;
    }
    let behind_the_rules = |origin: Origin, frame_level| Habit {
        id: HabitId(0),
        origin,
        frame_level,
        framed_text: "x".to_owned(),
        anchor: Anchor::default(),
        dose_text: None,
        started_on: TODAY,
    };
    let origin = || Origin::Protocol("wind-down".to_owned());
    assert_eq!(code(habits.insert(behind_the_rules(origin(), FrameLevel::L2)).await), "r3_quota");
    let origin = Origin::BreakProtocol("late-coffee".to_owned());
    assert_eq!(code(habits.insert(behind_the_rules(origin, FrameLevel::L1)).await), "r3_frame");
}
