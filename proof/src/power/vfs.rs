//! A file layer of SQLite over the system's own, which records the calls.
//!
//! SQLite calls it by C's conventions: a table of functions for the layer, and one for each open
//! file. Calls without a record go on to the system's layer unchanged.

#![expect(unsafe_code, reason = "SQLite's file layers are tables of C functions")]

use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
    sync::{
        Arc, Once, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use libsqlite3_sys::{
    SQLITE_OK, SQLITE_OPEN_MAIN_JOURNAL, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_filename,
    sqlite3_int64, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

use super::{Event, FileEvent, Recording};

/// The name by which SQLite finds the layer.
pub(super) const NAME: &str = "madang-recording";
const C_NAME: &CStr = c"madang-recording";

/// The system's layer.
struct System(*mut sqlite3_vfs);

// SAFETY: SQLite never frees or changes a registered layer, and its functions may be called from
// any thread.
unsafe impl Send for System {}
// SAFETY: as above.
unsafe impl Sync for System {}

static SYSTEM: OnceLock<System> = OnceLock::new();

/// An open file. The system's layer owns the memory behind it.
#[repr(C)]
struct File {
    base: sqlite3_file,
    /// Made by `Box::into_raw` at the opening, and taken back at the closing; null if nothing is
    /// recorded.
    track: *mut Track,
}

/// The receiver of a file's events.
struct Track {
    recording: Arc<Recording>,
    name: Arc<str>,
    /// A new journal or log, with which the system's layer syncs the folder once.
    is_new: AtomicBool,
}

/// Registers the layer with SQLite.
pub(super) fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: without a name SQLite returns its default layer, which lives as long as the
        // process.
        let system = unsafe { sqlite3_vfs_find(ptr::null()) };
        assert!(!system.is_null(), "SQLite has a layer for this system");
        SYSTEM.get_or_init(|| System(system));
        // SAFETY: the layer was just found. The copy is a table of functions; those that use the
        // layer itself are replaced.
        let mut layer = unsafe { *system };
        layer.zName = C_NAME.as_ptr();
        layer.szOsFile += c_int::try_from(size_of::<File>()).expect("a file is small");
        layer.pNext = ptr::null_mut();
        layer.xOpen = Some(open);
        layer.xDelete = Some(delete);
        // SAFETY: the layer is leaked, because SQLite keeps the pointer.
        let registered = unsafe { sqlite3_vfs_register(Box::leak(Box::new(layer)), 0) };
        assert_eq!(registered, SQLITE_OK, "SQLite takes the layer");
    });
}

fn system() -> *mut sqlite3_vfs {
    SYSTEM.get().expect("the layer is called once it is registered").0
}

/// Returns the system's file behind one of this layer.
///
/// # Safety
/// SQLite gave the file to a function of this layer, so memory lies behind it.
unsafe fn behind(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: `szOsFile` of this layer is the size of `File` and that of the system's.
    unsafe { file.cast::<File>().add(1).cast() }
}

/// Returns the recording and the name of the file at this path, if its folder is recorded.
///
/// # Safety
/// The path is null or ends with a zero.
unsafe fn track(path: *const c_char) -> Option<Track> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the path is not null and ends with a zero.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let recording = Recording::find(path)?;
    let is_new = AtomicBool::new(!path.exists());
    Some(Track { recording, name: path.file_name()?.to_str()?.into(), is_new })
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    path: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    given: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives `szOsFile` bytes of memory, and a path for the system's layer.
    unsafe {
        // Before the file is created.
        let track = track(path);
        let opened = (*system()).xOpen.expect("every layer opens files")(
            system(),
            path,
            behind(file),
            flags,
            given,
        );
        // SQLite does not close a file that was not opened.
        (*file).pMethods = if opened == SQLITE_OK { &raw const METHODS } else { ptr::null() };
        if opened == SQLITE_OK {
            if let Some(track) = &track
                && flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL) == 0
            {
                track.is_new.store(false, Relaxed);
            }
            (*file.cast::<File>()).track =
                track.map_or(ptr::null_mut(), |track| Box::into_raw(Box::new(track)));
        }
        opened
    }
}

