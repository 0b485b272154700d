//! The driver: has the server, starts a child, kills it, and compares the ledger with the server's book.

use std::{
    error::Error,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use madang::{
    ledger::LedgerFilter,
    store::{SqliteStore, Store as _},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, Command},
    time::{Instant, sleep_until, timeout},
};

use super::{
    RemoteFigures, RemoteLine, RemoteOrders,
    compare::{Notes, compare},
    server::{ServerMoment, ToolServer},
};
use crate::{
    audit::{Counter, DATABASE, Moment, audit_file},
    dice::Dice,
    mistakes::{Mistake, RemoteMistake},
    oracle::Oracle,
    workload::Point,
};

/// A series of kills.
#[derive(Debug, Clone)]
pub struct RemoteCampaign {
    /// The program whose first argument may be `remote-child`.
    pub program: PathBuf,
    /// The seed of everything.
    pub seed: u64,
    /// The number of kills.
    pub kills: u64,
    /// The kills on one file, before it comes to rest and the next begins.
    pub kills_a_file: u64,
    /// The chats at once in a child.
    pub chats: usize,
    /// The mistake that a tool or the store makes.
    pub mistake: Option<Mistake>,
    /// The mistake that the way to the server makes.
    pub remote_mistake: Option<RemoteMistake>,
}

/// Longer than any child takes to come to rest.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time after which a child is killed that does not reach its moment, once its runtime runs.
const MISSED: Duration = Duration::from_millis(700);

/// The points at which a child may die: all but those of tools in its own process.
const POINTS: [Point; 14] = [
    Point::StoreBegin,
    Point::StoreSavepoint,
    Point::StoreWrite,
    Point::StoreWritten,
    Point::StoreKeep,
    Point::StoreUndo,
    Point::StoreCommit,
    Point::StoreCommitted,
    Point::ModelAsked,
    Point::ModelAnswers,
    Point::QuestionSeen,
    Point::QuestionAnswered,
    Point::TurnBegan,
    Point::OutcomeHeard,
];

/// The moment of a child's death.
#[derive(Debug, Clone)]
enum RemoteDeath {
    /// At a point of its own, or somewhat later if it is not reached.
    AtPoint(String),
    /// At a moment of the server, or somewhat later if it is not reached.
    AtServer(ServerMoment, u64),
    /// This long after its runtime runs.
    After(Duration),
    /// Never.
    Never,
}

impl RemoteDeath {
    fn draw(dice: &mut Dice) -> Self {
        match dice.below(8) {
            0..2 => Self::AtPoint(format!("{}:{}", dice.pick(&POINTS).name(), 1 + dice.below(40))),
            2..5 => Self::AtServer(ServerMoment::Received, 1 + dice.below(16)),
            5 => Self::AtServer(ServerMoment::Answered, 1 + dice.below(16)),
            _ => Self::After(Duration::from_millis(dice.below(400))),
        }
    }
}

impl RemoteCampaign {
    /// Kills as often as ordered. After each kill, `progress` receives the figures so far.
    ///
    /// # Panics
    /// Where the machine has no room for files, processes or ports.
    pub async fn run(&self, mut progress: impl FnMut(&RemoteFigures)) -> RemoteFigures {
        let mut dice = Dice::new(self.seed);
        let mut figures = RemoteFigures::default();
        while figures.kills < self.kills {
            let folder = tempfile::tempdir().expect("there is a place for temporary files");
            let server = ToolServer::start().await.expect("there is a free port");
            let (campaign, folder, notes) = (self, folder.path(), Notes::default());
            let mut lives = RemoteLives { campaign, folder, server, notes, life: 0 };
            figures.files += 1;
            for _ in 0..self.kills_a_file.min(self.kills - figures.kills) {
                lives.live(&RemoteDeath::draw(&mut dice), &mut figures).await;
                lives.compares(Moment::AfterDeath, &mut figures).await;
                progress(&figures);
            }
            // All people come back once more, and nothing stays open or unknown.
            lives.server.calm(true);
            lives.live(&RemoteDeath::Never, &mut figures).await;
            lives.compares(Moment::AtRest, &mut figures).await;
            figures.received += lives.server.received().len();
            figures.acknowledged += lives.notes.acknowledged();
        }
        figures
    }
}

/// The successive processes on one file.
struct RemoteLives<'a> {
    campaign: &'a RemoteCampaign,
    folder: &'a Path,
    server: ToolServer,
    notes: Notes,
    life: u64,
}

