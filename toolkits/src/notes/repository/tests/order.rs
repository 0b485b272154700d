//! Tests the order of blocks: after any inserts and deletes, a page reads as a plain list would.
use proptest::prelude::*;

use super::*;

/// A line of the model, which has no fractions.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Modelled {
    id: String,
    depth: usize,
    content: String,
}

#[derive(Debug, Clone)]
enum Step {
    /// Insert below the line at this place.
    Below(prop::sample::Index),
    /// Append inside of the line.
    Inside(prop::sample::Index),
    /// Append to the page.
    Last,
    /// Delete the line.
    Delete(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<prop::sample::Index>().prop_map(Step::Below),
        2 => any::<prop::sample::Index>().prop_map(Step::Inside),
        1 => Just(Step::Last),
        2 => any::<prop::sample::Index>().prop_map(Step::Delete),
    ]
}

/// Finds the place behind the last line inside of the one at this place.
fn end_of(lines: &[Modelled], at: usize) -> usize {
    let depth = lines[at].depth;
    let inside = lines[at + 1..].iter().take_while(|line| line.depth > depth).count();
    at + 1 + inside
}

async fn carry_out(notes: &mut NotesRepository<'_>, page: &Page, steps: Vec<Step>) {
    let mut lines: Vec<Modelled> = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        let content = number.to_string();
        let (at, depth, made) = match step {
            Step::Delete(place) if !lines.is_empty() => {
                let at = place.index(lines.len());
                notes.delete_block(&lines[at].id).await.unwrap();
                let end = end_of(&lines, at);
                lines[at + 1..end].iter_mut().for_each(|line| line.depth -= 1);
                lines.remove(at);
                continue;
            }
            Step::Below(place) if !lines.is_empty() => {
                let at = place.index(lines.len());
                let contains = end_of(&lines, at) > at + 1;
                let made = notes.insert_below(&lines[at].id, &content).await.unwrap();
                (at + 1, lines[at].depth + usize::from(contains), made)
            }
            Step::Inside(place) if !lines.is_empty() => {
                let at = place.index(lines.len());
                let made = notes.create_block(Inside::Block(&lines[at].id), None, &content).await;
                (end_of(&lines, at), lines[at].depth + 1, made.unwrap())
            }
            Step::Last | Step::Below(_) | Step::Inside(_) | Step::Delete(_) => {
                let made =
                    notes.create_block(Inside::Page(&page.id.to_string()), None, &content).await;
                (lines.len(), 0, made.unwrap())
            }
        };
        lines.insert(at, Modelled { id: made.id.to_string(), depth, content });
    }
    let read = notes.lines(page, 0, usize::MAX).await.unwrap().items;
    let read: Vec<_> = read
        .into_iter()
        .map(|line| Modelled { id: line.id.to_string(), depth: line.depth, content: line.content })
        .collect();
    assert_eq!(read, lines);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn after_any_inserts_and_deletes_a_page_reads_as_a_list_would(steps in prop::collection::vec(step(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut db = database().await;
            let kim = user("kim");
            let mut notes = NotesRepository::new(&mut db, &kim);
            let page = notes.create_page("p", None).await.unwrap();
            carry_out(&mut notes, &page, steps).await;
        });
    }
}

#[tokio::test]
async fn two_hundred_blocks_at_the_same_place_keep_their_order() {
    let mut db = database().await;
    let kim = user("kim");
    let mut notes = NotesRepository::new(&mut db, &kim);
    let made =
        notes.create_page_with_blocks("p", None, vec![block(0, "first"), block(0, "last")]).await;
    let made = made.unwrap();
    let first = made.blocks[0].id.to_string();
    for number in 0..200 {
        notes.insert_below(&first, &number.to_string()).await.unwrap();
    }
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..200).rev().map(|number| number.to_string()));
    expected.push("last".to_owned());
    assert_eq!(notes.shown(&made.page).await, expected);
}

#[tokio::test]
async fn many_blocks_move_up_into_a_gap_that_is_too_fine_for_them() {
    let mut db = database().await;
    let kim = user("kim");
    let wanted = (0..300).map(|number| block(u32::from(number > 0), &number.to_string()));
    let wanted = wanted.chain([block(0, "last")]).collect();
    let made = NotesRepository::new(&mut db, &kim).create_page_with_blocks("p", None, wanted).await;
    let made = made.unwrap();
    sqlx::query("UPDATE notes_blocks SET position = 1 + 1e-15 WHERE content = 'last'")
        .execute(&mut db)
        .await
        .unwrap();
    let mut notes = NotesRepository::new(&mut db, &kim);
    notes.delete_block(&made.blocks[0].id.to_string()).await.unwrap();
    let expected: Vec<_> =
        (1..300).map(|number| number.to_string()).chain(["last".to_owned()]).collect();
    assert_eq!(notes.shown(&made.page).await, expected);
}
