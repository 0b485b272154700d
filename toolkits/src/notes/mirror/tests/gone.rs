//! Files follow their pages: a new name moves them, a page that goes takes its own with it and nobody else's.

use super::*;
use crate::notes::rules::Violation;

fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[tokio::test]
async fn a_page_that_is_renamed_moves_its_file_and_those_in_its_folder() {
    let house = House::new().await;
    let top = house.page("old", None, &[(0, "a")]).await;
    house.page("inner", Some(&top.page.id.to_string()), &[(0, "b")]).await;
    house.sync().await;
    house.rename(&top, "new").await;
    let report = house.sync().await;
    assert_eq!(report.moved, names(&["new.md", "new/inner.md"]));
    assert_eq!((report.written, report.kept_beside), (vec![], vec![]));
    assert_eq!(house.files(), files(&[("new.md", "- a\n"), ("new/inner.md", "- b\n")]));
    assert!(!house.at("old").exists(), "an empty folder goes too");
    assert_eq!(house.sync().await, Report::default());
}

#[tokio::test]
async fn pages_that_change_names_with_one_another_keep_their_own_lines() {
    let house = House::new().await;
    let one = house.page("one", None, &[(0, "1")]).await;
    let other = house.page("other", None, &[(0, "2")]).await;
    house.sync().await;
    for (page, title) in [(&one, "between"), (&other, "one"), (&one, "other")] {
        house.rename(page, title).await;
    }
    let report = house.sync().await;
    assert_eq!(report.moved, names(&["other.md", "one.md"]));
    assert_eq!(report.kept_beside, names(&[]));
    assert_eq!(house.files(), files(&[("one.md", "- 2\n"), ("other.md", "- 1\n")]));
}

#[tokio::test]
async fn hostile_names_stay_inside_of_the_workspace_and_case_alone_is_a_name() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    let long = "가".repeat(200);
    for title in
        ["P", "../", "../../x", "/etc/passwd", "..", "CON", &long, ".madang-workspace", "p"]
    {
        house.rename(&page, title).await;
        let report = house.sync().await;
        assert_eq!((report.moved.len(), report.failed), (1, vec![]), "{title}");
        let texts: Vec<_> = house.files().into_values().collect();
        assert_eq!(texts, ["- a\n"], "{title}");
    }
    let around: Vec<_> = fs::read_dir(house.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(around, ["work"]);
    for title in ["a\nb", "a\0b", "a\u{2028}b", "\u{9b}x", " "] {
        let mut writing = house.write().await;
        let refused =
            writing.notes(&house.user).rename_page(&page.page.id.to_string(), title).await;
        let Err(NotesError::Rule(rule)) = refused else { panic!("{title:?}: {refused:?}") };
        assert!(matches!(rule, Violation::ControlInTitle | Violation::BlankTitle), "{title:?}");
    }
}

#[tokio::test]
async fn an_edit_of_a_file_goes_along_with_it_and_becomes_the_page() {
    let house = House::new().await;
    let page = house.page("old", None, &[(0, "a")]).await;
    house.sync().await;
    fs::write(house.at("old.md"), "- by hand\n").unwrap();
    house.rename(&page, "new").await;
    assert_eq!(house.sync().await.imported, names(&["new.md"]));
    assert_eq!(house.files(), files(&[("new.md", "- by hand\n")]));
    assert_eq!(house.lines(&page).await, ["by hand"]);
}

#[tokio::test]
async fn what_stands_at_the_new_place_is_not_written_over() {
    let house = House::new().await;
    let page = house.page("old", None, &[(0, "a")]).await;
    house.sync().await;
    fs::write(house.at("new.md"), "somebody's").unwrap();
    house.rename(&page, "new").await;
    assert_eq!(house.sync().await.kept_beside, names(&["new (conflict).md"]));
    let expected = files(&[("new (conflict).md", "somebody's"), ("new.md", "- a\n")]);
    assert_eq!(house.files(), expected);
    symlink("nothing", house.at("link.md")).unwrap();
    house.rename(&page, "link").await;
    assert_eq!(house.sync().await.blocked, names(&["link.md"]));
    assert!(house.at("link.md").is_symlink());
    fs::remove_file(house.at("link.md")).unwrap();
    assert_eq!(house.sync().await.moved, names(&["link.md"]), "once nothing is in the way");
}

