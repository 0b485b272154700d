//! Runs jobs that concern a whole process in a child: this test program, started again.

use std::{
    env,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use madang_actors::failpoint::{self, Action};
use madang_proof::{
    failpoints::evening,
    mistakes::Mistake,
    oracle::{Line, Oracle, Sink},
};

use crate::{afterwards, sentences, sources};

const JOB: &str = "MADANG_FAILPOINTS_JOB";
const POINT: &str = "MADANG_FAILPOINTS_POINT";
const FOLDER: &str = "MADANG_FAILPOINTS_FOLDER";
const MISTAKE: &str = "MADANG_FAILPOINTS_MISTAKE";

/// The evenings within which every step is reached.
const EVENINGS: u32 = 10;

/// Marks the lines for the parent; the test program prints others.
const MARK: &str = "> ";

/// A child to be started.
pub(crate) struct Child(Command);

impl Child {
    pub(crate) fn of(job: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["child::does_its_job", "--exact", "--ignored", "--nocapture"]);
        command.env(JOB, job).env("RUST_BACKTRACE", "0").stderr(Stdio::null());
        Self(command)
    }

    /// Arms this failpoint, in this folder.
    pub(crate) fn at(mut self, name: &str, folder: &Path) -> Self {
        self.0.env(POINT, name).env(FOLDER, folder);
        self
    }

    /// Adds this mistake.
    pub(crate) fn with(mut self, mistake: &str) -> Self {
        self.0.env(MISTAKE, mistake);
        self
    }

    /// Runs it to its end and returns its lines.
    pub(crate) fn lines(mut self) -> Vec<String> {
        let said = String::from_utf8(self.0.output().unwrap().stdout).unwrap();
        said.lines().filter_map(|line| Some(line.split_once(MARK)?.1.to_owned())).collect()
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{line}").and_then(|()| out.flush()).unwrap();
}

#[test]
#[ignore = "a job for a process of its own, which the other tests start"]
fn does_its_job() {
    let Ok(job) = env::var(JOB) else { return };
    match &*job {
        "reach" => {
            let names = sources::failpoints();
            let has_all = |_: &u32| {
                wrong_after(None, None);
                names.iter().all(|name| failpoint::reached().contains_key(&**name))
            };
            // On a busy machine an answer may come too late one evening.
            (0..EVENINGS).find(has_all);
            failpoint::reached().keys().for_each(|name| say(name));
        }
        "panic" => at_each(Action::Panic),
        "error" => at_each(Action::Error),
        "delay" => at_each(Action::Delay(Duration::from_millis(60))),
        "kill" => {
            failpoint::arm(&env::var(POINT).unwrap(), Action::Kill, 0);
            let tell = |line: &Line| say(&serde_json::to_string(line).unwrap());
            in_runtime(Path::new(&env::var(FOLDER).unwrap()), None, Arc::new(tell));
        }
        "mistake" => {
            let mistake = Mistake::named(&env::var(MISTAKE).unwrap());
            // Some mistakes show only at a failed commit, so each commit fails in turn.
            let commits = (0..24).map(|passes| Some(("writer.commits", Action::Error, passes)));
            let evenings = std::iter::once(None).chain(commits);
            let mut evenings = evenings.map(|mishap| wrong_after(mishap, mistake));
            if let Some(wrong) = evenings.find(|wrong| !wrong.is_empty()) {
                wrong.iter().for_each(|what| say(what));
            }
        }
        other => panic!("no such job: {other}"),
    }
}

fn at_each(action: Action) {
    for name in sources::failpoints() {
        let wrong = wrong_after(Some((&name, action, 0)), None);
        wrong.iter().for_each(|what| say(&format!("{name}: {what}")));
    }
}

/// Runs an evening with this mishap, and returns the findings.
fn wrong_after(mishap: Option<(&str, Action, u32)>, mistake: Option<Mistake>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    if let Some((name, action, passes)) = mishap {
        failpoint::arm(name, action, passes);
    }
    let oracle = Arc::new(Mutex::new(Oracle::default()));
    let tell = {
        let oracle = oracle.clone();
        move |line: &Line| oracle.lock().unwrap().note(line.clone())
    };
    let played = std::panic::catch_unwind(|| in_runtime(folder.path(), mistake, Arc::new(tell)));
    failpoint::disarm();
    let oracle = oracle.lock().unwrap().clone();
    let mut wrong: Vec<String> =
        played.err().map(|panic| format!("stuck: {panic:?}")).into_iter().collect();
    wrong.extend(sentences(&afterwards(folder.path(), oracle)));
    wrong
}

fn in_runtime(folder: &Path, mistake: Option<Mistake>, tell: Sink) {
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    threads.block_on(evening(folder, mistake, tell));
}
