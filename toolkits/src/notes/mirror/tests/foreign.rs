//! Tests that no file of another program is lost, no link is followed, and no obstacle fails more
//! than a file.

use super::*;

#[tokio::test]
async fn a_file_that_a_person_edited_is_kept_beside_and_the_page_is_written_again() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a"), (1, "b")]).await;
    fixture.repair().await;
    for (number, edit, copy) in [
        (1, "- by hand\n", "p (conflict).md"),
        (2, "", "p (conflict 2).md"),
        (3, "no list", "p (conflict 3).md"),
    ] {
        fs::write(fixture.at("p.md"), edit).unwrap();
        let text = format!("- {number}\n  - b\n");
        // The page may have changed as well: that makes no difference.
        if number > 1 {
            fixture.update(&page, 0, &number.to_string()).await;
        }
        let report = fixture.repair().await;
        assert_eq!((report.kept_beside, report.written), (names(&[copy]), names(&["p.md"])));
        assert_eq!(fixture.read(copy), edit);
        let ours = if number > 1 { &*text } else { "- a\n  - b\n" };
        assert_eq!(fixture.read("p.md"), ours);
    }
    assert_eq!(fixture.lines(&page).await, ["3", "  b"]);
    assert_eq!(fixture.repair().await, MirrorReport::default());
}

#[tokio::test]
async fn a_file_that_was_there_before_the_page_is_kept_beside() {
    let fixture = MirrorFixture::new().await;
    fs::create_dir_all(fixture.at("")).unwrap();
    fs::write(fixture.at("p.md"), b"a person's \xff").unwrap();
    fixture.page("p", None, &[(0, "a")]).await;
    assert_eq!(fixture.repair().await.kept_beside, names(&["p (conflict).md"]));
    assert_eq!(fixture.read("p.md"), "- a\n");
    assert_eq!(fs::read(fixture.at("p (conflict).md")).unwrap(), b"a person's \xff");
}

#[tokio::test]
async fn a_file_that_was_deleted_is_written_again() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    fs::remove_file(fixture.at("p.md")).unwrap();
    assert_eq!(fixture.repair().await.written, names(&["p.md"]));
    assert_eq!(fixture.lines(&page).await, ["a"]);
    fs::remove_dir_all(fixture.at("")).unwrap();
    assert_eq!(fixture.repair().await.written, names(&["p.md"]));
}

#[tokio::test]
async fn a_folder_that_another_user_wrote_to_loses_nothing() {
    let fixture = MirrorFixture::new().await;
    fixture.page("p", None, &[(0, "kim's")]).await;
    fixture.repair().await;
    let lee = UserId::new("lee").unwrap();
    let mut writing = fixture.write().await;
    let blocks = vec![NewBlock { content: "lee's".to_owned(), indent: 0 }];
    writing.notes(&lee).create_page_with_blocks("p", None, blocks).await.unwrap();
    writing.keep().await;
    let report = repair(&fixture.store, lee.clone(), &fixture.at("")).await.unwrap();
    assert_eq!(report.kept_beside, names(&["p (conflict).md"]));
    let expected = files(&[("p (conflict).md", "- kim's\n"), ("p.md", "- lee's\n")]);
    assert_eq!(fixture.files(), expected);
    let cleared = clear(&fixture.store, fixture.user.clone(), &fixture.at("")).await.unwrap();
    assert_eq!((cleared.removed, cleared.left), (vec![], names(&["p.md"])));
    assert_eq!(fixture.files(), expected);
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
    let report = fixture.repair().await;
    assert_eq!(report.written, names(&["folder.md"]));
    assert_eq!(report.blocked, names(&["link.md", "dangling.md", "taken.md", "folder/inner.md"]));
    let left: Vec<_> =
        fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["secret"]);
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret");
    fs::remove_file(fixture.at("link.md")).unwrap();
    assert_eq!(fixture.repair().await.written, names(&["link.md"]), "once nothing is in the way");
}

