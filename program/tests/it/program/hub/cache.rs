//! Tests the shared cache: programs wait for each other, work without a hub, and say what they
//! cannot write.

use super::*;

#[test]
fn two_programs_at_once_download_the_model_once_and_the_second_says_that_it_waits() {
    let home = Home::new();
    let bytes = model(200_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let (release, released) = mpsc::channel();
    hub.plan([Plan::Hold(50_000, released)]);
    let first = RunningProgram::start(command(&home, &hub, &["fetch", MODEL]));
    until(|| length(&incomplete(&home, &bytes)) == 50_000);
    let mut second = command(&home, &hub, &["fetch", MODEL]);
    let told = home.path("told");
    second.stderr(fs::File::create(&told).unwrap());
    second.stdout(std::process::Stdio::piped());
    let mut second = RunningProgram::spawned(second);
    let says = || fs::read_to_string(&told).unwrap();
    until(|| says().contains(&format!("Waits for another program that downloads {FILE}.")));
    assert!(second.child.try_wait().unwrap().is_none());
    release.send(()).unwrap();
    brought(&first.ended(), &bytes);
    assert_eq!(second.ended().code, Some(0), "{}", says());
    assert_eq!((hub.asked().len(), hub.sent_bytes()), (1, bytes.len()));
}

#[test]
fn a_program_that_waits_for_a_killed_one_goes_on_in_its_place() {
    let home = Home::new();
    let bytes = model(200_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let (_keep, released) = mpsc::channel();
    hub.plan([Plan::Hold(50_000, released)]);
    let first = RunningProgram::start(command(&home, &hub, &["fetch", MODEL]));
    until(|| length(&incomplete(&home, &bytes)) == 50_000);
    let second = RunningProgram::start(command(&home, &hub, &["fetch", MODEL]));
    until(|| hub.listings() == 2);
    signal("KILL", first.child.id());
    first.ended();
    brought(&second.ended(), &bytes);
    assert_eq!(offsets(&hub), [0, 50_000]);
}

#[test]
fn without_a_network_the_model_that_is_here_is_used() {
    let home = Home::new();
    let bytes = model(10_000);
    let hub = Hub::with(&[(FILE, &bytes)]);
    let path = brought(&fetch(&home, &hub, MODEL), &bytes);
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let without = |name: &str| {
        let mut command = command(&home, &hub, &["fetch", name, "--verbose"]);
        command.env("HF_ENDPOINT", format!("http://{unused}"));
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
fn no_hub_is_asked_offline() {
    let home = Home::new();
    let bytes = model(10_000);
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
    let home = Home::new();
    let older = model(10_000);
    let newer = model(50_000);
    let hub = Hub::with(&[(FILE, &older)]);
    brought(&fetch(&home, &hub, MODEL), &older);
    hub.has(&[(FILE, &newer)]);
    hub.plan([Plan::Break(10), Plan::Status(503, "Retry-After: 3600")]);
    let ended = fetch(&home, &hub, MODEL);
    brought(&ended, &older);
    assert!(ended.err.contains("Uses the model that is here"), "{ended:?}");
    brought(&fetch(&home, &hub, MODEL), &newer);
}

/// Makes all folders below read-only, also for root, which then runs the program as another
/// account.
fn read_only(home: &Home, hub: &Hub, arguments: &[&str]) -> Ended {
    use std::os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    };
    const OTHER_USER: u32 = 65_534;
    let folder = home.folder.path();
    let mut wanted = command(home, hub, arguments);
    if fs::metadata(home.path("hf")).unwrap().uid() == 0 {
        let program = home.path("program");
        fs::copy(env!("CARGO_BIN_EXE_madang"), &program).unwrap();
        chown(folder, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
        let mut other = Command::new(&program);
        other.args(arguments).current_dir(folder).uid(OTHER_USER).gid(OTHER_USER).env_clear();
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
    let home = Home::new();
    let older = model(10_000);
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

/// A bound on the length of files stands for a full disk: the write fails in both cases.
#[test]
fn a_disk_without_room_is_told_and_what_came_is_kept() {
    let home = Home::new();
    let bytes = model(100_000);
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
    assert_eq!(offsets(&hub), [0, 64 * 512]);
}