#[tokio::test]
async fn a_page_that_goes_takes_its_file_away_and_no_file_that_the_mirror_did_not_write() {
    let house = House::new().await;
    let top = house.page("top", None, &[]).await.page.id.to_string();
    let page = house.page("p", Some(&top), &[(0, "a")]).await;
    let edited = house.page("edited", None, &[(0, "a")]).await;
    let link = house.page("link", None, &[(0, "a")]).await;
    house.sync().await;
    // Written by the mirror once, and somebody's since.
    fs::write(house.at("edited.md"), "somebody's").unwrap();
    fs::remove_file(house.at("link.md")).unwrap();
    symlink("edited.md", house.at("link.md")).unwrap();
    // The very bytes that the mirror writes, and not its file.
    fs::write(house.at("copy.md"), "- a\n").unwrap();
    for page in [&page, &edited, &link] {
        house.delete(page).await;
    }
    let report = house.sync().await;
    assert_eq!(report.removed, names(&["top/p.md"]));
    assert_eq!(report.left, names(&["edited.md", "link.md"]));
    assert!(!house.at("top").exists(), "an empty folder goes too");
    assert!(house.at("link.md").is_symlink());
    let kept: Vec<_> = house.files().into_keys().collect();
    assert_eq!(kept, ["copy.md", "edited.md", "link.md", "top.md"]);
    assert_eq!(house.read("edited.md"), "somebody's");
    assert_eq!(house.sync().await, Report::default());
}

#[tokio::test]
async fn a_file_that_was_there_before_any_page_survives_page_and_name() {
    for is_deleted in [true, false] {
        let house = House::new().await;
        fs::create_dir_all(house.at("")).unwrap();
        fs::write(house.at("p.md"), "somebody's").unwrap();
        let page = house.page("p", None, &[(0, "a")]).await;
        // What is about to be written is marked, and then the process ends.
        house.pass(fails_at("keep beside")).await.unwrap();
        if is_deleted {
            house.delete(&page).await;
        } else {
            house.rename(&page, "q").await;
        }
        house.sync().await;
        assert_eq!(house.read("p.md"), "somebody's", "deleted: {is_deleted}");
    }
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_taken_away_comes_back() {
    for step in ["aside", "look"] {
        let house = House::new().await;
        let page = house.page("p", None, &[(0, "a")]).await;
        house.sync().await;
        house.delete(&page).await;
        let path = house.at("p.md");
        let steps = Steps::asking(
            move |at| {
                if at == step { fs::write(&path, "somebody's") } else { Ok(()) }
            },
        );
        house.pass(steps).await.unwrap();
        assert!(house.files().values().any(|text| text == "somebody's"), "{step}");
    }
}

#[tokio::test]
async fn a_new_page_of_the_old_name_is_not_mistaken_for_the_one_that_is_gone() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    let other = house.page("q", None, &[(0, "b")]).await;
    house.sync().await;
    house.delete(&page).await;
    house.rename(&other, "p").await;
    house.page("q", None, &[(0, "c")]).await;
    let report = house.sync().await;
    assert_eq!((report.kept_beside, report.left), (vec![], vec![]));
    assert_eq!(house.files(), files(&[("p.md", "- b\n"), ("q.md", "- c\n")]));
}

