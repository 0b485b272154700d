//! A model that is asked for by its name on a hub comes whole or not at all, and only once.

mod server;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc,
    thread,
};

use serde_json::json;
use tokio::time::Instant;

use super::{Ended, Home, PATIENCE, Running, signal};
use server::{Asked, COMMIT, Hub, Plan, sha256};

const MODEL: &str = "someone/some-model-GGUF";
const FILE: &str = "some-model-Q4_K_M.gguf";

/// A model's bytes, as far as a hub is concerned: no two pieces of them are alike.
fn model(bytes: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

/// The program in a home of its own, with this hub as the hub.
fn command(home: &Home, hub: &Hub, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    command.env("HF_ENDPOINT", hub.endpoint()).env("HF_HOME", home.path("hf"));
    command
}

fn run(command: Command) -> Ended {
    Running::start(command).ended()
}

fn fetch(home: &Home, hub: &Hub, name: &str) -> Ended {
    run(command(home, hub, &["fetch", name]))
}

/// The repository's folder in the cache.
fn folder(home: &Home) -> PathBuf {
    home.path("hf/hub/models--someone--some-model-GGUF")
}

fn blob(home: &Home, bytes: &[u8]) -> PathBuf {
    folder(home).join("blobs").join(sha256(bytes))
}

fn incomplete(home: &Home, bytes: &[u8]) -> PathBuf {
    blob(home, bytes).with_extension("incomplete")
}

/// It went well: the path that was printed leads to these bytes.
fn brought(ended: &Ended, bytes: &[u8]) -> PathBuf {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let path = PathBuf::from(ended.out.strip_suffix('\n').unwrap());
    assert!(fs::read(&path).unwrap() == bytes, "{path:?} has other bytes");
    path
}

/// It ended with one sentence that has these words, and printed no path.
fn refused(ended: &Ended, words: &[&str]) {
    let told: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("madang: ")).collect();
    let [sentence] = told[..] else { panic!("more or less than one sentence: {ended:?}") };
    assert_eq!((ended.code, &*ended.out), (Some(1), ""), "{ended:?}");
    for word in words {
        assert!(sentence.contains(word), "{word:?} is missing in {sentence:?}");
    }
}

fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to that");
        thread::yield_now();
    }
}

fn length(path: &Path) -> usize {
    fs::metadata(path).map_or(0, |found| usize::try_from(found.len()).unwrap())
}

/// From which places the hub was asked for bytes.
fn places(hub: &Hub) -> Vec<usize> {
    hub.asked().iter().map(|asked| asked.from).collect()
}

/// All files below a folder, in order.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}

