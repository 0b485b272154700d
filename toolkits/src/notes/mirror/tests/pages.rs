//! Tests that each page has its file, with any title and in any place.

use super::*;
use crate::notes::fold::fold;

#[tokio::test]
async fn each_page_is_a_file_in_folders_that_follow_the_tree() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("프로젝트", None, &[(0, "a"), (1, "b")]).await.page.id.to_string();
    fixture.page("마당", Some(&top), &[(0, "c")]).await;
    fixture.page("빈 페이지", None, &[]).await;
    let report = fixture.repair().await;
    assert_eq!(report.written, names(&["프로젝트.md", "프로젝트/마당.md", "빈 페이지.md"]));
    let expected =
        [("빈 페이지.md", ""), ("프로젝트.md", "- a\n  - b\n"), ("프로젝트/마당.md", "- c\n")];
    assert_eq!(fixture.files(), files(&expected));
    assert_eq!(fixture.repair().await, MirrorReport::default(), "nothing is left to do");
}

#[tokio::test]
async fn changed_pages_are_found_by_their_index() {
    let fixture = MirrorFixture::new().await;
    let mut reader = fixture.store.reader().await.unwrap();
    let plan: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", records::READ_CHANGED)))
            .bind("kim")
            .bind(0)
            .bind(64)
            .fetch_all(lent(reader.connection()).unwrap())
            .await
            .unwrap();
    let [(.., changed), (.., page)] = &plan[..] else { panic!("{plan:?}") };
    assert!(changed.contains("USING INDEX notes_files_to_write (page>?)"), "{plan:?}");
    assert!(page.starts_with("SEARCH page"), "{plan:?}");
}

#[tokio::test]
async fn every_title_has_a_file_inside_of_the_workspace() {
    let fixture = MirrorFixture::new().await;
    let long = "가".repeat(85);
    let titles = [
        "CON",
        "..",
        "a/b",
        "../../x",
        "/etc/passwd",
        "🎭",
        &long,
        "trail. .",
        "Plan",
        "plan",
        "PLAN",
        "\u{202e}x",
        ".madang-workspace",
        "caf\u{e9}",
        "cafe\u{301}",
        "a.md",
        "a",
        "C:\\x",
        "*?\"<>|",
    ];
    for title in titles {
        let made = fixture.page(title, None, &[(0, title)]).await.page.id.to_string();
        fixture.page("inner", Some(&made), &[(0, "x")]).await;
    }
    fixture.repair().await;
    let files = fixture.files();
    assert_eq!(files.len(), 2 * titles.len(), "{files:#?}");
    let folded: std::collections::BTreeSet<_> = files.keys().map(|name| fold(name)).collect();
    assert_eq!(folded.len(), files.len(), "unlike one another whatever their case");
    let around: Vec<_> = fs::read_dir(fixture.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(around, ["work"]);
}

#[tokio::test]
async fn a_hundred_levels_of_pages_are_a_hundred_folders() {
    let fixture = MirrorFixture::new().await;
    let title = "가".repeat(60);
    let mut above = fixture.page(&title, None, &[]).await.page.id.to_string();
    for _ in 1..100 {
        above = fixture.page(&title, Some(&above), &[]).await.page.id.to_string();
    }
    let report = fixture.repair().await;
    assert_eq!((report.written.len(), report.failed), (100, vec![]));
    assert_eq!(
        fixture.repair().await,
        MirrorReport::default(),
        "a path of 18,000 bytes is found again"
    );
}

#[tokio::test]
async fn ten_thousand_lines_are_written_and_known_again() {
    let fixture = MirrorFixture::new().await;
    let lines: Vec<String> = (0..10_000).map(|number| format!("line {number}")).collect();
    let blocks: Vec<_> = (0..).map(|number| number % 3).zip(lines.iter().map(|l| &**l)).collect();
    fixture.page("p", None, &blocks).await;
    assert_eq!(fixture.repair().await.written, names(&["p.md"]));
    let text: String = blocks
        .iter()
        .map(|(indent, line)| format!("{}- {line}\n", "  ".repeat(*indent as usize)))
        .collect();
    assert_eq!(fixture.read("p.md"), text);
    assert_eq!(fixture.repair().await, MirrorReport::default());
}

#[test]
fn users_whose_names_look_alike_have_workspaces_of_their_own() {
    let of =
        |name: &str| workspace_beside(Path::new("/data/madang.db"), &UserId::new(name).unwrap());
    assert_eq!(of("kim"), Path::new("/data/madang.notes/kim"));
    assert_ne!(of("a/b"), of("a_b"));
    assert_ne!(of("a/b"), of("a:b"));
    let folded = |name| fold(of(name).to_str().unwrap());
    assert_ne!(folded("Kim"), folded("kim"), "on a disk without regard to case");
    assert_ne!(folded("Kim"), folded("KIM"));
    assert!(of("../x").starts_with("/data/madang.notes"));
    let taken = of("a/b").file_name().unwrap().to_str().unwrap().to_owned();
    assert_ne!(of("a/b"), of(&taken), "a user with the name of another's folder");
}
