//! Tests that no wrong byte is used after any failure, and received bytes are not requested again.

use super::*;

#[test]
fn a_download_that_breaks_off_goes_on_where_it_broke_off() {
    let home = Home::new();
    let bytes = model(1_000_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Break(400_000), Plan::Break(0), Plan::Break(1)]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(offsets(&hub), [0, 400_000, 400_000, 400_001]);
    assert_eq!(hub.sent_bytes(), bytes.len(), "no byte was sent twice");
}

#[test]
fn a_program_that_is_killed_in_mid_download_goes_on_at_its_next_start() {
    let home = Home::new();
    let bytes = model(900_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let mut has = 0;
    for (name, more) in [("KILL", 300_000), ("INT", 200_000), ("TERM", 100_000)] {
        let (keep, released) = mpsc::channel();
        hub.plan([Plan::Hold(more, released)]);
        let running = RunningProgram::start(command(&home, &hub, &["fetch", MODEL]));
        has += more;
        until(|| length(&incomplete(&home, &bytes)) == has);
        signal(name, running.child.id());
        assert_eq!(running.ended().code, None, "{name} ends it at once");
        assert!(!blob(&home, &bytes).exists(), "nothing half-made has a final name");
        assert!(!folder(&home).join("snapshots").exists());
        drop(keep);
    }
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(offsets(&hub), [0, 300_000, 500_000, 600_000]);
    assert!(!incomplete(&home, &bytes).exists());
}

#[test]
fn a_hub_that_breaks_off_again_and_again_is_given_up_and_what_came_is_kept() {
    let home = Home::new();
    let bytes = model(100_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan((0..7).map(|_| Plan::Break(10)));
    refused(&fetch(&home, &hub, MODEL), &["broke off after 70 B of 97.66 KiB", "try again"]);
    assert_eq!(offsets(&hub), [0, 10, 20, 30, 40, 50, 60]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(hub.sent_bytes(), bytes.len());
}

#[test]
fn what_has_the_wrong_checksum_is_deleted_and_never_used() {
    let home = Home::new();
    let bytes = model(100_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Other]);
    refused(&fetch(&home, &hub, MODEL), &[FILE, "another checksum", "deleted", "try again"]);
    let left = files_below(&home.path("hf"));
    assert!(matches!(&left[..], [lock] if lock.extension().unwrap() == "lock"), "{left:?}");
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(offsets(&hub), [0, 0]);
}

#[test]
fn what_an_earlier_download_left_spoiled_is_downloaded_anew() {
    for left in [vec![0; 60_000], vec![0; 100_000], vec![0; 200_000]] {
        let home = Home::new();
        let bytes = model(100_000);
        let hub = Hub::with(&[(FILE, &bytes)]);
        fs::create_dir_all(folder(&home).join("blobs")).unwrap();
        fs::write(incomplete(&home, &bytes), left).unwrap();
        brought(&fetch(&home, &hub, MODEL), &bytes);
        assert_eq!(offsets(&hub).last(), Some(&0));
    }
}

#[test]
fn what_an_earlier_download_left_whole_is_only_checked() {
    let home = Home::new();
    let bytes = model(100_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    fs::create_dir_all(folder(&home).join("blobs")).unwrap();
    fs::write(incomplete(&home, &bytes), &bytes).unwrap();
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(hub.asked(), []);
}

#[test]
fn a_hub_that_cannot_go_on_is_asked_for_the_whole() {
    let home = Home::new();
    let bytes = model(100_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Break(40_000), Plan::FromTheBeginning]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(hub.sent_bytes(), 140_000);
}

#[test]
fn a_file_longer_or_shorter_than_the_listing_says_is_refused_before_it_comes() {
    for more in [-1, 1, 1_000] {
        let home = Home::new();
        let bytes = model(100_000);
        let hub = Hub::with(&[(FILE, &bytes)]);
        hub.plan([Plan::Promise(more)]);
        refused(&fetch(&home, &hub, MODEL), &[FILE, "another length", "instead of 100000 bytes"]);
        assert_eq!(length(&incomplete(&home, &bytes)), 0);
        brought(&fetch(&home, &hub, MODEL), &bytes);
    }
}

#[test]
fn a_body_of_unknown_length_is_used_only_as_far_as_the_listing_says() {
    for (more, offsets_asked) in [(1_000, &[0][..]), (-1_000, &[0, 99_000])] {
        let home = Home::new();
        let bytes = model(100_000);
        let hub = Hub::with(&[(FILE, &bytes)]);
        hub.plan([Plan::Unpromised(more)]);
        brought(&fetch(&home, &hub, MODEL), &bytes);
        assert_eq!(offsets(&hub), offsets_asked, "{more}");
    }
}

#[test]
fn a_hub_that_refuses_is_told_in_one_sentence() {
    let home = Home::new();
    let bytes = model(10);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let host = hub.address().to_string();
    for (status, header, words) in [
        (401, "", &["does not exist or is not public", "HF_TOKEN"][..]),
        (403, "", &["does not exist or is not public", "HF_TOKEN"]),
        (404, "", &["there is no someone/some-model-GGUF", &host, "check its name"]),
        (418, "", &["status 418", "HF_ENDPOINT"]),
        (429, "Retry-After: 3600", &["cannot serve this now (429)", "try again in 3600 s"]),
        (503, "Retry-After: 86400", &["(503)", "in 86400 s"]),
        (302, "Location: ftp://elsewhere/", &["not safe to follow"]),
        (302, "Location: http://[", &["not safe to follow"]),
        (200, "", &["not a hub's listing", "HF_ENDPOINT"]),
    ] {
        hub.answers(status, header, "<html>");
        refused(&fetch(&home, &hub, MODEL), words);
    }
    hub.answers(403, "", "");
    let mut with_token = command(&home, &hub, &["fetch", MODEL]);
    with_token.env("HF_TOKEN", "hf_secret");
    refused(&run(with_token), &["refuses", "to this token", "ask for access"]);
    for _ in 0..=10 {
        hub.answers(302, "Location: ?blobs=true", "");
    }
    refused(&fetch(&home, &hub, MODEL), &["from address to address without end"]);
    assert!(!home.path("hf").exists(), "nothing was written");
    let mut safe = command(&home, &hub, &["fetch", MODEL]);
    safe.env("HF_ENDPOINT", format!("https://{host}"));
    refused(&run(safe), &["no safe connection", "check the clock"]);
}

#[test]
fn a_hub_that_has_too_much_to_do_is_asked_again_when_it_says() {
    let home = Home::new();
    let bytes = model(10_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.answers(503, "", "");
    hub.answers(429, "Retry-After: 1", "");
    hub.plan([Plan::Status(500, "X-A: b"), Plan::Status(403, "X-Signature: expired")]);
    let begun = Instant::now();
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert!(begun.elapsed().as_millis() >= 1_000, "it waits for as long as it is asked to");
    assert_eq!((hub.listings(), offsets(&hub)), (3, vec![0, 0, 0]));
}
