//! Tests that edits become the page or are kept beside it; none is lost, and no link is followed.

use super::*;

#[tokio::test]
async fn an_edit_made_outside_becomes_the_page_and_blocks_that_stay_keep_their_ids() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a"), (1, "b"), (0, "c")]).await;
    fixture.sync().await;
    fs::write(fixture.at("p.md"), "- a\n- new\n    - b!\n- c\n").unwrap();
    let report = fixture.sync().await;
    assert_eq!((report.imported, report.kept_beside), (names(&["p.md"]), vec![]));
    assert_eq!(fixture.lines(&page).await, ["a", "new", "  b!", "c"]);
    assert_eq!(fixture.read("p.md"), "- a\n- new\n  - b!\n- c\n", "as the mirror writes it");
    let mut writing = fixture.write().await;
    let kept = writing.notes(&fixture.user).block(&page.blocks[2].id.to_string()).await.unwrap();
    assert_eq!(kept.content, "c");
    writing.keep().await;
    assert_eq!(fixture.sync().await, MirrorReport::default());
}

#[tokio::test]
async fn where_both_changed_the_edit_is_kept_beside() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.sync().await;
    for (number, copy) in [(1, "p (conflict).md"), (2, "p (conflict 2).md")] {
        let (ours, theirs) = (format!("ours {number}"), format!("- theirs {number}\n"));
        fs::write(fixture.at("p.md"), &theirs).unwrap();
        fixture.update(&page, 0, &ours).await;
        assert_eq!(fixture.sync().await.kept_beside, names(&[copy]));
        assert_eq!((fixture.read("p.md"), fixture.read(copy)), (format!("- {ours}\n"), theirs));
    }
    assert_eq!(fixture.lines(&page).await, ["ours 2"]);
}

#[tokio::test]
async fn a_file_that_was_there_before_the_page_is_kept_beside() {
    let fixture = MirrorFixture::new().await;
    fs::create_dir_all(fixture.at("")).unwrap();
    fs::write(fixture.at("p.md"), "a person's").unwrap();
    fixture.page("p", None, &[(0, "a")]).await;
    assert_eq!(fixture.sync().await.kept_beside, names(&["p (conflict).md"]));
    assert_eq!(
        (fixture.read("p.md"), fixture.read("p (conflict).md")),
        ("- a\n".to_owned(), "a person's".to_owned())
    );
}

#[tokio::test]
async fn what_cannot_become_the_page_is_kept_beside() {
    for bad in [b"- \xff\n".to_vec(), format!("- {}\n", "x".repeat(10_001)).into_bytes()] {
        let fixture = MirrorFixture::new().await;
        let page = fixture.page("p", None, &[(0, "a")]).await;
        fixture.sync().await;
        fs::write(fixture.at("p.md"), &bad).unwrap();
        assert_eq!(fixture.sync().await.kept_beside, names(&["p (conflict).md"]));
        assert_eq!(fs::read(fixture.at("p (conflict).md")).unwrap(), bad);
        assert_eq!(
            (fixture.read("p.md"), fixture.lines(&page).await),
            ("- a\n".to_owned(), names(&["a"]))
        );
    }
}

#[tokio::test]
async fn a_file_that_was_deleted_is_written_again() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.sync().await;
    fs::remove_file(fixture.at("p.md")).unwrap();
    assert_eq!(fixture.sync().await.written, names(&["p.md"]));
    assert_eq!(fixture.lines(&page).await, ["a"]);
    fs::remove_dir_all(fixture.at("")).unwrap();
    assert_eq!(fixture.sync().await.written, names(&["p.md"]));
}

#[tokio::test]
async fn no_link_is_followed_and_nothing_outside_is_touched() {
    let fixture = MirrorFixture::new().await;
    let outside = fixture.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(fixture.at("")).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    symlink(outside.join("secret"), fixture.at("link.md")).unwrap();
    symlink(&outside, fixture.at("folder")).unwrap();
    symlink(outside.join("nothing"), fixture.at("dangling.md")).unwrap();
    fs::create_dir(fixture.at("taken.md")).unwrap();
    for title in ["link", "dangling", "taken"] {
        fixture.page(title, None, &[(0, "x")]).await;
    }
    let folder = fixture.page("folder", None, &[]).await.page.id.to_string();
    fixture.page("inner", Some(&folder), &[(0, "x")]).await;
    let report = fixture.sync().await;
    assert_eq!(report.written, names(&["folder.md"]));
    assert_eq!(report.blocked, names(&["link.md", "dangling.md", "taken.md", "folder/inner.md"]));
    let left: Vec<_> =
        fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["secret"]);
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret");
    fs::remove_file(fixture.at("link.md")).unwrap();
    assert_eq!(fixture.sync().await.written, names(&["link.md"]), "once nothing is in the way");
}

#[tokio::test]
async fn what_stands_in_the_way_of_a_page_that_has_not_changed_is_reported() {
    let fixture = MirrorFixture::new().await;
    fixture.page("p", None, &[(0, "a")]).await;
    fixture.sync().await;
    fs::remove_file(fixture.at("p.md")).unwrap();
    symlink("nothing", fixture.at("p.md")).unwrap();
    for _ in 0..2 {
        assert_eq!(fixture.sync().await.blocked, names(&["p.md"]));
    }
    fs::remove_file(fixture.at("p.md")).unwrap();
    assert_eq!(fixture.pass(fails_at("sync")).await.unwrap().failed, names(&["p.md"]));
    let report = fixture.sync().await;
    assert_eq!((report.written, report.blocked, report.failed), (names(&["p.md"]), vec![], vec![]));
}

#[tokio::test]
async fn an_emptied_file_is_kept_beside_and_the_page_stays() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a"), (1, "b")]).await;
    fixture.page("empty", None, &[]).await;
    fixture.sync().await;
    for text in ["", "\u{feff}", " \r\n\n"] {
        fs::write(fixture.at("p.md"), text).unwrap();
        let report = fixture.sync().await;
        assert_eq!((report.kept_beside.len(), report.imported), (1, vec![]));
        assert_eq!(fixture.lines(&page).await, ["a", "  b"], "{text:?}");
        assert_eq!(fixture.read("p.md"), "- a\n  - b\n");
        assert_eq!(fixture.read(&report.kept_beside[0]), text);
    }
    fs::write(fixture.at("empty.md"), "\n").unwrap();
    let report = fixture.sync().await;
    assert_eq!((report.kept_beside, report.imported), (vec![], names(&["empty.md"])));
}

#[tokio::test]
async fn a_file_longer_than_any_text_that_is_read_is_known_again() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, path) = (Folder::open(folder.path(), Steps::default()).unwrap(), names(&["p.md"]));
    let mut long = vec![b'x'; 17 << 20];
    let before = hash::hash(&long);
    assert_eq!(folder.write(&path, &long, None).unwrap(), Placed::InPlace);
    assert_eq!(folder.read(&path).unwrap(), Found::File { hash: before, text: None });
    *long.last_mut().unwrap() = b'y';
    assert_eq!(folder.write(&path, &long, Some(before)).unwrap(), Placed::InPlace);
    let after = hash::hash(&long);
    assert_eq!(folder.read(&path).unwrap(), Found::File { hash: after, text: None });
}