#[tokio::test]
async fn a_link_that_appears_between_look_and_write_is_not_followed() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    let outside = fixture.folder.path().join("outside");
    fs::write(&outside, "secret").unwrap();
    fixture.update(&page, 0, "b").await;
    let path = fixture.at("p.md");
    let to = outside.clone();
    let steps = Steps::asking(move |step| {
        if step == "look" && !path.is_symlink() {
            fs::remove_file(&path)?;
            symlink(&to, &path)?;
        }
        Ok(())
    });
    assert_eq!(fixture.run(steps).await.unwrap().blocked, names(&["p.md"]));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    let left: Vec<_> =
        fs::read_dir(fixture.at("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["p.md"], "and nothing unfinished stays");
}

#[tokio::test]
async fn an_edit_that_slips_in_between_the_first_look_and_the_write_is_not_lost() {
    for step in ["intend", "intended", "folders", "create", "disk", "written", "look"] {
        let fixture = MirrorFixture::new().await;
        let page = fixture.page("p", None, &[(0, "a")]).await;
        fixture.repair().await;
        fixture.update(&page, 0, "ours").await;
        let path = fixture.at("p.md");
        let once = AtomicUsize::new(0);
        let steps = Steps::asking(move |at| {
            if at == step && once.fetch_add(1, SeqCst) == 0 {
                fs::write(&path, "- theirs\n")?;
            }
            Ok(())
        });
        let report = fixture.run(steps).await.unwrap();
        assert_eq!(report.kept_beside, names(&["p (conflict).md"]), "{step}");
        let expected = files(&[("p (conflict).md", "- theirs\n"), ("p.md", "- ours\n")]);
        assert_eq!(fixture.files(), expected, "{step}");
    }
}

#[tokio::test]
async fn a_program_that_writes_again_and_again_loses_nothing_and_holds_nothing_up() {
    let fixture = MirrorFixture::new().await;
    fixture.page("p", None, &[(0, "a")]).await;
    fixture.page("q", None, &[(0, "b")]).await;
    fs::create_dir_all(fixture.at("")).unwrap();
    let path = fixture.at("p.md");
    let count = AtomicUsize::new(0);
    let steps = Steps::asking(move |at| match at {
        "look" => fs::write(&path, count.fetch_add(1, SeqCst).to_string()),
        _ => Ok(()),
    });
    let report = fixture.run(steps).await.unwrap();
    assert_eq!((&report.failed, &report.written), (&names(&["p.md"]), &names(&["q.md"])));
    let kept: Vec<_> = report.kept_beside.iter().map(|name| fixture.read(name)).collect();
    assert_eq!(kept, ["0", "1", "2", "3"]);
    assert_eq!(fixture.repair().await.kept_beside.len(), 1);
    assert_eq!(fixture.read("p.md"), "- a\n");
}

#[tokio::test]
async fn what_is_in_the_way_of_a_page_that_has_not_changed_is_reported() {
    let fixture = MirrorFixture::new().await;
    fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    fs::remove_file(fixture.at("p.md")).unwrap();
    symlink("nothing", fixture.at("p.md")).unwrap();
    for _ in 0..2 {
        assert_eq!(fixture.repair().await.blocked, names(&["p.md"]));
    }
    fs::remove_file(fixture.at("p.md")).unwrap();
    assert_eq!(fixture.run(fails_at("disk")).await.unwrap().failed, names(&["p.md"]));
    let report = fixture.repair().await;
    assert_eq!((report.written, report.blocked, report.failed), (names(&["p.md"]), vec![], vec![]));
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_file_and_no_incomplete_one() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    fixture.update(&page, 0, "b").await;
    for _ in 0..3 {
        assert_eq!(fixture.run(fails_at("disk")).await.unwrap().failed, names(&["p.md"]));
        assert_eq!(fixture.files(), files(&[("p.md", "- a\n")]));
    }
    assert_eq!(fixture.repair().await.written, names(&["p.md"]));
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_or_written_is_said_at_the_end_and_tried_again() {
    let fixture = MirrorFixture::new().await;
    fs::write(fixture.at("").parent().unwrap().join("work"), "a file").unwrap();
    let mirror = fixture.start();
    let page = fixture.page("p", None, &[(0, "a")]).await;
    assert!(matches!(mirror.stop().await.error, Some(MirrorError::Workspace { .. })));
    assert_eq!(fixture.lines(&page).await, ["a"], "the page is written all the same");

    fs::remove_file(fixture.folder.path().join("work")).unwrap();
    fs::create_dir(fixture.at("")).unwrap();
    fs::set_permissions(fixture.at(""), fs::Permissions::from_mode(0o500)).unwrap();
    let is_superuser = fs::create_dir(fixture.at("probe")).is_ok();
    if !is_superuser {
        let end = fixture.start().stop().await;
        assert_eq!((end.report.failed, end.error.is_none()), (names(&["p.md"]), true));
    }
    fs::set_permissions(fixture.at(""), fs::Permissions::from_mode(0o700)).unwrap();
    let mirror = fixture.start();
    fixture.becomes("p.md", "- a\n").await;
    let end = mirror.stop().await;
    assert!(end.error.is_none() && end.report == MirrorReport::default(), "{end:?}");
}

#[tokio::test]
async fn an_edit_is_said_when_the_mirror_stops() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    let gone = fixture.page("gone", None, &[(0, "a")]).await;
    fixture.repair().await;
    fs::write(fixture.at("p.md"), "by hand").unwrap();
    let mirror = fixture.start();
    fixture.becomes("p.md", "- a\n").await;
    fs::write(fixture.at("gone.md"), "by hand").unwrap();
    fixture.delete(&gone).await;
    fixture.update(&page, 0, "b").await;
    let end = mirror.stop().await;
    assert_eq!(end.report.kept_beside, names(&["p (conflict).md"]));
    assert_eq!(end.report.left, names(&["gone.md"]));
    assert_eq!(fixture.read("p.md"), "- b\n");
}
