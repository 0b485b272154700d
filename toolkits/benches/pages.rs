//! Measures notes with 100,000 blocks in a file: searching, inserting, reading a page of 1,000
//! blocks, creating one of 200, mirroring.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

use std::{path::Path, time::Duration};

use madang::{
    Call, Runtime, UserId,
    store::{SqliteStore, Store},
};
use madang_testing::ScriptedModel;
use madang_toolkits::notes::{self, NotesRepository, block::NewBlock, repository::MadePage};
use serde_json::json;
use sqlx::SqliteConnection;
use tokio::time::Instant;

const BLOCKS_A_PAGE: usize = 1_000;

/// Syllables of the texts' words: some hundred different words, each in many blocks.
const SYLLABLES: [&str; 24] = [
    "가", "나", "다", "마", "바", "사", "아", "자", "하", "이", "기", "리", "시", "지", "고", "노",
    "도", "로", "오", "우", "은", "을", "에", "서",
];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `cargo test` runs benches only to see that they work: little is enough.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let (pages, rounds) = if is_test { (2, 3) } else { (100, 200) };
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("notes.db"))
        .migrations("notes", &notes::MIGRATIONS)
        .await
        .unwrap();
    let kim = UserId::new("kim").unwrap();
    let begun = Instant::now();
    let made = fill(&store, &kim, pages).await;
    println!("{} blocks on {pages} pages made in {:.1?}", pages * BLOCKS_A_PAGE, begun.elapsed());
    println!("{:<44} {:>10} {:>10} {:>10}", "", "median", "95th", "most");
    search(&store, &kim, rounds).await;
    read(&store, &kim, &made, rounds).await;
    insert(&store, &kim, &made, rounds).await;
    let page = made.page.id.to_string();
    let block = made.blocks[BLOCKS_A_PAGE / 2].id.to_string();
    dispatch(&store, (&page, &block), rounds).await;
    #[cfg(unix)]
    mirror(&store, &kim, &folder.path().join("work")).await;
    store.close().await;
}

/// Fills the store and returns the last page.
async fn fill(store: &SqliteStore, user: &UserId, pages: usize) -> MadePage {
    let mut dice = 1_u64;
    let mut last = None;
    for page in 0..pages {
        let blocks = (0..BLOCKS_A_PAGE).map(|number| NewBlock {
            content: sentence(&mut dice, page * BLOCKS_A_PAGE + number),
            indent: u32::try_from(number % 4).unwrap(),
        });
        let mut transaction = store.begin().await.unwrap();
        let db = transaction.connection().downcast_mut::<SqliteConnection>().unwrap();
        let made = NotesRepository::new(db, user)
            .create_page_with_blocks(&format!("페이지 {page}"), None, blocks.collect())
            .await;
        transaction.commit().await.unwrap();
        last = Some(made.unwrap());
    }
    last.unwrap()
}

/// Makes six words of two to four syllables and a unique number, always the same for the same dice.
fn sentence(dice: &mut u64, number: usize) -> String {
    let mut next = |below: usize| {
        *dice =
            dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*dice >> 33).unwrap() % below
    };
    let mut text = String::new();
    for _ in 0..6 {
        for _ in 0..2 + next(3) {
            text.push_str(SYLLABLES[next(SYLLABLES.len())]);
        }
        text.push(' ');
    }
    format!("{text}No{number}")
}

async fn search(store: &SqliteStore, user: &UserId, rounds: usize) {
    for (what, query) in [
        ("query_blocks, one common syllable (가)", "가"),
        ("query_blocks, two syllables (가나)", "가나"),
        ("query_blocks, four syllables (가나다마)", "가나다마"),
        ("query_blocks, three words (가나 다 no1)", "가나 다 no1"),
        ("query_blocks, one hit (no77)", "no77"),
        ("query_blocks, none (힣)", "힣"),
    ] {
        let mut times = Vec::with_capacity(rounds);
        let mut total = 0;
        for _ in 0..rounds {
            let mut reader = store.reader().await.unwrap();
            let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
            let begun = Instant::now();
            let found =
                NotesRepository::new(db, user).query_blocks(query, None, 0, 20).await.unwrap();
            times.push(begun.elapsed());
            total = found.total;
        }
        print(&format!("{what}, {total} hits"), times);
    }
}

async fn read(store: &SqliteStore, user: &UserId, made: &MadePage, rounds: usize) {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let mut reader = store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        let begun = Instant::now();
        let lines =
            NotesRepository::new(db, user).lines(&made.page, 0, BLOCKS_A_PAGE).await.unwrap();
        times.push(begun.elapsed());
        assert_eq!(lines.items.len(), BLOCKS_A_PAGE);
    }
    print("get_page_blocks, 1,000 blocks", times);
}

async fn insert(store: &SqliteStore, user: &UserId, made: &MadePage, rounds: usize) {
    let mut inside = Vec::with_capacity(rounds);
    let mut commits = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let above = made.blocks[(round * 7) % BLOCKS_A_PAGE].id.to_string();
        let mut transaction = store.begin().await.unwrap();
        let db = transaction.connection().downcast_mut::<SqliteConnection>().unwrap();
        let begun = Instant::now();
        NotesRepository::new(db, user).insert_below(&above, "새로 넣은 줄").await.unwrap();
        inside.push(begun.elapsed());
        let begun = Instant::now();
        transaction.commit().await.unwrap();
        commits.push(begun.elapsed());
    }
    print("insert_block_below, within the transaction", inside);
    print("one commit (SQLite at FULL)", commits);
}

async fn dispatch(store: &SqliteStore, (page, block): (&str, &str), rounds: usize) {
    let runtime = Runtime::builder()
        .model(ScriptedModel::new([]))
        .store(store.clone())
        .tools(notes::tools())
        .start()
        .await
        .unwrap();
    let mut dice = 7;
    let blocks: Vec<_> =
        (0..200).map(|number| json!({ "content": sentence(&mut dice, number) })).collect();
    let many = json!({ "title": "200", "blocks": blocks });
    for (name, arguments, rounds) in [
        ("create_page_with_blocks", many, rounds.min(20)),
        ("insert_block_below", json!({ "blockId": block, "content": "새로 넣은 줄" }), rounds),
        ("get_page_blocks", json!({ "pageId": page }), rounds),
        ("query_blocks", json!({ "query": "가나" }), rounds),
    ] {
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let call = Call::new(UserId::new("kim").unwrap(), name, arguments.to_string());
            let begun = Instant::now();
            let report = runtime.begin(call).await.unwrap().ended().await;
            times.push(begun.elapsed());
            assert!(
                report.outcome().is_some_and(madang::tool::ToolOutcome::is_ok),
                "{}",
                report.envelope
            );
        }
        print(&format!("{name}, the whole dispatch"), times);
    }
}

#[cfg(unix)]
async fn mirror(store: &SqliteStore, user: &UserId, workspace: &Path) {
    // The runtime of the dispatches still runs: the mirror writes beside it.
    for what in ["mirror, all files written", "mirror, all files compared"] {
        let begun = Instant::now();
        let report = notes::mirror::repair(store, user.clone(), workspace).await.unwrap();
        println!("{what}: {} written in {:.1?}", report.written.len(), begun.elapsed());
    }
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    let median = at(0.5);
    let most_of = at(0.95);
    let most = at(1.0);
    println!("{what:<44} {median:>10.2?} {most_of:>10.2?} {most:>10.2?}");
}
