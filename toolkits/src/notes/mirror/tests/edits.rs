//! Edits made outside become the page, or are kept beside it; none is lost, and no link is followed.

use super::*;

#[tokio::test]
async fn an_edit_made_outside_becomes_the_page_and_blocks_that_stay_keep_their_ids() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a"), (1, "b"), (0, "c")]).await;
    house.sync().await;
    fs::write(house.at("p.md"), "- a\n- new\n    - b!\n- c\n").unwrap();
    let report = house.sync().await;
    assert_eq!((report.imported, report.kept_beside), (names(&["p.md"]), vec![]));
    assert_eq!(house.lines(&page).await, ["a", "new", "  b!", "c"]);
    assert_eq!(house.read("p.md"), "- a\n- new\n  - b!\n- c\n", "as the mirror writes it");
    let mut writing = house.write().await;
    let kept = writing.notes(&house.user).block(&page.blocks[2].id.to_string()).await.unwrap();
    assert_eq!(kept.content, "c");
    writing.keep().await;
    assert_eq!(house.sync().await, Report::default());
}

#[tokio::test]
async fn where_both_changed_the_edit_is_kept_beside() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    for (number, copy) in [(1, "p (conflict).md"), (2, "p (conflict 2).md")] {
        let (ours, theirs) = (format!("ours {number}"), format!("- theirs {number}\n"));
        fs::write(house.at("p.md"), &theirs).unwrap();
        house.update(&page, 0, &ours).await;
        assert_eq!(house.sync().await.kept_beside, names(&[copy]));
        assert_eq!((house.read("p.md"), house.read(copy)), (format!("- {ours}\n"), theirs));
    }
    assert_eq!(house.lines(&page).await, ["ours 2"]);
}

#[tokio::test]
async fn a_file_that_was_there_before_the_page_is_kept_beside() {
    let house = House::new().await;
    fs::create_dir_all(house.at("")).unwrap();
    fs::write(house.at("p.md"), "somebody's").unwrap();
    house.page("p", None, &[(0, "a")]).await;
    assert_eq!(house.sync().await.kept_beside, names(&["p (conflict).md"]));
    assert_eq!(
        (house.read("p.md"), house.read("p (conflict).md")),
        ("- a\n".to_owned(), "somebody's".to_owned())
    );
}

#[tokio::test]
async fn what_cannot_become_the_page_is_kept_beside() {
    for bad in [b"- \xff\n".to_vec(), format!("- {}\n", "x".repeat(10_001)).into_bytes()] {
        let house = House::new().await;
        let page = house.page("p", None, &[(0, "a")]).await;
        house.sync().await;
        fs::write(house.at("p.md"), &bad).unwrap();
        assert_eq!(house.sync().await.kept_beside, names(&["p (conflict).md"]));
        assert_eq!(fs::read(house.at("p (conflict).md")).unwrap(), bad);
        assert_eq!(
            (house.read("p.md"), house.lines(&page).await),
            ("- a\n".to_owned(), names(&["a"]))
        );
    }
}

#[tokio::test]
async fn a_file_that_was_deleted_is_written_again() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    fs::remove_file(house.at("p.md")).unwrap();
    assert_eq!(house.sync().await.written, names(&["p.md"]));
    assert_eq!(house.lines(&page).await, ["a"]);
    fs::remove_dir_all(house.at("")).unwrap();
    assert_eq!(house.sync().await.written, names(&["p.md"]));
}

#[tokio::test]
async fn no_link_is_followed_and_nothing_outside_is_touched() {
    let house = House::new().await;
    let outside = house.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(house.at("")).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    symlink(outside.join("secret"), house.at("link.md")).unwrap();
    symlink(&outside, house.at("folder")).unwrap();
    symlink(outside.join("nothing"), house.at("dangling.md")).unwrap();
    fs::create_dir(house.at("taken.md")).unwrap();
    for title in ["link", "dangling", "taken"] {
        house.page(title, None, &[(0, "x")]).await;
    }
    let folder = house.page("folder", None, &[]).await.page.id.to_string();
    house.page("inner", Some(&folder), &[(0, "x")]).await;
    let report = house.sync().await;
    assert_eq!(report.written, names(&["folder.md"]));
    assert_eq!(report.blocked, names(&["link.md", "dangling.md", "taken.md", "folder/inner.md"]));
    let left: Vec<_> =
        fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["secret"]);
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret");
    fs::remove_file(house.at("link.md")).unwrap();
    assert_eq!(house.sync().await.written, names(&["link.md"]), "once nothing is in the way");
}

#[tokio::test]
async fn what_stands_in_the_way_of_a_page_that_has_not_changed_is_reported() {
    let house = House::new().await;
    house.page("p", None, &[(0, "a")]).await;
    house.sync().await;
    fs::remove_file(house.at("p.md")).unwrap();
    symlink("nothing", house.at("p.md")).unwrap();
    for _ in 0..2 {
        assert_eq!(house.sync().await.blocked, names(&["p.md"]));
    }
    fs::remove_file(house.at("p.md")).unwrap();
    assert_eq!(house.pass(fails_at("sync")).await.unwrap().failed, names(&["p.md"]));
    let report = house.sync().await;
    assert_eq!((report.written, report.blocked, report.failed), (names(&["p.md"]), vec![], vec![]));
}

#[tokio::test]
async fn an_emptied_file_is_kept_beside_and_the_page_stays() {
    let house = House::new().await;
    let page = house.page("p", None, &[(0, "a"), (1, "b")]).await;
    house.page("empty", None, &[]).await;
    house.sync().await;
    for text in ["", "\u{feff}", " \r\n\n"] {
        fs::write(house.at("p.md"), text).unwrap();
        let report = house.sync().await;
        assert_eq!((report.kept_beside.len(), report.imported), (1, vec![]));
        assert_eq!(house.lines(&page).await, ["a", "  b"], "{text:?}");
        assert_eq!(house.read("p.md"), "- a\n  - b\n");
        assert_eq!(house.read(&report.kept_beside[0]), text);
    }
    fs::write(house.at("empty.md"), "\n").unwrap();
    let report = house.sync().await;
    assert_eq!((report.kept_beside, report.imported), (vec![], names(&["empty.md"])));
}

#[tokio::test]
async fn a_file_longer_than_any_text_that_is_read_is_known_again() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, path) = (Folder::open(folder.path(), Steps::default()).unwrap(), names(&["p.md"]));
    let mut long = vec![b'x'; 17 << 20];
    let before = book::hash(&long);
    assert_eq!(folder.write(&path, &long, None).unwrap(), Placed::Done);
    assert_eq!(folder.read(&path).unwrap(), Found::File { hash: before, text: None });
    *long.last_mut().unwrap() = b'y';
    assert_eq!(folder.write(&path, &long, Some(before)).unwrap(), Placed::Done);
    let after = book::hash(&long);
    assert_eq!(folder.read(&path).unwrap(), Found::File { hash: after, text: None });
}
