//! Reads all blocks of a page in reading order, and replaces them by the lines of an edited file.
use std::collections::{HashMap, HashSet, VecDeque};

use sqlx::SqliteConnection;
use uuid::Uuid;

use super::{
    super::{
        block::{BlockId, OutlineLine},
        page::Page,
        rules::{Nesting, NotesViolation, judge_content},
        tree::{Node, reading_order},
    },
    NotesError, NotesRepository, Part,
    blocks::{insert, remove, write_content},
    error::failed_to,
    place::Siblings,
    row::block_id,
};

/// A line that a page shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedLine {
    /// Its former block; `None` for a new one.
    pub id: Option<BlockId>,
    /// Its indent in columns or levels. The line lies in the last earlier line with a smaller indent.
    pub indent: usize,
    /// The text of the line, without its indent.
    pub content: String,
}

type Row = (i64, Option<i64>, String, String);

impl NotesRepository<'_> {
    /// Reads the blocks of a page in reading order: at most `limit`, from `offset` on.
    ///
    /// # Errors
    /// [`NotesError::Database`], [`NotesError::Corrupt`].
    pub async fn lines(
        &mut self,
        page: &Page,
        offset: usize,
        limit: usize,
    ) -> Result<Part<OutlineLine>, NotesError> {
        let rows = rows(self.db, page).await?;
        let items = in_order(&rows)
            .into_iter()
            .skip(offset)
            .take(limit)
            .map(|(place, depth)| {
                let (_, _, id, content) = &rows[place];
                Ok(OutlineLine { id: block_id(id)?, depth, content: content.clone() })
            })
            .collect::<Result<Vec<_>, NotesError>>()?;
        Ok(Part { items, total: rows.len() })
    }

    /// Makes a page equal to these lines. Blocks that stay keep their ids; all others are deleted.
    ///
    /// # Errors
    /// The first broken rule. The caller must then undo the lines written before it.
    pub async fn replace_lines(
        &mut self,
        page: &Page,
        lines: &[ImportedLine],
    ) -> Result<(), NotesError> {
        lines.iter().try_for_each(|line| judge_content(&line.content))?;
        let rows = rows(self.db, page).await?;
        let before: HashMap<&str, &Row> = rows.iter().map(|row| (&*row.2, row)).collect();
        let mentioned: HashSet<String> =
            lines.iter().filter_map(|line| line.id).map(|id| id.to_string()).collect();
        // Parents are removed first, so that blocks can move and go in any order.
        sqlx::query("UPDATE notes_blocks SET parent = NULL WHERE page = $1 AND parent IS NOT NULL")
            .bind(page.number)
            .execute(&mut *self.db)
            .await
            .map_err(failed_to("take blocks apart"))?;
        let scope = self.scope_of(page.number);
        let mut changed = Vec::new();
        for (number, _, id, _) in rows.iter().filter(|row| !mentioned.contains(&row.2)) {
            remove(self.db, *number).await?;
            changed.push(block_id(id)?);
        }
        let mut nesting = Nesting::<i64>::default();
        let mut stayed = Vec::new();
        for (place, line) in (1_u32..).zip(lines) {
            let indent = u32::try_from(line.indent).map_err(|_| NotesViolation::TooDeep)?;
            let siblings = Siblings { page: page.number, parent: nesting.parent(indent)? };
            let known = line.id.and_then(|id| Some((id, *before.get(&*id.to_string())?)));
            let number = match known {
                Some((id, (number, parent, _, content))) => {
                    if *content != line.content {
                        write_content(self.db, *number, &line.content, &scope).await?;
                        changed.push(id);
                    } else if *parent != siblings.parent {
                        changed.push(id);
                    }
                    if *parent == siblings.parent {
                        stayed.push((*parent, *number, id));
                    }
                    put(self.db, *number, siblings.parent, place).await?;
                    *number
                }
                None => {
                    let id = BlockId(Uuid::now_v7());
                    changed.push(id);
                    insert(self.db, siblings, place.into(), &line.content, &scope, id).await?
                }
            };
            nesting.came(indent, Some(number));
        }
        let reported: HashSet<BlockId> = changed.iter().copied().collect();
        changed.extend(reordered(&rows, &stayed).filter(|id| !reported.contains(id)));
        self.blocks_changed(page.id, &changed).await
    }
}

/// Finds the blocks that stay in their parent and change their order there.
fn reordered(
    before: &[Row],
    stayed: &[(Option<i64>, i64, BlockId)],
) -> impl Iterator<Item = BlockId> {
    let numbers: HashSet<i64> = stayed.iter().map(|(_, number, _)| *number).collect();
    let mut order: HashMap<Option<i64>, VecDeque<i64>> = HashMap::new();
    for (number, parent, ..) in before.iter().filter(|row| numbers.contains(&row.0)) {
        order.entry(*parent).or_default().push_back(*number);
    }
    stayed.iter().filter_map(move |(parent, number, id)| {
        let stood = order.get_mut(parent).and_then(VecDeque::pop_front);
        (stood != Some(*number)).then_some(*id)
    })
}

async fn rows(db: &mut SqliteConnection, page: &Page) -> Result<Vec<Row>, NotesError> {
    sqlx::query_as(
        "SELECT number, parent, id, content FROM notes_blocks WHERE page = $1
         ORDER BY parent, position, number",
    )
    .bind(page.number)
    .fetch_all(db)
    .await
    .map_err(failed_to("read the blocks of a page"))
}

fn in_order(rows: &[Row]) -> Vec<(usize, usize)> {
    let nodes: Vec<_> =
        rows.iter().map(|(number, parent, ..)| Node { number: *number, parent: *parent }).collect();
    reading_order(&nodes)
}

async fn put(
    db: &mut SqliteConnection,
    number: i64,
    parent: Option<i64>,
    place: u32,
) -> Result<(), NotesError> {
    sqlx::query("UPDATE notes_blocks SET parent = $1, position = $2 WHERE number = $3")
        .bind(parent)
        .bind(f64::from(place))
        .bind(number)
        .execute(db)
        .await
        .map(drop)
        .map_err(failed_to("put a block into its place"))
}
