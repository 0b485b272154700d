//! Tests that files follow their pages: a new name moves them, a deleted page removes only its own.

use uuid::Uuid;

use super::*;
use crate::notes::rules::NotesViolation;

#[tokio::test]
async fn a_page_that_is_renamed_has_its_file_and_those_inside_under_the_new_name() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("old", None, &[(0, "a")]).await;
    fixture.page("inner", Some(&top.page.id.to_string()), &[(0, "b")]).await;
    fixture.repair().await;
    fixture.rename(&top, "new").await;
    let report = fixture.repair().await;
    assert_eq!(report.removed, names(&["old.md", "old/inner.md"]));
    assert_eq!(report.written, names(&["new.md", "new/inner.md"]));
    assert_eq!((report.left, report.kept_beside), (vec![], vec![]));
    assert_eq!(fixture.files(), files(&[("new.md", "- a\n"), ("new/inner.md", "- b\n")]));
    assert!(!fixture.at("old").exists(), "an empty folder goes too");
    assert_eq!(fixture.repair().await, MirrorReport::default());
}

#[tokio::test]
async fn pages_that_change_names_with_one_another_keep_their_own_lines() {
    let fixture = MirrorFixture::new().await;
    let one = fixture.page("one", None, &[(0, "1")]).await;
    let other = fixture.page("other", None, &[(0, "2")]).await;
    fixture.repair().await;
    for (page, title) in [(&one, "between"), (&other, "one"), (&one, "other")] {
        fixture.rename(page, title).await;
    }
    let report = fixture.repair().await;
    assert_eq!(report.written, names(&["other.md", "one.md"]));
    assert_eq!((report.left, report.kept_beside), (vec![], vec![]));
    assert_eq!(fixture.files(), files(&[("one.md", "- 2\n"), ("other.md", "- 1\n")]));
}

#[tokio::test]
async fn hostile_names_stay_inside_of_the_workspace_and_case_alone_is_a_name() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    let long = "가".repeat(200);
    for title in
        ["P", "../", "../../x", "/etc/passwd", "..", "CON", &long, ".madang-workspace", "p"]
    {
        fixture.rename(&page, title).await;
        let report = fixture.repair().await;
        assert_eq!((report.written.len(), report.failed), (1, vec![]), "{title}");
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
async fn an_edited_file_stays_where_it_is_when_its_page_is_renamed() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("old", None, &[(0, "a")]).await;
    fixture.repair().await;
    fs::write(fixture.at("old.md"), "- by hand\n").unwrap();
    fixture.rename(&page, "new").await;
    assert_eq!(fixture.repair().await.left, names(&["old.md"]));
    assert_eq!(fixture.files(), files(&[("new.md", "- a\n"), ("old.md", "- by hand\n")]));
    assert_eq!(fixture.lines(&page).await, ["a"]);
    assert_eq!(fixture.repair().await, MirrorReport::default(), "it is said once");
}

#[tokio::test]
async fn what_stands_at_the_new_place_is_not_written_over() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("old", None, &[(0, "a")]).await;
    fixture.repair().await;
    fs::write(fixture.at("new.md"), "a person's").unwrap();
    fixture.rename(&page, "new").await;
    assert_eq!(fixture.repair().await.kept_beside, names(&["new (conflict).md"]));
    let expected = files(&[("new (conflict).md", "a person's"), ("new.md", "- a\n")]);
    assert_eq!(fixture.files(), expected);
    symlink("nothing", fixture.at("link.md")).unwrap();
    fixture.rename(&page, "link").await;
    assert_eq!(fixture.repair().await.blocked, names(&["link.md"]));
    assert!(fixture.at("link.md").is_symlink());
    fs::remove_file(fixture.at("link.md")).unwrap();
    assert_eq!(fixture.repair().await.written, names(&["link.md"]), "once nothing is in the way");
}

