//! The driver: starts a child, keeps the oracle of its lines, kills it, and audits the database.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::{Instant, timeout_at},
};

use super::{KillFigures, Orders, child::sessions};
use crate::{
    audit::{Counter, Findings, Moment, audit_file},
    dice::Dice,
    mistakes::Mistake,
    oracle::{Line, Oracle},
    workload::{Point, SessionPlan},
};

/// A series of kills.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The program whose first argument may be `child`.
    pub program: PathBuf,
    /// The seed of everything.
    pub seed: u64,
    /// The number of kills.
    pub kills: u64,
    /// The kills on one file, before it comes to rest and the next begins.
    pub kills_a_file: u64,
    /// The chats at once in a child.
    pub chats: usize,
    /// The mistake that the children make.
    pub mistake: Option<Mistake>,
}

/// Longer than any step of a child takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time after which a child is killed that does not reach its point.
const MISSED: Duration = Duration::from_millis(400);
/// The turns of all chats: more than any child reaches.
const TURNS: u64 = 4_000;

/// The moment of a child's death.
#[derive(Debug, Clone)]
enum Death {
    /// At a point, or somewhat later if it is not reached.
    AtPoint(String),
    /// After this many lines.
    AfterLines(u64),
    /// This long after the start, perhaps before it runs at all.
    After(Duration),
    /// Never.
    Never,
}

impl Death {
    fn draw(dice: &mut Dice) -> Self {
        match dice.below(8) {
            0..4 => {
                let point = dice.pick(&Point::ALL);
                Self::AtPoint(format!("{}:{}", point.name(), 1 + dice.below(40)))
            }
            4..7 => Self::AfterLines(1 + dice.below(400)),
            _ => Self::After(Duration::from_millis(dice.below(150))),
        }
    }
}

impl Campaign {
    /// Kills as often as ordered. After each kill, `progress` receives the figures so far.
    pub async fn run(&self, mut progress: impl FnMut(&KillFigures)) -> KillFigures {
        let mut dice = Dice::new(self.seed);
        let mut figures = KillFigures::default();
        while figures.kills < self.kills {
            let folder = tempfile::tempdir().expect("there is a place for temporary files");
            let sessions = sessions(self.seed, self.chats);
            let (oracle, known) = (Oracle::default(), Vec::new());
            let (campaign, folder) = (self, folder.path());
            let mut lives = Lives { campaign, folder, sessions, oracle, known, life: 0 };
            figures.files += 1;
            for _ in 0..self.kills_a_file.min(self.kills - figures.kills) {
                let death = Death::draw(&mut dice);
                lives.live(death, &mut figures).await;
                figures.findings.add(lives.audit(Moment::AfterDeath).await);
                progress(&figures);
            }
            // All people come back once more, and nothing stays open.
            lives.live(Death::Never, &mut figures).await;
            figures.findings.add(lives.audit(Moment::AtRest).await);
            figures.acknowledged += lives.oracle.acknowledged();
        }
        figures
    }
}

/// The successive processes on one file.
struct Lives<'a> {
    campaign: &'a Campaign,
    folder: &'a Path,
    sessions: Vec<SessionPlan>,
    oracle: Oracle,
    /// The lines of the oracle, for the next child.
    known: Vec<u8>,
    life: u64,
}

impl Lives<'_> {
    async fn audit(&mut self, moment: Moment) -> Findings {
        audit_file(self.folder, &self.sessions, &self.oracle, moment).await
    }

    async fn live(&mut self, death: Death, figures: &mut KillFigures) {
        self.life += 1;
        let mut process = self.start(&death);
        // The child reads its pipe before it reports, so this ends unless the child is dead.
        let mut tells = process.stdin.take().expect("standard input is piped");
        drop(tells.write_all(&self.known).await);
        drop(tells);
        let mut lines =
            BufReader::new(process.stdout.take().expect("standard output is piped")).lines();
        let begin = Instant::now();
        let (deadline, most) = match &death {
            Death::AtPoint(_) => (begin + MISSED, u64::MAX),
            Death::AfterLines(count) => (begin + PATIENCE, *count),
            Death::After(wait) => (begin + *wait, u64::MAX),
            Death::Never => (begin + PATIENCE, u64::MAX),
        };
        let mut heard = 0;
        while heard < most {
            match timeout_at(deadline, self.hear(&mut lines)).await {
                Ok(true) => heard += 1,
                Ok(false) | Err(_) => break,
            }
        }
        if !matches!(death, Death::Never) {
            process.start_kill().expect("a child can be killed until it was waited for");
        }
        // Lines from before its death count.
        let listen = async { while self.hear(&mut lines).await {} };
        let end = tokio::time::timeout(PATIENCE, async {
            listen.await;
            process.wait().await
        });
        match end.await {
            Ok(Ok(status)) => self.judge(status, &death, &mut process, figures).await,
            Ok(Err(_)) | Err(_) => {
                figures.findings.find(Counter::Stuck, format!("life {} did not end", self.life));
                process.start_kill().expect("a child can be killed until it was waited for");
            }
        }
    }

    fn start(&self, death: &Death) -> Child {
        let orders = Orders {
            folder: self.folder.to_owned(),
            life: self.life,
            seed: self.campaign.seed,
            chats: self.campaign.chats,
            turns: if matches!(death, Death::Never) { 0 } else { TURNS },
            dies_at: if let Death::AtPoint(point) = death { Some(point.clone()) } else { None },
            mistake: self.campaign.mistake,
        };
        Command::new(&self.campaign.program)
            .args(orders.to_arguments())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program of the child can be started")
    }

    /// Adds the next line to the oracle; false after the last.
    async fn hear(&mut self, lines: &mut Lines<BufReader<ChildStdout>>) -> bool {
        let Ok(Some(text)) = lines.next_line().await else { return false };
        // A process that was killed in mid-write leaves an incomplete line.
        if let Ok(line) = serde_json::from_str::<Line>(&text) {
            self.oracle.note(line);
            self.known.extend(text.bytes().chain([b'\n']));
        }
        true
    }

    /// Requires that a child ends by SIGKILL or well.
    async fn judge(
        &self,
        status: ExitStatus,
        death: &Death,
        process: &mut Child,
        figures: &mut KillFigures,
    ) {
        use std::os::unix::process::ExitStatusExt;
        match (status.signal(), status.success(), death) {
            (Some(9), _, Death::AtPoint(_)) => {
                figures.kills += 1;
                figures.kills_at_points += 1;
            }
            (Some(9), _, Death::AfterLines(_) | Death::After(_)) => figures.kills += 1,
            (None, true, Death::Never) => {}
            _ => {
                let mut said = String::new();
                if let Some(mut error) = process.stderr.take() {
                    drop(error.read_to_string(&mut said).await);
                }
                let what = format!("life {} ended by itself with {status}: {said}", self.life);
                figures.findings.find(Counter::Stuck, what);
            }
        }
    }
}
