//! The driver: starts a child, keeps the oracle of its lines, kills it, and audits the database.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::Instant;

use super::{KillFigures, Orders, child::sessions};
use crate::{
    audit::{Counter, Findings, Moment, audit_file},
    dice::Dice,
    mistakes::Mistake,
    process::{Process, Said},
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
#[derive(Debug, Clone, Copy)]
enum Death {
    /// At the N-th pass of a point, or somewhat later if it is not reached.
    AtPoint(Point, u64),
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
            0..4 => Self::AtPoint(*dice.pick(&Point::ALL), 1 + dice.below(40)),
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
            let (campaign, folder, said) = (self, folder.path(), Said::default());
            let mut lives = Lives { campaign, folder, sessions, said, life: 0 };
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
            figures.acknowledged += lives.said.oracle.acknowledged();
        }
        figures
    }
}

/// The successive processes on one file.
struct Lives<'a> {
    campaign: &'a Campaign,
    folder: &'a Path,
    sessions: Vec<SessionPlan>,
    said: Said,
    life: u64,
}

impl Lives<'_> {
    async fn audit(&mut self, moment: Moment) -> Findings {
        audit_file(self.folder, &self.sessions, &self.said.oracle, moment).await
    }

    async fn live(&mut self, death: Death, figures: &mut KillFigures) {
        self.life += 1;
        let is_killed = !matches!(death, Death::Never);
        let Campaign { seed, chats, mistake, .. } = *self.campaign;
        let orders = Orders {
            folder: self.folder.to_owned(),
            life: self.life,
            seed,
            chats,
            turns: if is_killed { TURNS } else { 0 },
            dies_at: if let Death::AtPoint(point, pass) = death {
                Some((point, pass))
            } else {
                None
            },
            mistake,
        };
        let mut process = Process::start(&self.campaign.program, "child", &orders);
        process.tell(&self.said.lines).await;
        let begin = Instant::now();
        let (deadline, most) = match death {
            Death::AtPoint(..) => (begin + MISSED, u64::MAX),
            Death::AfterLines(count) => (begin + PATIENCE, count),
            Death::After(wait) => (begin + wait, u64::MAX),
            Death::Never => (begin + PATIENCE, u64::MAX),
        };
        let mut hear = |text: &str| self.said.hear(text);
        process.hear_until(deadline, most, &mut hear).await;
        if is_killed {
            process.kill();
        }
        match process.end(is_killed, PATIENCE, hear).await {
            Ok(()) if is_killed => {
                figures.kills += 1;
                figures.kills_at_points += u64::from(matches!(death, Death::AtPoint(..)));
            }
            Ok(()) => {}
            Err(how) => {
                let what = format!("life {} did not end as ordered, but {how}", self.life);
                figures.findings.find(Counter::Stuck, what);
            }
        }
    }
}