#[tokio::test]
async fn wherever_the_process_ends_files_follow_their_pages_at_the_next_start() {
    for number in 0.. {
        let house = House::new().await;
        let top = house.page("top", None, &[(0, "top")]).await;
        house.page("inner", Some(&top.page.id.to_string()), &[(0, "inner")]).await;
        let other = house.page("other", None, &[(0, "other")]).await;
        let going = house.page("going", None, &[(0, "going")]).await;
        let edited = house.page("edited", None, &[(0, "old")]).await;
        house.sync().await;
        house.rename(&top, "between").await;
        house.rename(&other, "top").await;
        house.rename(&top, "other").await;
        house.delete(&going).await;
        fs::write(house.at("edited.md"), "- by hand\n").unwrap();
        house.rename(&edited, "going").await;
        let (steps, count) = super::ends::ends_at(number);
        drop(house.pass(steps).await);
        // Nobody comes back at once: meanwhile a page goes that may be on its way.
        let is_gone = number % 2 == 0;
        if is_gone {
            house.delete(&other).await;
        }
        let report = house.sync().await;
        let mut expected = files(&[
            ("going.md", "- by hand\n"),
            ("other.md", "- top\n"),
            ("other/inner.md", "- inner\n"),
            ("top.md", "- other\n"),
        ]);
        if is_gone {
            expected.remove("top.md");
        }
        assert_eq!(house.files(), expected, "ended at step {number}: {report:?}");
        assert_eq!(house.lines(&edited).await, ["by hand"], "ended at step {number}");
        assert_eq!(house.sync().await, Report::default(), "ended at step {number}");
        if count.load(SeqCst) <= number {
            assert!(number > 30, "there are that many steps: {number}");
            break;
        }
    }
}

#[tokio::test]
async fn a_page_that_goes_between_look_and_write_leaves_no_file() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    let pass = house.open(Steps::default()).await;
    let entries = pass.book.read(book::Which::All, 0).await.unwrap();
    house.delete(&page).await;
    pass.some(entries, &mut Default::default()).await.unwrap();
    assert_eq!(house.files(), files(&[]));
}

#[tokio::test]
async fn a_place_in_the_tables_that_leads_out_is_refused() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    let outside = house.folder.path().join("outside.md");
    fs::write(&outside, "- a\n").unwrap();
    let mut writing = house.write().await;
    sqlx::query("UPDATE notes_files SET place = '../outside.md'")
        .execute(book::write_on(&mut *writing.0).unwrap())
        .await
        .unwrap();
    writing.keep().await;
    house.delete(&page).await;
    let refused = house.pass(Steps::default()).await;
    assert!(matches!(refused, Err(MirrorError::Notes(NotesError::Corrupt { .. }))), "{refused:?}");
    assert!(outside.exists());
}

#[tokio::test]
async fn a_workspace_is_cleared_of_what_the_mirror_wrote_and_of_nothing_else() {
    let house = House::new().await;
    let top = house.page("top", None, &[(0, "a")]).await;
    house.page("inner", Some(&top.page.id.to_string()), &[(0, "b")]).await;
    house.page("edited", None, &[(0, "c")]).await;
    let gone = house.page("gone", None, &[(0, "d")]).await;
    house.sync().await;
    fs::write(house.at("edited.md"), "somebody's").unwrap();
    fs::write(house.at("other.txt"), "somebody's").unwrap();
    house.rename(&top, "renamed").await;
    house.delete(&gone).await;
    let report = clear(&house.store, house.user.clone(), &house.at("")).await.unwrap();
    assert_eq!(report.removed, names(&["gone.md", "top.md", "top/inner.md"]));
    assert_eq!(report.left, names(&["edited.md"]));
    let kept: Vec<_> =
        fs::read_dir(house.at("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(house.files().len(), 2);
}

#[tokio::test]
async fn of_a_user_who_is_forgotten_not_even_the_place_of_a_page_that_went_before_stays() {
    let house = House::new().await;
    let page = house.page("secret", None, &[(0, "a")]).await;
    house.page("other", None, &[(0, "b")]).await;
    house.sync().await;
    house.delete(&page).await;
    let mut writing = house.write().await;
    for statement in crate::notes::FORGET {
        let db = book::write_on(&mut *writing.0).unwrap();
        sqlx::query(statement).bind(house.user.as_str()).execute(db).await.unwrap();
    }
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM notes_files_left")
        .fetch_one(book::write_on(&mut *writing.0).unwrap())
        .await
        .unwrap();
    assert_eq!(left, 0);
    writing.keep().await;
}