impl RemoteLives<'_> {
    async fn compares(&self, moment: Moment, figures: &mut RemoteFigures) {
        // The file itself is whole, and no transaction of the dead is left half done in it.
        let whole = audit_file(self.folder, &[], &Oracle::default(), moment).await;
        figures.findings.add(whole);
        let compared = async {
            let path = self.folder.join(DATABASE);
            let rows = if path.exists() {
                let store = SqliteStore::open_read_only(path).await?;
                let rows = store.calls(&LedgerFilter::default()).await;
                store.close().await;
                rows?
            } else {
                Vec::new()
            };
            let book = self.server.received();
            compare(&rows, &book, &self.notes, moment, &mut figures.findings);
            if moment == Moment::AtRest {
                figures.unknown += rows.iter().filter(|row| row.resolved_by.is_some()).count();
            }
            Ok::<_, Box<dyn Error>>(())
        };
        if let Err(error) = compared.await {
            figures.findings.find(Counter::Damaged, error.to_string());
        }
    }

    async fn live(&mut self, death: &RemoteDeath, figures: &mut RemoteFigures) {
        self.life += 1;
        let deadly = if let RemoteDeath::AtServer(moment, number) = death {
            Some((*moment, *number))
        } else {
            None
        };
        self.server.begins(self.life, deadly);
        let mut process = self.start(death);
        let stdout = process.stdout.take().expect("standard output is piped");
        let mut lines = BufReader::new(stdout).lines();
        // Its runtime runs, however long that took on a busy machine.
        if let Ok(Ok(Some(text))) = timeout(PATIENCE, lines.next_line()).await {
            self.notes_rest(&text);
        }
        let wait = match death {
            RemoteDeath::AtPoint(_) | RemoteDeath::AtServer(..) => MISSED,
            RemoteDeath::After(wait) => *wait,
            RemoteDeath::Never => PATIENCE,
        };
        let (deadline, mut rested, mut is_in_call) = (Instant::now() + wait, 0, false);
        loop {
            tokio::select! {
                biased;
                () = self.server.deadly_moment() => {
                    is_in_call = true;
                    break;
                }
                line = lines.next_line() => match line {
                    Ok(Some(text)) => rested += usize::from(self.notes_rest(&text)),
                    Ok(None) | Err(_) => break,
                },
                () = sleep_until(deadline) => break,
            }
        }
        if !matches!(death, RemoteDeath::Never) {
            process.start_kill().expect("a child can be killed until it was waited for");
        }
        // Lines from before its death count.
        let end = timeout(PATIENCE, async {
            while let Ok(Some(text)) = lines.next_line().await {
                rested += usize::from(self.notes_rest(&text));
            }
            process.wait().await
        });
        let end = end.await;
        let is_as_ordered = match (&end, death) {
            (Ok(Ok(status)), RemoteDeath::Never) => {
                status.success() && rested == self.campaign.chats
            }
            (Ok(Ok(status)), _) => status.signal() == Some(9),
            _ => false,
        };
        if !is_as_ordered {
            self.finds_end(process, &format!("{end:?}, {rested} chats rest"), figures).await;
        } else if !matches!(death, RemoteDeath::Never) {
            figures.kills += 1;
            figures.kills_in_calls += u64::from(is_in_call);
        }
        if let Err(error) = self.server.settles().await {
            figures.findings.find(Counter::Stuck, format!("the server is gone: {error}"));
        }
    }

    fn start(&self, death: &RemoteDeath) -> Child {
        let campaign = self.campaign;
        let orders = RemoteOrders {
            folder: self.folder.to_owned(),
            life: self.life,
            seed: campaign.seed,
            chats: campaign.chats,
            server: self.server.address(),
            rests: matches!(death, RemoteDeath::Never),
            dies_at: if let RemoteDeath::AtPoint(point) = death {
                Some(point.clone())
            } else {
                None
            },
            mistake: campaign.mistake,
            remote_mistake: campaign.remote_mistake,
        };
        Command::new(&campaign.program)
            .args(orders.to_arguments())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program of the child can be started")
    }

    /// Notes a line; true where a chat has come to rest.
    fn notes_rest(&mut self, text: &str) -> bool {
        // A process that was killed in mid-write leaves an incomplete line.
        let Ok(line) = serde_json::from_str::<RemoteLine>(text) else { return false };
        self.notes.note(&line);
        matches!(line, RemoteLine::Rested)
    }

    async fn finds_end(&self, mut child: Child, how: &str, figures: &mut RemoteFigures) {
        let mut said = String::new();
        drop(child.start_kill());
        if let Some(mut error) = child.stderr.take() {
            drop(error.read_to_string(&mut said).await);
        }
        let what = format!("life {} did not end as ordered, but {how}: {said}", self.life);
        figures.findings.find(Counter::Stuck, what);
    }
}
