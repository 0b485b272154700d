//! Tests that files follow their pages: a new name moves them, a deleted page removes only its own.

use super::*;
use crate::notes::rules::NotesViolation;

fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[tokio::test]
async fn a_page_that_is_renamed_moves_its_file_and_those_in_its_folder() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("old", None, &[(0, "a")]).await;
    fixture.page("inner", Some(&top.page.id.to_string()), &[(0, "b")]).await;
    fixture.sync().await;
    fixture.rename(&top, "new").await;
    let report = fixture.sync().await;
    assert_eq!(report.moved, names(&["new.md", "new/inner.md"]));
    assert_eq!((report.written, report.kept_beside), (vec![], vec![]));
    assert_eq!(fixture.files(), files(&[("new.md", "- a\n"), ("new/inner.md", "- b\n")]));
    assert!(!fixture.at("old").exists(), "an empty folder goes too");
    assert_eq!(fixture.sync().await, MirrorReport::default());
}

#[tokio::test]
async fn pages_that_change_names_with_one_another_keep_their_own_lines() {
    let fixture = MirrorFixture::new().await;
    let one = fixture.page("one", None, &[(0, "1")]).await;
    let other = fixture.page("other", None, &[(0, "2")]).await;
    fixture.sync().await;
    for (page, title) in [(&one, "between"), (&other, "one"), (&one, "other")] {
        fixture.rename(page, title).await;
    }
    let report = fixture.sync().await;
    assert_eq!(report.moved, names(&["other.md", "one.md"]));
    assert_eq!(report.kept_beside, names(&[]));
    assert_eq!(fixture.files(), files(&[("one.md", "- 2\n"), ("other.md", "- 1\n")]));
}

#[tokio::test]
async fn hostile_names_stay_inside_of_the_workspace_and_case_alone_is_a_name() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.sync().await;
    let long = "가".repeat(200);
    for title in
        ["P", "../", "../../x", "/etc/passwd", "..", "CON", &long, ".madang-workspace", "p"]
    {
        fixture.rename(&page, title).await;
        let report = fixture.sync().await;
        assert_eq!((report.moved.len(), report.failed), (1, vec![]), "{title}");
        let texts: Vec<_> = fixture.files().into_values().collect();
        assert_eq!(texts, ["- a\n"], "{title}");
    }
    let around: Vec<_> = fs::read_dir(fixture.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(around, ["work"]);
    for title in ["a\nb", "a\0b", "a\u{2028}b", "\u{9b}x", " "] {
        let mut writing = fixture.write().await;
        let refused =
            writing.notes(&fixture.user).rename_page(&page.page.id.to_string(), title).await;
        let Err(NotesError::Rule(rule)) = refused else { panic!("{title:?}: {refused:?}") };
        assert!(
            matches!(rule, NotesViolation::ControlInTitle | NotesViolation::BlankTitle),
            "{title:?}"
        );
    }
}

#[tokio::test]
async fn an_edit_of_a_file_goes_along_with_it_and_becomes_the_page() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("old", None, &[(0, "a")]).await;
    fixture.sync().await;
    fs::write(fixture.at("old.md"), "- by hand\n").unwrap();
    fixture.rename(&page, "new").await;
    assert_eq!(fixture.sync().await.imported, names(&["new.md"]));
    assert_eq!(fixture.files(), files(&[("new.md", "- by hand\n")]));
    assert_eq!(fixture.lines(&page).await, ["by hand"]);
}

#[tokio::test]
async fn what_stands_at_the_new_place_is_not_written_over() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("old", None, &[(0, "a")]).await;
    fixture.sync().await;
    fs::write(fixture.at("new.md"), "a person's").unwrap();
    fixture.rename(&page, "new").await;
    assert_eq!(fixture.sync().await.kept_beside, names(&["new (conflict).md"]));
    let expected = files(&[("new (conflict).md", "a person's"), ("new.md", "- a\n")]);
    assert_eq!(fixture.files(), expected);
    symlink("nothing", fixture.at("link.md")).unwrap();
    fixture.rename(&page, "link").await;
    assert_eq!(fixture.sync().await.blocked, names(&["link.md"]));
    assert!(fixture.at("link.md").is_symlink());
    fs::remove_file(fixture.at("link.md")).unwrap();
    assert_eq!(fixture.sync().await.moved, names(&["link.md"]), "once nothing is in the way");
}