unsafe extern "C" fn delete(_: *mut sqlite3_vfs, path: *const c_char, syncs: c_int) -> c_int {
    // SAFETY: SQLite gives a path that ends with a zero.
    unsafe {
        let deleted =
            (*system()).xDelete.expect("every layer deletes files")(system(), path, syncs);
        if let (SQLITE_OK, Some(Track { recording, name, .. })) = (deleted, track(path)) {
            recording.note(Event::File { name, what: FileEvent::Delete { is_synced: syncs != 0 } });
        }
        deleted
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: the track was made at the opening, and a file is closed once.
    unsafe {
        let track = std::mem::replace(&mut (*file.cast::<File>()).track, ptr::null_mut());
        if !track.is_null() {
            let _ = Box::from_raw(track);
        }
        let behind = behind(file);
        (*(*behind).pMethods).xClose.expect("every file closes")(behind)
    }
}

/// Adds an event of a file, if its folder is recorded.
///
/// # Safety
/// The file is open.
unsafe fn note(file: *mut sqlite3_file, what: impl FnOnce(&Track) -> FileEvent) {
    // SAFETY: the track of an open file is null or alive.
    if let Some(track) = unsafe { (*file.cast::<File>()).track.as_ref() } {
        track.recording.note(Event::File { name: track.name.clone(), what: what(track) });
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    len: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite gives an open file and this many bytes.
    unsafe {
        // Recorded before the write, since the bytes may be on the disk from here on.
        note(file, |_| FileEvent::Write {
            at: usize::try_from(at).expect("files begin at 0"),
            bytes: std::slice::from_raw_parts(bytes.cast(), len.unsigned_abs() as usize).into(),
        });
        let behind = behind(file);
        (*(*behind).pMethods).xWrite.expect("every file is written")(behind, bytes, len, at)
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite gives an open file.
    unsafe {
        note(file, |_| FileEvent::Truncate {
            size: usize::try_from(size).expect("sizes are not negative"),
        });
        let behind = behind(file);
        (*(*behind).pMethods).xTruncate.expect("every file can be cut")(behind, size)
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite gives an open file.
    unsafe {
        let real = behind(file);
        let synced = (*(*real).pMethods).xSync.expect("every file can be synced")(real, flags);
        // Recorded after the sync, since only now the bytes are durable.
        if synced == SQLITE_OK {
            note(file, |track| FileEvent::Sync { with_folder: track.is_new.swap(false, Relaxed) });
        }
        synced
    }
}

/// Passes functions on to the system's layer unchanged.
macro_rules! pass_on {
    ($($name:ident => $method:ident($($argument:ident: $type:ty),*) -> $end:ty;)*) => {
        $(
            unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> $end {
                // SAFETY: SQLite gives an open file and arguments for this method.
                unsafe {
                    let behind = behind(file);
                    (*(*behind).pMethods).$method.expect("the system's files have it")(behind $(, $argument)*)
                }
            }
        )*
    };
}

pass_on! {
    read => xRead(into: *mut c_void, len: c_int, at: sqlite3_int64) -> c_int;
    file_size => xFileSize(size: *mut sqlite3_int64) -> c_int;
    lock => xLock(level: c_int) -> c_int;
    unlock => xUnlock(level: c_int) -> c_int;
    is_reserved => xCheckReservedLock(answer: *mut c_int) -> c_int;
    control => xFileControl(code: c_int, argument: *mut c_void) -> c_int;
    sector_size => xSectorSize() -> c_int;
    characteristics => xDeviceCharacteristics() -> c_int;
    shm_map => xShmMap(page: c_int, size: c_int, extends: c_int, memory: *mut *mut c_void) -> c_int;
    shm_lock => xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int;
    shm_barrier => xShmBarrier() -> ();
    shm_unmap => xShmUnmap(deletes: c_int) -> c_int;
}

/// Version 2 of the table: shared memory for the log, but no memory-mapped files, whose writes
/// cannot be recorded.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(is_reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
