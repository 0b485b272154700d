//! Tests that no end of the process, failed step or edit in between loses anything.

use super::*;

/// Ends the process before the step of this number, and tells whether that step was reached.
pub(super) fn ends_at(number: usize) -> (Steps, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let steps = Steps::asking(move |step| {
        if counted.fetch_add(1, SeqCst) < number { Ok(()) } else { Err(io::Error::other(step)) }
    });
    (steps, count)
}

#[tokio::test]
async fn wherever_the_process_ends_the_next_start_loses_nothing() {
    for number in 0.. {
        let fixture = MirrorFixture::new().await;
        let top = fixture.page("changed", None, &[(0, "old")]).await;
        let edited = fixture.page("edited", Some(&top.page.id.to_string()), &[(0, "old")]).await;
        let both = fixture.page("both", None, &[(0, "old")]).await;
        fixture.sync().await;
        fixture.update(&top, 0, "new").await;
        fs::write(fixture.at("changed/edited.md"), "- by hand\n").unwrap();
        fixture.update(&both, 0, "ours").await;
        fs::write(fixture.at("both.md"), "- theirs\n").unwrap();
        fixture.page("fresh", None, &[(0, "fresh")]).await;
        let (steps, count) = ends_at(number);
        let _ = fixture.pass(steps).await;
        // A page changes once more before the next pass.
        let is_changed_again = number % 2 == 0;
        if is_changed_again {
            fixture.update(&top, 0, "newest").await;
        }
        fixture.sync().await;
        let newest = if is_changed_again { "- newest\n" } else { "- new\n" };
        let expected = [
            ("both (conflict).md", "- theirs\n"),
            ("both.md", "- ours\n"),
            ("changed.md", newest),
            ("changed/edited.md", "- by hand\n"),
            ("fresh.md", "- fresh\n"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(fixture.files(), expected.into(), "ended at step {number}");
        assert_eq!(fixture.lines(&edited).await, ["by hand"], "ended at step {number}");
        assert_eq!(fixture.sync().await, MirrorReport::default(), "ended at step {number}");
        if count.load(SeqCst) <= number {
            assert!(number > 30, "there are that many steps: {number}");
            break;
        }
    }
}

#[tokio::test]
async fn a_file_of_the_mirrors_own_is_known_after_two_ends_of_the_process() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.sync().await;
    fixture.update(&page, 0, "b").await;
    let marks = AtomicUsize::new(0);
    let behind_the_write = Steps::asking(move |step| {
        let is_second = step == "mark" && marks.fetch_add(1, SeqCst) == 1;
        if is_second { Err(io::Error::other(step)) } else { Ok(()) }
    });
    fixture.pass(behind_the_write).await.unwrap_err();
    assert_eq!(fixture.read("p.md"), "- b\n");
    fixture.update(&page, 0, "c").await;
    fixture.pass(fails_at("folders")).await.unwrap();
    assert_eq!(fixture.sync().await.kept_beside, names(&[]));
    let expected = [("p.md".to_owned(), "- c\n".to_owned())];
    assert_eq!(fixture.files(), expected.into());
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_tried_again_without_a_commit_that_would_wake_the_task() {
    let fixture = MirrorFixture::new().await;
    fixture.page("p", None, &[(0, "a")]).await;
    fixture.sync().await;
    let page = fixture.page("q", None, &[(0, "a")]).await;
    let pass = fixture.open(fails_at("sync")).await;
    assert_eq!(pass.catch_up().await.unwrap().failed, names(&["q.md"]));
    let mut commits = fixture.store.commits();
    commits.borrow_and_update();
    assert_eq!(pass.catch_up().await.unwrap().failed, names(&["q.md"]));
    assert!(!commits.has_changed().unwrap());
    fixture.update(&page, 0, "b").await;
    assert_eq!(fixture.sync().await.written, names(&["q.md"]));
}

#[tokio::test]
async fn an_edit_that_slips_in_between_look_and_write_is_not_lost() {
    for step in ["folders", "create", "write", "sync", "ready", "place"] {
        let fixture = MirrorFixture::new().await;
        let page = fixture.page("p", None, &[(0, "a")]).await;
        fixture.sync().await;
        fixture.update(&page, 0, "ours").await;
        let (path, once) = (fixture.at("p.md"), AtomicUsize::new(0));
        let steps = Steps::asking(move |at| {
            if at == step && once.fetch_add(1, SeqCst) == 0 {
                fs::write(&path, "- theirs\n")?;
            }
            Ok(())
        });
        let report = fixture.pass(steps).await.unwrap();
        assert_eq!(report.kept_beside, names(&["p (conflict).md"]), "{step}");
        let expected = [("p (conflict).md", "- theirs\n"), ("p.md", "- ours\n")];
        assert_eq!(
            fixture.files(),
            expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
        );
    }
}

#[tokio::test]
async fn two_edits_that_slip_in_are_both_kept_and_reported() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("top", None, &[]).await.page.id.to_string();
    let page = fixture.page("p", Some(&top), &[(0, "a")]).await;
    fixture.sync().await;
    fixture.update(&page, 0, "ours").await;
    let (path, looks) = (fixture.at("top/p.md"), AtomicUsize::new(0));
    let steps = Steps::asking(move |at| match at {
        "place" if looks.load(SeqCst) == 0 => fs::write(&path, "- theirs\n"),
        "look" if looks.fetch_add(1, SeqCst) == 0 => fs::write(&path, "- again\n"),
        _ => Ok(()),
    });
    let report = fixture.pass(steps).await.unwrap();
    let kept: Vec<_> = report.kept_beside.iter().map(|name| fixture.read(name)).collect();
    assert_eq!(kept, ["- again\n", "- theirs\n"], "{report:?}");
    assert_eq!(fixture.read("top/p.md"), "- ours\n");
}

#[tokio::test]
async fn what_is_left_from_a_write_is_thrown_away_only_where_it_is_the_users_own() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("top", None, &[(0, "kim's")]).await.page.id.to_string();
    fixture.page("p", Some(&top), &[]).await;
    let lee = UserId::new("lee").unwrap();
    let mut writing = fixture.write().await;
    let blocks = vec![NewBlock { content: "lee's".to_owned(), indent: 0 }];
    writing.notes(&lee).create_page_with_blocks("p", None, blocks).await.unwrap();
    writing.keep().await;
    sync(&fixture.store, lee, &fixture.folder.path().join("lee")).await.unwrap();
    fixture.sync().await;
    fs::write(fixture.at("top/.madang-ready-1.tmp"), "- kim's\n").unwrap();
    fs::write(fixture.at("top/.madang-ready-2.tmp"), "- lee's\n").unwrap();
    let [kept] = &fixture.sync().await.kept_beside[..] else { panic!("one is kept") };
    assert_eq!(fixture.read(kept), "- lee's\n");
    assert_eq!(fixture.files().len(), 3);
}

#[tokio::test]
async fn the_task_writes_after_the_commit_and_stops_with_everything_written() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    let mirror =
        Mirror::start(&fixture.store, fixture.user.clone(), &fixture.at("")).await.unwrap();
    let becomes = async |text: &str| {
        let is_so = async {
            while fs::read_to_string(fixture.at("p.md")).ok().as_deref() != Some(text) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, is_so).await.expect("the file follows");
    };
    becomes("- a\n").await;
    fixture.update(&page, 0, "b").await;
    becomes("- b\n").await;
    let mut writing = fixture.write().await;
    let id = page.page.id.to_string();
    writing.notes(&fixture.user).create_block(Inside::Page(&id), None, "last").await.unwrap();
    writing.keep().await;
    mirror.stop().await;
    assert_eq!(fixture.read("p.md"), "- b\n- last\n");
}
