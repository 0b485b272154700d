//! Tests that no end of the process and no failed step loses anything.

use super::*;

#[tokio::test]
async fn wherever_the_process_ends_the_next_start_repairs_the_files() {
    for number in 0.. {
        let fixture = MirrorFixture::new().await;
        let top = fixture.page("changed", None, &[(0, "old")]).await;
        fixture.page("edited", Some(&top.page.id.to_string()), &[(0, "old")]).await;
        let both = fixture.page("both", None, &[(0, "old")]).await;
        fixture.repair().await;
        fixture.update(&top, 0, "new").await;
        fs::write(fixture.at("changed/edited.md"), "- by hand\n").unwrap();
        fixture.update(&both, 0, "ours").await;
        fs::write(fixture.at("both.md"), "- theirs\n").unwrap();
        fixture.page("fresh", None, &[(0, "fresh")]).await;
        let (steps, count) = ends_at(number);
        let _ = fixture.run(steps).await;
        // A page changes once more before the next pass.
        let is_changed_again = number % 2 == 0;
        if is_changed_again {
            fixture.update(&top, 0, "newest").await;
        }
        fixture.repair().await;
        let newest = if is_changed_again { "- newest\n" } else { "- new\n" };
        let expected = files(&[
            ("both (conflict).md", "- theirs\n"),
            ("both.md", "- ours\n"),
            ("changed.md", newest),
            ("changed/edited (conflict).md", "- by hand\n"),
            ("changed/edited.md", "- old\n"),
            ("fresh.md", "- fresh\n"),
        ]);
        assert_eq!(fixture.files(), expected, "ended at step {number}");
        assert_eq!(fixture.repair().await, MirrorReport::default(), "ended at step {number}");
        if count.load(SeqCst) <= number {
            assert!(number > 20, "there are that many steps: {number}");
            break;
        }
    }
}

#[tokio::test]
async fn a_file_of_the_mirrors_own_is_known_after_two_ends_of_the_process() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    fixture.update(&page, 0, "b").await;
    fixture.run(fails_at("record")).await.unwrap_err();
    assert_eq!(fixture.read("p.md"), "- b\n");
    fixture.update(&page, 0, "c").await;
    fixture.run(fails_at("folders")).await.unwrap();
    assert_eq!(fixture.repair().await.kept_beside, names(&[]));
    assert_eq!(fixture.files(), files(&[("p.md", "- c\n")]));
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_tried_again_without_a_commit_to_wake_the_task() {
    let fixture = MirrorFixture::new().await;
    fixture.page("p", None, &[(0, "a")]).await;
    fixture.repair().await;
    let page = fixture.page("q", None, &[(0, "a")]).await;
    let pass = fixture.pass(fails_at("disk"));
    assert_eq!(pass.run(Which::Changed).await.unwrap().failed, names(&["q.md"]));
    let mut commits = fixture.store.commits();
    commits.borrow_and_update();
    assert_eq!(pass.run(Which::Changed).await.unwrap().failed, names(&["q.md"]));
    assert!(!commits.has_changed().unwrap());
    fixture.update(&page, 0, "b").await;
    assert_eq!(fixture.repair().await.written, names(&["q.md"]));
}

#[tokio::test]
async fn what_is_left_from_a_write_is_thrown_away_at_the_start() {
    let fixture = MirrorFixture::new().await;
    let top = fixture.page("top", None, &[]).await.page.id.to_string();
    fixture.page("p", Some(&top), &[(0, "a")]).await;
    fixture.run(fails_at("written")).await.unwrap();
    assert_eq!(fixture.files().len(), 2, "unfinished");
    fixture.repair().await;
    assert_eq!(fixture.files(), files(&[("top.md", ""), ("top/p.md", "- a\n")]));
}

#[tokio::test]
async fn the_task_writes_after_the_commit_and_stops_with_everything_written() {
    let fixture = MirrorFixture::new().await;
    let page = fixture.page("p", None, &[(0, "a")]).await;
    let mirror = fixture.start();
    fixture.becomes("p.md", "- a\n").await;
    fixture.update(&page, 0, "b").await;
    fixture.becomes("p.md", "- b\n").await;
    fixture.rename(&page, "q").await;
    fixture.becomes("q.md", "- b\n").await;
    let mut writing = fixture.write().await;
    let id = page.page.id.to_string();
    writing.notes(&fixture.user).create_block(Inside::Page(&id), None, "last").await.unwrap();
    writing.keep().await;
    let end = mirror.stop().await;
    assert!(end.error.is_none() && end.report == MirrorReport::default(), "{end:?}");
    assert_eq!(fixture.files(), files(&[("q.md", "- b\n- last\n")]));
}
