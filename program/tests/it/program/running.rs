//! Starts processes of which none outlives its test, whatever way the test ends.

use std::{
    fs,
    io::{Read, Write},
    ops::{Deref, DerefMut},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
};

use super::{Ended, PATIENCE};

/// A running program.
pub(super) struct RunningProgram {
    pub(super) child: Process,
}

/// A process that is killed with all that it started when a test drops it. `None` once its end is
/// waited for.
pub(super) struct Process(Option<Child>);

impl RunningProgram {
    /// Starts a program with a pipe for each of its files.
    pub(super) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::spawned(command)
    }

    /// Starts a program whose files are set already.
    pub(super) fn spawned(command: Command) -> Self {
        Self { child: Process::spawned(command) }
    }

    /// Writes to its standard input, which stays open.
    pub(super) fn write(&mut self, input: &[u8]) {
        let mut stdin = self.child.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        self.child.stdin = Some(stdin);
    }

    /// Writes to its standard input and closes it; the program may answer or end without reading.
    pub(super) fn feed(&mut self, input: &[u8]) {
        let mut stdin = self.child.stdin.take().unwrap();
        let input = input.to_vec();
        thread::spawn(move || {
            if let Err(error) = stdin.write_all(&input) {
                println!("the program did not read everything: {error}");
            }
        });
    }

    /// Reads its standard output up to the end of the line with this text.
    pub(super) fn until(&mut self, wanted: &str) -> String {
        let mut read = self.until_shown(wanted);
        if !read.ends_with('\n') {
            read += &self.until_shown("\n");
        }
        read
    }

    /// Reads its standard output until this is shown.
    pub(super) fn until_shown(&mut self, wanted: &str) -> String {
        let mut out = self.child.stdout.take().unwrap();
        let (wanted, (give_back, back)) = (wanted.to_owned(), mpsc::channel());
        thread::spawn(move || {
            let mut read = Vec::new();
            let mut byte = [0];
            while !read.ends_with(wanted.as_bytes()) && out.read(&mut byte).unwrap() == 1 {
                read.push(byte[0]);
            }
            let _ = give_back.send((out, String::from_utf8(read).unwrap()));
        });
        let (out, read) = back.recv_timeout(PATIENCE).expect("the program writes in time");
        self.child.stdout = Some(out);
        read
    }

    /// Closes its standard input and waits for its end.
    pub(super) fn ended(mut self) -> Ended {
        drop(self.child.stdin.take());
        let id = self.child.id();
        let (ended, end) = mpsc::channel();
        let child = self.child.0.take().unwrap();
        thread::spawn(move || drop(ended.send(child.wait_with_output())));
        let Ok(output) = end.recv_timeout(PATIENCE) else {
            kill_all_of(id);
            panic!("the program hangs");
        };
        let output = output.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Process {
    pub(super) fn spawned(mut command: Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        // The number of a process that was waited for may be another's by now.
        if matches!(child.try_wait(), Ok(None)) {
            kill_all_of(child.id());
            let _ = child.wait();
        }
    }
}

/// Kills a process and all that it started.
fn kill_all_of(process: u32) {
    // A process that is stopped starts nothing more.
    is_sent("STOP", process);
    children(process).into_iter().for_each(kill_all_of);
    is_sent("KILL", process);
}

/// Lists the children of a process, living or dead.
pub(super) fn children(parent: u32) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| state(*number).is_some_and(|(_, of)| of == parent)).collect()
}

/// Returns the state of a process and its parent; `None` after its end.
pub(super) fn state(process: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit(") ").next()?.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

pub(super) fn signal(name: &str, process: u32) {
    assert!(is_sent(name, process));
}

fn is_sent(name: &str, process: u32) -> bool {
    let arguments = [format!("-{name}"), process.to_string()];
    Command::new("kill").args(arguments).status().is_ok_and(|status| status.success())
}

#[cfg(target_os = "linux")]
#[test]
fn a_test_that_fails_leaves_nothing_that_it_started() {
    let (tell, told) = mpsc::channel();
    let test = thread::spawn(move || {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 600 & echo $!; wait"]);
        let mut shell = RunningProgram::start(shell);
        let started = shell.until("\n").trim().parse().unwrap();
        tell.send([shell.child.id(), started]).unwrap();
        panic!("the test fails");
    });
    assert!(test.join().is_err());
    let begin = tokio::time::Instant::now();
    for process in told.recv().unwrap() {
        // The process that inherits it may reap it.
        while state(process).is_some_and(|(now, _)| now != "Z") {
            assert!(begin.elapsed() < PATIENCE, "{process} runs on");
            thread::yield_now();
        }
    }
}
