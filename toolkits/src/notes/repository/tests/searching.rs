//! Tests the results of searches.
use std::collections::BTreeSet;

use super::*;

const LINES: [&str; 8] = [
    "마당극을 보러 간다",
    "오늘은 마당에서 놀았다",
    "큰 마 당",
    "운동 30분",
    "Read the PLAN again",
    "🎭 공연",
    "ABC회사 면접",
    "café au lait",
];

async fn check(queries: &[(&str, &[&str])]) {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let wanted = LINES.map(|line| block(0, line)).to_vec();
    notes.create_page_with_blocks("p", None, wanted).await.unwrap();
    for (query, expected) in queries {
        let found = notes.query_blocks(query, None, 0, 10).await.unwrap();
        let contents: Vec<_> = found.items.iter().map(|hit| hit.content.as_str()).collect();
        assert_eq!(contents, *expected, "{query}");
    }
}

#[tokio::test]
async fn one_and_two_syllables_of_korean_are_found_within_words() {
    check(&[
        ("운", &["운동 30분"]),
        ("극", &["마당극을 보러 간다"]),
        ("마당", &["마당극을 보러 간다", "오늘은 마당에서 놀았다"]),
        ("당극", &["마당극을 보러 간다"]),
        ("마당극을", &["마당극을 보러 간다"]),
        ("마당 오늘", &["오늘은 마당에서 놀았다"]),
        ("마극", &[]),
        ("회사", &["ABC회사 면접"]),
        ("\u{110b}\u{116e}\u{11ab}\u{1103}\u{1169}\u{11bc}", &["운동 30분"]),
    ])
    .await;
}

#[tokio::test]
async fn words_of_other_scripts_are_found_by_their_beginnings() {
    check(&[
        ("plan", &["Read the PLAN again"]),
        ("rea pl", &["Read the PLAN again"]),
        ("lan", &[]),
        ("abc", &["ABC회사 면접"]),
        ("CAFE\u{301}", &["café au lait"]),
        ("30", &["운동 30분"]),
        ("🎭", &["🎭 공연"]),
    ])
    .await;
}

#[tokio::test]
async fn a_query_is_words_and_nothing_else() {
    check(&[
        ("\"", &[]),
        ("NOT plan*", &[]),
        ("one:plan", &[]),
        ("plan\"", &["Read the PLAN again"]),
        ("- [ ]", &[]),
    ])
    .await;
}

#[tokio::test]
async fn what_was_changed_or_deleted_is_found_as_it_is_now() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let made =
        notes.create_page_with_blocks("p", None, vec![block(0, "사과"), block(0, "사과")]).await;
    let made = made.unwrap();
    notes.update_block(&made.blocks[0].id.to_string(), "포도").await.unwrap();
    notes.delete_block(&made.blocks[1].id.to_string()).await.unwrap();
    assert_eq!(notes.query_blocks("사과", None, 0, 10).await.unwrap().total, 0);
    assert_eq!(notes.query_blocks("포도", None, 0, 10).await.unwrap().total, 1);
}

#[tokio::test]
async fn a_search_may_be_of_one_page_and_is_read_in_parts() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let wanted = || (0..5).map(|number| block(0, &format!("할 일 {number}"))).collect();
    let here =
        notes.create_page_with_blocks("여기", None, wanted()).await.unwrap().page.id.to_string();
    notes.create_page_with_blocks("저기", None, wanted()).await.unwrap();
    assert_eq!(notes.query_blocks("할 일", None, 0, 3).await.unwrap().total, 10);
    let part = notes.query_blocks("할 일", Some(&here), 3, 10).await.unwrap();
    assert_eq!((part.items.len(), part.total), (2, 5));
    assert!(part.items.iter().all(|hit| hit.page_title == "여기"));
    assert_eq!(notes.query_blocks("할 일", None, 1_000, 10).await.unwrap().items, []);
}

#[tokio::test]
async fn the_very_title_is_found_behind_any_number_of_newer_ones_and_all_are_counted() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let first = notes.create_page("Plan", None).await.unwrap();
    for number in 0..=MAX_HITS {
        notes.create_page(&format!("Plan {number}"), None).await.unwrap();
    }
    let found = notes.query_pages("plan", 0, 2).await.unwrap();
    assert_eq!((found.items[0].id, found.items.len(), found.total), (first.id, 2, 502));
    // The parts give each page once, also those beyond the compared ones.
    let mut ids = BTreeSet::new();
    for number in MAX_HITS + 1..MAX_HITS + 120 {
        notes.create_page(&format!("Plan {number}"), None).await.unwrap();
    }
    for offset in (0..).step_by(50) {
        let part = notes.query_pages("plan", offset, 50).await.unwrap();
        assert_eq!(part.total, 621);
        let fresh = part.items.iter().filter(|page| ids.insert(page.id)).count();
        assert_eq!(fresh, part.items.len(), "behind {offset}");
        assert_eq!(fresh, 50.min(621_usize.saturating_sub(offset)));
        if part.items.is_empty() {
            break;
        }
    }
    assert_eq!(ids.len(), 621);
}

#[tokio::test]
async fn titles_are_found_the_best_first() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    for title in ["우리 마당", "마당 계획", "마당", "Plan B"] {
        notes.create_page(title, None).await.unwrap();
    }
    let found = notes.query_pages("마당", 0, 2).await.unwrap();
    let titles: Vec<_> = found.items.iter().map(|page| page.title.as_str()).collect();
    assert_eq!((titles, found.total), (vec!["마당", "마당 계획"], 3));
    assert_eq!(notes.page_titled("PLAN b").await.unwrap().title, "Plan B");
}