#[tokio::test]
async fn a_page_that_goes_takes_its_file_away_and_no_file_that_the_mirror_did_not_write() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("top", None, &[]).await.page.id.to_string();
    let page = fixture.page("p", Some(&top), &[(0, "a")]).await;
    let edited = fixture.page("edited", None, &[(0, "a")]).await;
    let link = fixture.page("link", None, &[(0, "a")]).await;
    fixture.sync().await;
    // Written by the mirror once, and changed by a person since.
    fs::write(fixture.at("edited.md"), "a person's").unwrap();
    fs::remove_file(fixture.at("link.md")).unwrap();
    symlink("edited.md", fixture.at("link.md")).unwrap();
    // The same bytes as the mirror's, in another file.
    fs::write(fixture.at("copy.md"), "- a\n").unwrap();
    for page in [&page, &edited, &link] {
        fixture.delete(page).await;
    }
    let report = fixture.sync().await;
    assert_eq!(report.removed, names(&["top/p.md"]));
    assert_eq!(report.left, names(&["edited.md", "link.md"]));
    assert!(!fixture.at("top").exists(), "an empty folder goes too");
    assert!(fixture.at("link.md").is_symlink());
    let kept: Vec<_> = fixture.files().into_keys().collect();
    assert_eq!(kept, ["copy.md", "edited.md", "link.md", "top.md"]);
    assert_eq!(fixture.read("edited.md"), "a person's");
    assert_eq!(fixture.sync().await, MirrorReport::default());
}

#[tokio::test]
async fn a_file_that_was_there_before_any_page_survives_page_and_name() {
    for is_deleted in [true, false] {
        let fixture = MirrorFixture::new().await;
        fs::create_dir_all(fixture.at("")).unwrap();
        fs::write(fixture.at("p.md"), "a person's").unwrap();
        let page = fixture.page("p", None, &[(0, "a")]).await;
        // The intended write is marked, and then the process ends.
        fixture.pass(fails_at("keep beside")).await.unwrap();
        if is_deleted {
            fixture.delete(&page).await;
        } else {
            fixture.rename(&page, "q").await;
        }
        fixture.sync().await;
        assert_eq!(fixture.read("p.md"), "a person's", "deleted: {is_deleted}");
    }
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_taken_away_comes_back() {
    for step in ["aside", "look"] {
        let fixture = MirrorFixture::new().await;
        let page = fixture.page("p", None, &[(0, "a")]).await;
        fixture.sync().await;
        fixture.delete(&page).await;
        let path = fixture.at("p.md");
        let steps = Steps::asking(
            move |at| {
                if at == step { fs::write(&path, "a person's") } else { Ok(()) }
            },
        );
        fixture.pass(steps).await.unwrap();
        assert!(fixture.files().values().any(|text| text == "a person's"), "{step}");
    }
}

#[tokio::test]
async fn a_new_page_of_the_old_name_is_not_mistaken_for_the_one_that_is_gone() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    let other = fixture.page("q", None, &[(0, "b")]).await;
    fixture.sync().await;
    fixture.delete(&page).await;
    fixture.rename(&other, "p").await;
    fixture.page("q", None, &[(0, "c")]).await;
    let report = fixture.sync().await;
    assert_eq!((report.kept_beside, report.left), (vec![], vec![]));
    assert_eq!(fixture.files(), files(&[("p.md", "- b\n"), ("q.md", "- c\n")]));
}