#[test]
fn a_model_is_downloaded_once_and_lies_where_the_hubs_own_tools_look_for_it() {
    let (home, bytes) = (Home::new(), model(300_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let ended = fetch(&home, &hub, MODEL);
    let path = brought(&ended, &bytes);
    assert_eq!(
        ended.err,
        format!("Downloads {MODEL} (292.97 KiB).\n"),
        "one line where nobody sees a bar"
    );
    assert_eq!(path, folder(&home).join("snapshots").join(COMMIT).join(FILE));
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("../../blobs").join(sha256(&bytes)));
    assert_eq!(fs::read_to_string(folder(&home).join("refs/main")).unwrap(), COMMIT);
    let lock = home.path("hf/hub/.locks/models--someone--some-model-GGUF");
    let expected = [lock.join(sha256(&bytes)).with_extension("lock"), blob(&home, &bytes)];
    assert_eq!(
        files_below(&home.path("hf")),
        [&expected[..], &[folder(&home).join("refs/main"), path.clone()]].concat()
    );

    let again = fetch(&home, &hub, MODEL);
    assert_eq!((brought(&again, &bytes), &*again.err), (path, ""));
    assert_eq!(hub.asked(), [Asked { file: FILE.to_owned(), from: 0, sent: bytes.len() }]);
}

#[test]
fn the_quantisation_decides_which_file_is_downloaded() {
    let (home, usual, other) = (Home::new(), model(1_000), model(2_000));
    let hub = Hub::with(&[
        ("m-Q8_0.gguf", &other),
        ("m-Q4_K_M.gguf", &usual),
        ("mmproj-Q8_0.gguf", b"eye"),
    ]);
    brought(&fetch(&home, &hub, MODEL), &usual);
    brought(&fetch(&home, &hub, &format!("{MODEL}:q8_0")), &other);
    assert_eq!(hub.sent_bytes(), 3_000);
    refused(
        &fetch(&home, &hub, &format!("{MODEL}:Q2_K")),
        &["Q2_K is not there", "has Q4_K_M, Q8_0"],
    );
    hub.has(&[("model.safetensors", b"weights")]);
    refused(&fetch(&home, &hub, MODEL), &["has no GGUF file", "give a repository that has"]);
}

#[test]
fn a_split_model_is_downloaded_in_all_its_parts_and_the_first_is_named() {
    let (home, parts) = (Home::new(), [model(1_000), model(2_000), model(3_000)]);
    let name = |number| format!("Q8_0/m-Q8_0-{number:05}-of-00003.gguf");
    let names = [name(1), name(2), name(3)];
    let hub = Hub::with(&[(&names[2], &parts[2]), (&names[0], &parts[0]), (&names[1], &parts[1])]);
    let first = brought(&fetch(&home, &hub, MODEL), &parts[0]);
    assert!(first.ends_with(&names[0]), "{first:?}");
    assert_eq!(fs::read_link(&first).unwrap(), Path::new("../../../blobs").join(sha256(&parts[0])));
    for (name, part) in names.iter().zip(&parts) {
        assert_eq!(fs::read(first.parent().unwrap().parent().unwrap().join(name)).unwrap(), *part);
    }
    assert_eq!(hub.sent_bytes(), 6_000);

    hub.has(&[(&names[0], &parts[0]), (&names[2], &parts[2])]);
    refused(&fetch(&Home::new(), &hub, MODEL), &["not whole", &names[1]]);
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_broke_off() {
    let (home, bytes) = (Home::new(), model(1_000_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Break(400_000), Plan::Break(0), Plan::Break(1)]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(places(&hub), [0, 400_000, 400_000, 400_001]);
    assert_eq!(hub.sent_bytes(), bytes.len(), "no byte was sent twice");
}

#[test]
fn a_program_that_is_killed_in_mid_download_goes_on_at_its_next_start() {
    let (home, bytes) = (Home::new(), model(900_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let mut has = 0;
    for (name, more) in [("KILL", 300_000), ("INT", 200_000), ("TERM", 100_000)] {
        let (keep, released) = mpsc::channel();
        hub.plan([Plan::Hold(more, released)]);
        let running = Running::start(command(&home, &hub, &["fetch", MODEL]));
        has += more;
        until(|| length(&incomplete(&home, &bytes)) == has);
        signal(name, running.child.id());
        assert_eq!(running.ended().code, None, "{name} ends it at once");
        assert!(!blob(&home, &bytes).exists(), "nothing half-made has a final name");
        assert!(!folder(&home).join("snapshots").exists());
        drop(keep);
    }
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(places(&hub), [0, 300_000, 500_000, 600_000]);
    assert!(!incomplete(&home, &bytes).exists());
}

#[test]
fn a_hub_that_breaks_off_again_and_again_is_given_up_and_what_came_is_kept() {
    let (home, bytes) = (Home::new(), model(100_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan((0..7).map(|_| Plan::Break(10)));
    refused(&fetch(&home, &hub, MODEL), &["broke off after 70 B of 97.66 KiB", "try again"]);
    assert_eq!(places(&hub), [0, 10, 20, 30, 40, 50, 60]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(hub.sent_bytes(), bytes.len());
}

#[test]
fn what_has_the_wrong_checksum_is_deleted_and_never_used() {
    let (home, bytes) = (Home::new(), model(100_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Other]);
    refused(&fetch(&home, &hub, MODEL), &[FILE, "another checksum", "deleted", "try again"]);
    let left = files_below(&home.path("hf"));
    assert!(matches!(&left[..], [lock] if lock.extension().unwrap() == "lock"), "{left:?}");
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(places(&hub), [0, 0]);
}

#[test]
fn what_an_earlier_download_left_spoiled_is_downloaded_anew() {
    for left in [vec![0; 60_000], vec![0; 100_000], vec![0; 200_000]] {
        let (home, bytes) = (Home::new(), model(100_000));
        let hub = Hub::with(&[(FILE, &bytes)]);
        fs::create_dir_all(folder(&home).join("blobs")).unwrap();
        fs::write(incomplete(&home, &bytes), left).unwrap();
        brought(&fetch(&home, &hub, MODEL), &bytes);
        assert_eq!(places(&hub).last(), Some(&0));
    }
}

#[test]
fn what_an_earlier_download_left_whole_is_only_checked() {
    let (home, bytes) = (Home::new(), model(100_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    fs::create_dir_all(folder(&home).join("blobs")).unwrap();
    fs::write(incomplete(&home, &bytes), &bytes).unwrap();
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(hub.asked(), []);
}

#[test]
fn a_hub_that_cannot_go_on_is_asked_for_the_whole() {
    let (home, bytes) = (Home::new(), model(100_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Break(40_000), Plan::FromTheBeginning]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(hub.sent_bytes(), 140_000);
}

#[test]
fn a_file_that_is_longer_or_shorter_than_the_listing_says_is_refused_before_it_comes() {
    for more in [-1, 1, 1_000] {
        let (home, bytes) = (Home::new(), model(100_000));
        let hub = Hub::with(&[(FILE, &bytes)]);
        hub.plan([Plan::Promise(more)]);
        refused(&fetch(&home, &hub, MODEL), &[FILE, "another length", "instead of 100000 bytes"]);
        assert_eq!(length(&incomplete(&home, &bytes)), 0);
        brought(&fetch(&home, &hub, MODEL), &bytes);
    }
}

#[test]
fn a_body_of_unknown_length_is_used_only_as_far_as_the_listing_says() {
    for (more, places_asked) in [(1_000, &[0][..]), (-1_000, &[0, 99_000])] {
        let (home, bytes) = (Home::new(), model(100_000));
        let hub = Hub::with(&[(FILE, &bytes)]);
        hub.plan([Plan::Unpromised(more)]);
        brought(&fetch(&home, &hub, MODEL), &bytes);
        assert_eq!(places(&hub), places_asked, "{more}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn in_a_terminal_a_bar_shows_how_far_it_is() {
    let (home, bytes) = (Home::new(), model(100_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let (release, released) = mpsc::channel();
    hub.plan([Plan::Hold(50_000, released)]);
    let shown = format!("{} fetch {MODEL}", env!("CARGO_BIN_EXE_madang"));
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--flush", "--return", "--command", &shown, "/dev/null"]);
    terminal
        .env("HF_ENDPOINT", hub.endpoint())
        .env("HF_HOME", home.path("hf"))
        .env("TERM", "xterm");
    terminal.env_remove("HF_TOKEN").env_remove("HF_HUB_CACHE").env_remove("LLAMA_CACHE");
    let mut terminal = Running::start(terminal);
    terminal.until_shown("/ 97.66 KiB");
    release.send(()).unwrap();
    terminal.until(FILE);
    assert_eq!(terminal.ended().code, Some(0));
}

#[test]
fn two_programs_at_once_download_the_model_once_and_the_second_says_that_it_waits() {
    let (home, bytes) = (Home::new(), model(200_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let (release, released) = mpsc::channel();
    hub.plan([Plan::Hold(50_000, released)]);
    let first = Running::start(command(&home, &hub, &["fetch", MODEL]));
    until(|| length(&incomplete(&home, &bytes)) == 50_000);
    let mut second = command(&home, &hub, &["fetch", MODEL]);
    let told = home.path("told");
    second.stderr(fs::File::create(&told).unwrap());
    let mut second = second.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let says = || fs::read_to_string(&told).unwrap();
    until(|| says().contains(&format!("Waits for another program that downloads {FILE}.")));
    assert!(second.try_wait().unwrap().is_none());
    release.send(()).unwrap();
    brought(&first.ended(), &bytes);
    let second = second.wait_with_output().unwrap();
    assert!(second.status.success(), "{}", says());
    assert_eq!((hub.asked().len(), hub.sent_bytes()), (1, bytes.len()));
}

#[test]
fn who_waits_for_a_program_that_is_killed_goes_on_in_its_place() {
    let (home, bytes) = (Home::new(), model(200_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let (_keep, released) = mpsc::channel();
    hub.plan([Plan::Hold(50_000, released)]);
    let first = Running::start(command(&home, &hub, &["fetch", MODEL]));
    until(|| length(&incomplete(&home, &bytes)) == 50_000);
    let second = Running::start(command(&home, &hub, &["fetch", MODEL]));
    until(|| hub.listings() == 2);
    signal("KILL", first.child.id());
    first.ended();
    brought(&second.ended(), &bytes);
    assert_eq!(places(&hub), [0, 50_000]);
}

#[test]
fn a_hub_that_refuses_is_told_in_one_sentence() {
    let (home, bytes) = (Home::new(), model(10));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let host = hub.address().to_string();
    for (status, header, words) in [
        (401, "", &["does not exist or is not open to everybody", "HF_TOKEN"][..]),
        (403, "", &["does not exist or is not open to everybody", "HF_TOKEN"]),
        (404, "", &["there is no someone/some-model-GGUF", &host, "check its name"]),
        (418, "", &["status 418", "HF_ENDPOINT"]),
        (429, "Retry-After: 3600", &["cannot serve this now (429)", "try again in 3600 s"]),
        (503, "Retry-After: 86400", &["(503)", "in 86400 s"]),
        (302, "Location: ftp://elsewhere/", &["not safe to follow"]),
        (302, "Location: http://[", &["not safe to follow"]),
        (200, "", &["no hub's listing", "HF_ENDPOINT"]),
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
    let (home, bytes) = (Home::new(), model(10_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.answers(503, "", "");
    hub.answers(429, "Retry-After: 1", "");
    hub.plan([Plan::Status(500, "X-A: b"), Plan::Status(403, "X-Signature: expired")]);
    let begun = Instant::now();
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert!(begun.elapsed().as_millis() >= 1_000, "it waits for as long as it is asked to");
    assert_eq!((hub.listings(), places(&hub)), (3, vec![0, 0, 0]));
}

#[test]
fn without_a_network_the_model_that_is_here_is_used() {
    let (home, bytes) = (Home::new(), model(10_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let path = brought(&fetch(&home, &hub, MODEL), &bytes);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let without = |name: &str| {
        let mut command = command(&home, &hub, &["fetch", name, "--verbose"]);
        command.env("HF_ENDPOINT", format!("http://{nobody}"));
        run(command)
    };
    let ended = without(MODEL);
    assert_eq!(brought(&ended, &bytes), path);
    assert!(
        ended.err.starts_with("Uses the model that is here: failed to reach 127.0.0.1"),
        "{ended:?}"
    );
    let ended = without(&format!("{MODEL}:Q8_0"));
    assert!(
        ended.err.contains("check the network") && ended.err.contains("because: "),
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(1));
}

#[test]
fn nobody_is_asked_who_wants_to_be_offline() {
    let (home, bytes) = (Home::new(), model(10_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let offline = || {
        let mut command = command(&home, &hub, &["fetch", MODEL]);
        command.env("HF_HUB_OFFLINE", "1");
        run(command)
    };
    refused(&offline(), &["is not in", "HF_HUB_OFFLINE is set", "unset it"]);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    brought(&offline(), &bytes);
    assert_eq!(hub.listings(), 1);
}

#[test]
fn a_newer_file_takes_the_place_of_an_older_one_which_will_do_until_it_is_whole() {
    let (home, older, newer) = (Home::new(), model(10_000), model(50_000));
    let hub = Hub::with(&[(FILE, &older)]);
    brought(&fetch(&home, &hub, MODEL), &older);
    hub.has(&[(FILE, &newer)]);
    hub.plan([Plan::Break(10), Plan::Status(503, "Retry-After: 3600")]);
    let ended = fetch(&home, &hub, MODEL);
    brought(&ended, &older);
    assert!(ended.err.contains("Uses the model that is here"), "{ended:?}");
    brought(&fetch(&home, &hub, MODEL), &newer);
}

#[test]
fn names_that_lead_out_of_the_cache_are_refused() {
    let home = Home::new();
    let hub = Hub::with(&[]);
    for name in [
        "../../../../evil.gguf",
        "/tmp/evil.gguf",
        "a/../../evil.gguf",
        "a\\..\\evil.gguf",
        "evil\u{1b}[2J.gguf",
    ] {
        let lfs = json!({ "sha256": sha256(b"evil"), "size": 4 });
        let listing = json!({ "sha": COMMIT, "siblings": [{ "rfilename": name, "lfs": lfs }] });
        hub.answers(200, "", &listing.to_string());
        refused(&fetch(&home, &hub, MODEL), &["no hub's listing", "that you do not trust"]);
    }
    for (commit, sum) in [("../../../evil", sha256(b"evil")), (COMMIT, "../../../evil".to_owned())]
    {
        let lfs = json!({ "sha256": sum, "size": 4 });
        let listing = json!({ "sha": commit, "siblings": [{ "rfilename": FILE, "lfs": lfs }] });
        hub.answers(200, "", &listing.to_string());
        refused(&fetch(&home, &hub, MODEL), &["no hub's listing"]);
    }
    hub.answers(
        200,
        "",
        &json!({ "sha": COMMIT, "siblings": [{ "rfilename": FILE }] }).to_string(),
    );
    refused(&fetch(&home, &hub, MODEL), &["no checksum", FILE, "--model"]);
    assert_eq!(files_below(home.folder.path()), Vec::<PathBuf>::new(), "nothing was written");
    assert_eq!(hub.asked(), []);
}

#[test]
fn a_token_goes_to_the_hub_alone_and_is_never_shown() {
    let (home, bytes) = (Home::new(), model(10_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    hub.plan([Plan::Break(10)]);
    let mut fetch = command(&home, &hub, &["fetch", MODEL, "--verbose"]);
    fetch.env("HF_TOKEN", "hf_secret").env("RUST_LOG", "trace");
    let ended = run(fetch);
    brought(&ended, &bytes);
    assert!(ended.err.contains("broke off"), "there is a log: {ended:?}");
    assert!(!ended.err.contains("hf_secret") && !ended.err.contains("Signature"), "{ended:?}");
    for (place, token) in hub.tokens() {
        assert_eq!(token.as_deref(), (place == "hub").then_some("Bearer hf_secret"), "{place}");
    }
    assert!(hub.tokens().iter().filter(|(place, _)| *place == "bytes").count() == 2);
}

/// Takes the right to write from all folders below, also from root, which the program is then not run as.
fn read_only(home: &Home, hub: &Hub, arguments: &[&str]) -> Ended {
    use std::os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    };
    const NOBODY: u32 = 65_534;
    let folder = home.folder.path();
    let mut wanted = command(home, hub, arguments);
    if fs::metadata(home.path("hf")).unwrap().uid() == 0 {
        let program = home.path("program");
        fs::copy(env!("CARGO_BIN_EXE_madang"), &program).unwrap();
        chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        let mut other = Command::new(&program);
        other.args(arguments).current_dir(folder).uid(NOBODY).gid(NOBODY).env_clear();
        other.env("HF_ENDPOINT", hub.endpoint()).env("HF_HOME", home.path("hf"));
        wanted = other;
    }
    let set = |mode| {
        let status =
            Command::new("chmod").args(["-R", mode]).arg(home.path("hf")).status().unwrap();
        assert!(status.success());
    };
    set("a-w,a+rX");
    let ended = run(wanted);
    set("u+w");
    ended
}

#[test]
fn a_cache_that_cannot_be_written_serves_what_it_has_and_says_what_it_cannot() {
    let (home, older) = (Home::new(), model(10_000));
    let hub = Hub::with(&[(FILE, &older)]);
    fs::create_dir(home.path("hf")).unwrap();
    refused(&read_only(&home, &hub, &["fetch", MODEL]), &["may not be written", "HF_HUB_CACHE"]);
    brought(&fetch(&home, &hub, MODEL), &older);
    let ended = read_only(&home, &hub, &["fetch", MODEL]);
    assert_eq!((brought(&ended, &older).is_file(), &*ended.err), (true, ""));
    hub.has(&[(FILE, &model(20_000))]);
    let ended = read_only(&home, &hub, &["fetch", MODEL]);
    brought(&ended, &older);
    assert!(ended.err.contains("Uses the model that is here"), "{ended:?}");
    assert_eq!(hub.sent_bytes(), older.len());
}

/// A bound on the length of files stands for a full disk: both are refused by the write.
#[test]
fn a_disk_without_room_is_told_and_what_came_is_kept() {
    let (home, bytes) = (Home::new(), model(100_000));
    let hub = Hub::with(&[(FILE, &bytes)]);
    let fetching = command(&home, &hub, &["fetch", MODEL]);
    let mut bounded = Command::new("sh");
    bounded.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"]);
    bounded.arg(fetching.get_program()).args(fetching.get_args()).env_clear();
    for (name, value) in fetching.get_envs() {
        bounded.env(name, value.unwrap());
    }
    refused(&run(bounded), &["there is no room", "make some", "HF_HUB_CACHE"]);
    assert_eq!(length(&incomplete(&home, &bytes)), 64 * 512);
    brought(&fetch(&home, &hub, MODEL), &bytes);
    assert_eq!(places(&hub), [0, 64 * 512]);
}

#[test]
fn what_names_no_model_is_refused_with_an_example() {
    let home = Home::new();
    for arguments in [
        &["fetch", "some-model"][..],
        &["fetch", "https://huggingface.co/a/b"],
        &["fetch", "a/../b"],
        &["chat", "--hf", "a/b:"],
    ] {
        let ended = home.run(arguments, "");
        assert_eq!((ended.code, &*ended.out), (Some(2), ""), "{ended:?}");
        assert!(ended.err.contains("for example ggml-org/gemma-3-1b-it-GGUF:Q4_K_M"), "{ended:?}");
    }
    for other in ["--model", "--script"] {
        let ended = home.run(&["chat", "--hf", "a/b", other, "file"], "");
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("cannot be used with"), "{ended:?}");
    }
}

#[cfg(not(feature = "llama"))]
#[test]
fn a_program_that_could_not_use_the_model_downloads_none() {
    let home = Home::new();
    let hub = Hub::with(&[(FILE, &model(10))]);
    let ended = run(command(&home, &hub, &["chat", "--hf", MODEL]));
    ended.failed_with(&["built without llama.cpp"]);
    assert_eq!(hub.listings(), 0);
}

#[cfg(feature = "bundled-model")]
#[test]
fn a_chat_is_held_with_a_model_from_the_hub() {
    let home = Home::new();
    let bytes = include_bytes!("../../../../models/madang-seed.gguf");
    let hub = Hub::with(&[("madang-seed.gguf", bytes)]);
    hub.plan([Plan::Break(1_000_000)]);
    let arguments = ["chat", "--hf", "madang/seed", "--json", "--locale", "ko"];
    let mut chat = Running::start(command(&home, &hub, &arguments));
    chat.write("수면에 좋은 프로토콜 찾아줘\n".as_bytes());
    let ended = chat.ended();
    assert_eq!((ended.code, ended.of_type("turn_ended").len()), (Some(0), 1), "{ended:?}");
    assert_eq!(ended.of_type("turn_ended")[0]["ending"], "answered");
    assert_eq!(hub.sent_bytes(), bytes.len());
}