#[tokio::test]
async fn a_page_that_goes_takes_its_file_away_and_no_file_that_the_mirror_did_not_write() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("top", None, &[]).await.page.id.to_string();
    let page = fixture.page("p", Some(&top), &[(0, "a")]).await;
    let edited = fixture.page("edited", None, &[(0, "a")]).await;
    let link = fixture.page("link", None, &[(0, "a")]).await;
    fixture.repair().await;
    // Written by the mirror once, and changed by a person since.
    fs::write(fixture.at("edited.md"), "a person's").unwrap();
    fs::remove_file(fixture.at("link.md")).unwrap();
    symlink("edited.md", fixture.at("link.md")).unwrap();
    // The same bytes as the mirror's, in another file.
    fs::write(fixture.at("copy.md"), "- a\n").unwrap();
    for page in [&page, &edited, &link] {
        fixture.delete(page).await;
    }
    let report = fixture.repair().await;
    assert_eq!(report.removed, names(&["top/p.md"]));
    assert_eq!(report.left, names(&["edited.md", "link.md"]));
    assert!(!fixture.at("top").exists(), "an empty folder goes too");
    assert!(fixture.at("link.md").is_symlink());
    let kept: Vec<_> = fixture.files().into_keys().collect();
    assert_eq!(kept, ["copy.md", "edited.md", "link.md", "top.md"]);
    assert_eq!(fixture.read("edited.md"), "a person's");
    assert_eq!(fixture.repair().await, MirrorReport::default());
}

#[tokio::test]
async fn a_file_that_was_there_before_any_page_survives_page_and_name() {
    for is_deleted in [true, false] {
        let fixture = MirrorFixture::new().await;
        fs::create_dir_all(fixture.at("")).unwrap();
        fs::write(fixture.at("p.md"), "a person's").unwrap();
        let page = fixture.page("p", None, &[(0, "a")]).await;
        // The intended write is recorded, and then the process ends.
        fixture.run(fails_at("keep beside")).await.unwrap();
        if is_deleted {
            fixture.delete(&page).await;
        } else {
            fixture.rename(&page, "q").await;
        }
        fixture.repair().await;
        assert_eq!(fixture.read("p.md"), "a person's", "deleted: {is_deleted}");
    }
}

#[tokio::test]
async fn a_file_that_changes_before_it_is_removed_stays() {
    for step in ["look", "set aside"] {
        let fixture = MirrorFixture::new().await;
        let page = fixture.page("p", None, &[(0, "a")]).await;
        fixture.repair().await;
        fixture.delete(&page).await;
        let path = fixture.at("p.md");
        let steps = Steps::asking(
            move |at| {
                if at == step { fs::write(&path, "a person's") } else { Ok(()) }
            },
        );
        assert_eq!(fixture.run(steps).await.unwrap().left, names(&["p.md"]), "{step}");
        assert_eq!(fixture.files(), files(&[("p.md", "a person's")]), "{step}");
    }
}