#[tokio::test]
async fn wherever_the_process_ends_files_follow_their_pages_at_the_next_start() {
    for number in 0.. {
        let fixture = MirrorFixture::new().await;
        let top = fixture.page("top", None, &[(0, "top")]).await;
        fixture.page("inner", Some(&top.page.id.to_string()), &[(0, "inner")]).await;
        let other = fixture.page("other", None, &[(0, "other")]).await;
        let going = fixture.page("going", None, &[(0, "going")]).await;
        let edited = fixture.page("edited", None, &[(0, "old")]).await;
        fixture.sync().await;
        fixture.rename(&top, "between").await;
        fixture.rename(&other, "top").await;
        fixture.rename(&top, "other").await;
        fixture.delete(&going).await;
        fs::write(fixture.at("edited.md"), "- by hand\n").unwrap();
        fixture.rename(&edited, "going").await;
        let (steps, count) = super::ends::ends_at(number);
        let _ = fixture.pass(steps).await;
        // A page that may be on its way is deleted before the next pass.
        let is_gone = number % 2 == 0;
        if is_gone {
            fixture.delete(&other).await;
        }
        let report = fixture.sync().await;
        let mut expected = files(&[
            ("going.md", "- by hand\n"),
            ("other.md", "- top\n"),
            ("other/inner.md", "- inner\n"),
            ("top.md", "- other\n"),
        ]);
        if is_gone {
            expected.remove("top.md");
        }
        assert_eq!(fixture.files(), expected, "ended at step {number}: {report:?}");
        assert_eq!(fixture.lines(&edited).await, ["by hand"], "ended at step {number}");
        assert_eq!(fixture.sync().await, MirrorReport::default(), "ended at step {number}");
        if count.load(SeqCst) <= number {
            assert!(number > 30, "there are that many steps: {number}");
            break;
        }
    }
}

#[tokio::test]
async fn a_page_that_goes_between_look_and_write_leaves_no_file() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    let pass = fixture.open(Steps::default()).await;
    let entries = pass.marks.read(marks::Which::All, &mut 0).await.unwrap().unwrap();
    fixture.delete(&page).await;
    pass.some(entries, &mut Default::default()).await.unwrap();
    assert_eq!(fixture.files(), files(&[]));
}

#[tokio::test]
async fn a_place_in_the_tables_that_leads_out_is_refused() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.sync().await;
    let outside = fixture.folder.path().join("outside.md");
    fs::write(&outside, "- a\n").unwrap();
    let mut writing = fixture.write().await;
    sqlx::query("UPDATE notes_files SET place = '../outside.md'")
        .execute(lent(writing.0.connection()).unwrap())
        .await
        .unwrap();
    writing.keep().await;
    fixture.delete(&page).await;
    let refused = fixture.pass(Steps::default()).await;
    assert!(matches!(refused, Err(MirrorError::Notes(NotesError::Corrupt { .. }))), "{refused:?}");
    assert!(outside.exists());
}

#[tokio::test]
async fn a_workspace_is_cleared_of_what_the_mirror_wrote_and_of_nothing_else() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("top", None, &[(0, "a")]).await;
    fixture.page("inner", Some(&top.page.id.to_string()), &[(0, "b")]).await;
    fixture.page("edited", None, &[(0, "c")]).await;
    let gone = fixture.page("gone", None, &[(0, "d")]).await;
    fixture.sync().await;
    fs::write(fixture.at("edited.md"), "a person's").unwrap();
    fs::write(fixture.at("other.txt"), "a person's").unwrap();
    fixture.rename(&top, "renamed").await;
    fixture.delete(&gone).await;
    let report = clear(&fixture.store, fixture.user.clone(), &fixture.at("")).await.unwrap();
    assert_eq!(report.removed, names(&["gone.md", "top.md", "top/inner.md"]));
    assert_eq!(report.left, names(&["edited.md"]));
    let kept: Vec<_> =
        fs::read_dir(fixture.at("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(fixture.files().len(), 2);
}

#[tokio::test]
async fn a_forgotten_user_leaves_not_even_the_place_of_a_deleted_page() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("secret", None, &[(0, "a")]).await;
    fixture.page("other", None, &[(0, "b")]).await;
    fixture.sync().await;
    fixture.delete(&page).await;
    let mut writing = fixture.write().await;
    for statement in crate::notes::FORGET {
        let db = lent(writing.0.connection()).unwrap();
        sqlx::query(statement).bind(fixture.user.as_str()).execute(db).await.unwrap();
    }
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM notes_files_left")
        .fetch_one(lent(writing.0.connection()).unwrap())
        .await
        .unwrap();
    assert_eq!(left, 0);
    writing.keep().await;
}
