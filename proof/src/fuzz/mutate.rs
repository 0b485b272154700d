//! Mutates bytes a little, many times, so that they stay nearly valid.

use crate::dice::Dice;

/// The longest input: longer ones are slow and hardly find more.
const MOST: usize = 8 * 1024;

/// Mutates one of these inputs.
pub(super) fn mutated(dice: &mut Dice, pool: &[Vec<u8>], dictionary: &[&str]) -> Vec<u8> {
    let mut bytes = dice.pick(pool).clone();
    for _ in 0..=dice.below(6) {
        change(&mut bytes, dice, pool, dictionary);
    }
    bytes.truncate(MOST);
    bytes
}

fn change(bytes: &mut Vec<u8>, dice: &mut Dice, pool: &[Vec<u8>], dictionary: &[&str]) {
    let at = dice.index(bytes.len() + 1);
    match dice.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 if at < bytes.len() => bytes[at] = dice.below(256).to_le_bytes()[0],
        2 => insert(bytes, at, dice.pick(dictionary).as_bytes()),
        3 => {
            let end = at + part(dice, bytes.len() - at);
            bytes.drain(at..end);
        }
        4 => {
            let copy = bytes[at..at + part(dice, bytes.len() - at)].to_vec();
            let to = dice.index(bytes.len() + 1);
            insert(bytes, to, &copy);
        }
        5 => {
            let other = dice.pick(pool);
            let begin = dice.index(other.len() + 1);
            let piece = &other[begin..begin + part(dice, other.len() - begin)];
            insert(bytes, at, piece);
        }
        6 => bytes.truncate(at),
        // Depth and length: many repeats may fail where one does not.
        7 => {
            let word = dice.pick(dictionary).as_bytes();
            let many = word.repeat(dice.index(300));
            insert(bytes, at, &many);
        }
        _ => {
            let other = dice.pick(pool);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[dice.index(other.len() + 1)..]);
        }
    }
}

/// Returns a length up to this one, mostly short.
fn part(dice: &mut Dice, most: usize) -> usize {
    let most = if dice.once_in(4) { most } else { most.min(16) };
    dice.index(most + 1)
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