#[tokio::test]
async fn an_edit_that_was_set_aside_when_the_process_ended_gets_its_name_back() {
    for is_taken in [false, true] {
        let fixture = MirrorFixture::new().await;
        let page = fixture.page("p", None, &[(0, "a")]).await;
        fixture.repair().await;
        fixture.delete(&page).await;
        let path = fixture.at("p.md");
        let steps = Steps::asking(move |at| match at {
            "set aside" => fs::write(&path, "a person's"),
            "look again" => Err(io::Error::other("ended")),
            _ => Ok(()),
        });
        fixture.run(steps).await.unwrap();
        assert!(!fixture.at("p.md").exists(), "it is set aside");
        let mut expected = files(&[("p.md", "a person's")]);
        if is_taken {
            fs::write(fixture.at("p.md"), "newer").unwrap();
            expected = files(&[("p (conflict).md", "a person's"), ("p.md", "newer")]);
        }
        let report = fixture.repair().await;
        assert_eq!(report.left, names(&["p.md"]), "taken: {is_taken}");
        let beside: &[&str] = if is_taken { &["p (conflict).md"] } else { &[] };
        assert_eq!(report.kept_beside, names(beside));
        assert_eq!(fixture.files(), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_was_set_aside_is_not_hidden_by_a_new_page_at_its_place() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    fixture.delete(&page).await;
    let path = fixture.at("p.md");
    let store = fixture.store.clone();
    let user = fixture.user.clone();
    let steps = Steps::asking(move |at| match at {
        "set aside" => fs::write(&path, "a person's"),
        // The same pass writes a page that a user makes in this moment.
        "look again" => {
            let making = async {
                let mut writing = Writing(store.begin().await.unwrap());
                let blocks = vec![NewBlock { content: "b".to_owned(), indent: 0 }];
                let made = writing.notes(&user).create_page_with_blocks("p", None, blocks).await;
                made.unwrap();
                writing.keep().await;
            };
            tokio::runtime::Handle::current().block_on(making);
            Err(io::Error::other("ended"))
        }
        _ => Ok(()),
    });
    let report = fixture.run(steps).await.unwrap();
    assert_eq!(
        (report.written, report.kept_beside),
        (names(&["p.md"]), names(&["p (conflict).md"]))
    );
    let expected = files(&[("p (conflict).md", "a person's"), ("p.md", "- b\n")]);
    assert_eq!(fixture.files(), expected);
    fixture.repair().await;
    assert_eq!(fixture.files(), expected);
}

#[tokio::test]
async fn a_folder_named_like_a_file_on_its_way_ends_no_sweep() {
    let fixture = MirrorFixture::new().await;
    fixture.page("p", None, &[(0, "a")]).await;
    let left = format!(".madang-writing-{}.tmp", Uuid::nil());
    let folder = format!(".madang-writing-{}.tmp", Uuid::max());
    fs::create_dir_all(fixture.at(&folder)).unwrap();
    fs::write(fixture.at(&left), "left by a process that ended").unwrap();
    fs::write(fixture.at(".madang-writing-mine.tmp"), "of a person").unwrap();
    assert_eq!(fixture.repair().await.written, names(&["p.md"]));
    assert!(fixture.at(&folder).exists() && fixture.at(".madang-writing-mine.tmp").exists());
    assert!(!fixture.at(&left).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_deleted_in_mid_pass_does_not_end_the_pass() {
    let fixture = MirrorFixture::new().await;
    let going = fixture.page("going", None, &[(0, "a")]).await;
    fixture.page("stays", None, &[(0, "b")]).await;
    let store = fixture.store.clone();
    let user = fixture.user.clone();
    let page = going.page.id;
    let steps = Steps::asking(move |at| {
        if at == "pages" {
            let store = store.clone();
            let user = user.clone();
            let deleting = async move {
                let mut writing = Writing(store.begin().await.unwrap());
                // The second step finds it deleted.
                let _ = writing.notes(&user).delete_page(&page.to_string()).await;
                writing.keep().await;
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(deleting));
        }
        Ok(())
    });
    assert_eq!(fixture.run(steps).await.unwrap().written, names(&["stays.md"]));
    assert_eq!(fixture.files(), files(&[("stays.md", "- b\n")]));
}

#[tokio::test]
async fn a_new_page_of_the_old_name_is_not_mistaken_for_the_one_that_is_gone() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    let other = fixture.page("q", None, &[(0, "b")]).await;
    fixture.repair().await;
    fixture.delete(&page).await;
    fixture.rename(&other, "p").await;
    fixture.page("q", None, &[(0, "c")]).await;
    let report = fixture.repair().await;
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
        fixture.repair().await;
        fixture.rename(&top, "between").await;
        fixture.rename(&other, "top").await;
        fixture.rename(&top, "other").await;
        fixture.delete(&going).await;
        fs::write(fixture.at("edited.md"), "- by hand\n").unwrap();
        fixture.rename(&edited, "going").await;
        let (steps, count) = ends_at(number);
        let _ = fixture.run(steps).await;
        // A page that may be on its way is deleted before the next pass.
        let is_gone = number % 2 == 0;
        if is_gone {
            fixture.delete(&other).await;
        }
        let report = fixture.repair().await;
        let mut expected = files(&[
            ("edited.md", "- by hand\n"),
            ("going.md", "- old\n"),
            ("other.md", "- top\n"),
            ("other/inner.md", "- inner\n"),
            ("top.md", "- other\n"),
        ]);
        if is_gone {
            expected.remove("top.md");
        }
        assert_eq!(fixture.files(), expected, "ended at step {number}: {report:?}");
        assert_eq!(fixture.lines(&edited).await, ["old"], "ended at step {number}");
        assert_eq!(fixture.repair().await, MirrorReport::default(), "ended at step {number}");
        if count.load(SeqCst) <= number {
            assert!(number > 30, "there are that many steps: {number}");
            break;
        }
    }
}

#[tokio::test]
async fn a_page_that_goes_or_gets_a_name_between_look_and_write_leaves_no_file() {
    let fixture = MirrorFixture::new().await;
    let pages = [fixture.page("p", None, &[(0, "a")]).await, fixture.page("q", None, &[]).await];
    let pass = fixture.pass(Steps::default());
    let entries = pass.records.pages(Which::All, &mut 0).await.unwrap().unwrap();
    fixture.delete(&pages[0]).await;
    fixture.rename(&pages[1], "new").await;
    let folder = pass.open(Which::All).await.unwrap();
    pass.some(&folder, entries, &mut MirrorReport::default()).await.unwrap();
    assert_eq!(fixture.files(), files(&[]));
}

#[tokio::test]
async fn a_page_that_goes_or_gets_a_name_during_its_write_leaves_no_file() {
    let fixture = MirrorFixture::new().await;
    let pages = [fixture.page("p", None, &[(0, "a")]).await, fixture.page("q", None, &[]).await];
    // Both are recorded, and then their pages change before the files are written.
    assert_eq!(fixture.run(fails_at("folders")).await.unwrap().failed.len(), 2);
    let pass = fixture.pass(Steps::default());
    let entries = pass.records.pages(Which::All, &mut 0).await.unwrap().unwrap();
    fixture.delete(&pages[0]).await;
    fixture.rename(&pages[1], "new").await;
    let folder = pass.open(Which::All).await.unwrap();
    pass.some(&folder, entries, &mut MirrorReport::default()).await.unwrap();
    assert_eq!(fixture.files(), files(&[("p.md", "- a\n"), ("q.md", "")]));
    assert_eq!(fixture.repair().await.removed, names(&["p.md", "q.md"]));
    assert_eq!(fixture.files(), files(&[("new.md", "")]));
}

#[tokio::test]
async fn a_place_in_the_tables_that_leads_out_is_refused() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    let outside = fixture.folder.path().join("outside.md");
    fs::write(&outside, "- a\n").unwrap();
    let mut writing = fixture.write().await;
    sqlx::query("UPDATE notes_files_written SET place = '../outside.md'")
        .execute(lent(writing.0.connection()).unwrap())
        .await
        .unwrap();
    writing.keep().await;
    fixture.delete(&page).await;
    let refused = fixture.run(Steps::default()).await;
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
    fixture.repair().await;
    fs::write(fixture.at("edited.md"), "a person's").unwrap();
    fs::write(fixture.at("other.txt"), "a person's").unwrap();
    fixture.rename(&top, "renamed").await;
    fixture.delete(&gone).await;
    let report = clear(&fixture.store, fixture.user.clone(), &fixture.at("")).await.unwrap();
    assert_eq!(report.removed, names(&["gone.md", "top.md", "top/inner.md"]));
    assert_eq!(report.left, names(&["edited.md"]));
    let expected = files(&[("edited.md", "a person's"), ("other.txt", "a person's")]);
    assert_eq!(fixture.files(), expected);
}

#[tokio::test]
async fn a_forgotten_user_leaves_not_even_the_place_of_a_deleted_page() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("secret", None, &[(0, "a")]).await;
    fixture.page("other", None, &[(0, "b")]).await;
    fixture.repair().await;
    fixture.delete(&page).await;
    let mut writing = fixture.write().await;
    for statement in crate::notes::FORGET {
        let db = lent(writing.0.connection()).unwrap();
        sqlx::query(statement).bind(fixture.user.as_str()).execute(db).await.unwrap();
    }
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM notes_files_written")
        .fetch_one(lent(writing.0.connection()).unwrap())
        .await
        .unwrap();
    assert_eq!(left, 0);
    writing.keep().await;
}
