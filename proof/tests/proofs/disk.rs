//! Tests the possible contents of a disk after a cut, on which the proof of power cuts rests.

use std::fs;

use madang_proof::{
    dice::Dice,
    power::{Cut, Disk, Event, FileEvent},
};

/// The bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;

fn write(at: usize, bytes: &[u8]) -> Event {
    Event::File { name: "a".into(), what: FileEvent::Write { at, bytes: bytes.into() } }
}

fn sync(file: &str, with_folder: bool) -> Event {
    Event::File { name: file.into(), what: FileEvent::Sync { with_folder } }
}

fn after(events: &[Event], cut: Cut, seed: u64) -> Option<Vec<u8>> {
    let mut disk = Disk::default();
    let folder = tempfile::tempdir().unwrap();
    events.iter().for_each(|event| disk.take(event));
    disk.cut(cut, &mut Dice::new(seed), folder.path()).unwrap();
    fs::read(folder.path().join("a")).ok()
}

#[test]
fn synced_bytes_stay_and_the_rest_may_go() {
    let events = [write(0, b"old"), sync("a", false), write(0, b"new")];
    assert_eq!(after(&events, Cut::Drops, 1).unwrap(), b"old");
    assert_eq!(after(&events, Cut::Reorders, 1).unwrap(), b"new");
    assert_eq!(after(&events[2..], Cut::Drops, 1), None, "not even the file");
}

#[test]
fn a_write_is_torn_between_sectors_only() {
    let page: Vec<u8> = (0..8).flat_map(|sector| [sector + 1; SECTOR]).collect();
    let seen: Vec<_> = (0..32)
        .filter_map(|seed| after(&[write(0, &page)], Cut::Tears, seed))
        .map(|content| {
            let sectors = content.chunks(SECTOR);
            assert!(sectors.clone().all(|sector| sector.iter().all(|byte| *byte == sector[0])));
            sectors.map(|sector| sector[0]).collect::<Vec<_>>()
        })
        .collect();
    assert!(seen.iter().any(|sectors| sectors.contains(&0) && sectors.contains(&8)), "{seen:?}");
}

#[test]
fn writes_to_one_place_may_change_their_order() {
    let events = [write(0, b"one"), write(0, b"two")];
    let seen: Vec<_> = (0..16).filter_map(|seed| after(&events, Cut::Reorders, seed)).collect();
    assert!(seen.iter().any(|content| content == b"one"));
    assert!(seen.iter().any(|content| content == b"two"));
}

#[test]
fn a_removed_file_may_come_back_until_that_was_synced() {
    let synced = [write(0, b"old"), sync("a", false)];
    let delete =
        |is_synced| Event::File { name: "a".into(), what: FileEvent::Delete { is_synced } };
    let with = |is_synced| synced.iter().cloned().chain([delete(is_synced)]).collect::<Vec<_>>();
    assert_eq!(after(&with(false), Cut::Drops, 1).unwrap(), b"old");
    assert_eq!(after(&with(false), Cut::Reorders, 1), None);
    assert_eq!(after(&with(true), Cut::Drops, 1), None);
    let beside = |with_folder| [with(false), vec![sync("log", with_folder)]].concat();
    assert_eq!(after(&beside(false), Cut::Drops, 1).unwrap(), b"old");
    assert_eq!(after(&beside(true), Cut::Drops, 1), None, "synced with its folder");
}
