//! `scripts/setup.sh clients` asks the package manager for what is missing and for nothing else,
//! where it may; elsewhere one sentence says what to type. It runs in a `PATH` of stand-ins, so
//! this machine stays as it is.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A machine with some commands.
struct Machine {
    folder: TempDir,
}

/// The end of the script.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    err: String,
    /// What `apt-get` was asked for, a line each.
    asked: String,
}

/// What each machine has. The script takes them from here.
const TOOLS: [&str; 8] = ["bash", "chmod", "cut", "dirname", "env", "sed", "sh", "uname"];

/// The accounts of root and of a person.
const ROOT: &str = "0";
const PERSON: &str = "1000";

/// A Python without the modules that the tests need, as Debian installs it.
const BARE_PYTHON: &str = "exit 1";

/// Writes down what it is asked for, and installs it: a command for each package, and a Python with
/// its modules.
const APT_GET: &str = r#"echo "$*" >>"$MACHINE/asked"
if [ "$1" = install ]; then
    shift 3
    for package in "$@"; do
        name=${package%-venv}
        printf '#!/bin/sh\nexit 0\n' >"$MACHINE/bin/${name%js}"
        chmod +x "$MACHINE/bin/${name%js}"
    done
fi"#;

impl Machine {
    /// A machine on which Madang can be built, with Debian's package manager, used by this account.
    fn new(account: &str) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(machine.bin()).unwrap();
        for tool in TOOLS {
            let path = std::env::var_os("PATH").unwrap();
            let found = std::env::split_paths(&path).map(|folder| folder.join(tool));
            let found = found.into_iter().find(|file| file.exists());
            symlink(found.unwrap_or_else(|| panic!("no {tool} here")), machine.bin().join(tool))
                .unwrap();
        }
        for built_with in ["cargo", "cc", "c++", "cmake"] {
            machine.add(built_with, "exit 0");
        }
        fs::write(machine.folder.path().join("libclang.so"), "").unwrap();
        machine.add("rustc", "echo rustc 99.0.0");
        machine.add("id", &format!("echo {account}"));
        machine.add("apt-get", APT_GET);
        machine
    }

    fn bin(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// Adds a command.
    fn add(&self, name: &str, does: &str) {
        let file = self.bin().join(name);
        fs::write(&file, format!("#!/bin/sh\n{does}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn sets_up_clients(&self) -> Ended {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/setup.sh");
        let mut command = Command::new(self.bin().join("bash"));
        command.arg(script).arg("clients").env_clear().env("PATH", self.bin());
        command.env("MACHINE", self.folder.path()).env("LIBCLANG_PATH", self.folder.path());
        let output = command.output().unwrap();
        let asked = fs::read_to_string(self.folder.path().join("asked")).unwrap_or_default();
        Ended { code: output.status.code(), err: String::from_utf8(output.stderr).unwrap(), asked }
    }
}

impl Ended {
    /// Requires one sentence with these words, a failure, and that nothing was asked for.
    fn says(&self, words: &[&str]) {
        assert_eq!(
            (self.code, &*self.asked, self.err.lines().count()),
            (Some(1), "", 1),
            "{self:?}"
        );
        for word in words {
            assert!(self.err.contains(word), "{word:?} is missing: {self:?}");
        }
    }
}

/// Gives the order to install these packages.
fn install(packages: &str) -> String {
    format!("update\ninstall -y --no-install-recommends {packages}\n")
}

#[test]
fn exactly_what_is_missing_is_asked_for() {
    let machine = Machine::new(ROOT);
    machine.add("node", "exit 0");
    machine.add("python3", BARE_PYTHON);
    let ended = machine.sets_up_clients();
    assert_eq!(
        (ended.code, &*ended.asked),
        (Some(0), &*install("npm curl python3-venv")),
        "{ended:?}"
    );
    let again = machine.sets_up_clients();
    assert_eq!(
        (again.code, again.asked, &*again.err),
        (Some(0), ended.asked, ""),
        "nothing is missing"
    );

    let machine = Machine::new(ROOT);
    let ended = machine.sets_up_clients();
    let all = install("npm python3 curl nodejs python3-venv");
    assert_eq!((ended.code, ended.asked), (Some(0), all), "{}", ended.err);
}

#[test]
fn a_person_who_may_without_a_password_asks_through_sudo() {
    let machine = Machine::new(PERSON);
    for there in ["node", "npm", "curl"] {
        machine.add(there, "exit 0");
    }
    machine.add("python3", BARE_PYTHON);
    // `sudo -n COMMAND`, for an account that needs no password.
    machine.add("sudo", r#"shift; echo "as root" >>"$MACHINE/asked"; exec "$@""#);
    machine.add("true", "exit 0");
    let ended = machine.sets_up_clients();
    let asked = ended.asked.replace("as root\n", "");
    assert_eq!((ended.code, asked), (Some(0), install("python3-venv")), "{}", ended.err);
    assert!(ended.asked.starts_with("as root\n"));
}

#[test]
fn without_rights_one_sentence_says_what_to_type() {
    let machine = Machine::new(PERSON);
    machine.add("node", "exit 0");
    machine.add("python3", BARE_PYTHON);
    let ended = machine.sets_up_clients();
    ended.says(&["need npm curl python3-venv", "`su -c 'apt-get install npm curl python3-venv'`"]);
    // A sudo that asks for a password.
    machine.add("sudo", "exit 1");
    let ended = machine.sets_up_clients();
    ended.says(&["type `sudo apt-get install npm curl python3-venv`, then try again"]);
    fs::remove_file(machine.bin().join("apt-get")).unwrap();
    let ended = machine.sets_up_clients();
    ended.says(&["install npm curl python3-venv with your package manager, then try again"]);
}

#[test]
fn an_installation_that_fails_is_told_with_what_to_type() {
    let machine = Machine::new(ROOT);
    machine.add("python3", "exit 0");
    machine.add("npm", "exit 0");
    machine.add("node", "exit 0");
    machine.add("apt-get", "exit 100");
    let ended = machine.sets_up_clients();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let last = ended.err.lines().last().unwrap();
    assert!(last.contains("need curl: type `apt-get install curl`, then try again"), "{ended:?}");
}
