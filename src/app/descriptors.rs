//! Room for sockets, made before there are threads.

use std::fs::File;
use std::io;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that the kernel's table has room for from the start: 8 bytes each, in the kernel.
///
/// The table doubles when it is full, and in a process with several threads that stops each of them
/// that opens a descriptor until every core has passed a quiet point: 10 to 25 ms in which no stream
/// moves, at the 64th, 128th, 256th … socket.
const ROOM: u64 = 16_384;

/// Lets the process open as many descriptors as it may (the hard limit), and gives the table of them its
/// size at once. A stream holds two, its client's and its provider's: a usual soft limit of 1024 would
/// end at 500 streams. To be called before any thread is started.
///
/// # Errors
/// The system refuses; the process can go on with what it has.
pub fn make_room() -> io::Result<()> {
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, maximum: limits.maximum })?;
    let most = limits.maximum.unwrap_or(ROOM).min(ROOM);
    let Some(last) = most.checked_sub(1).and_then(|last| i32::try_from(last).ok()) else { return Ok(()) };
    // The copy is closed at once, the table keeps its size.
    drop(fcntl_dupfd_cloexec(File::open("/dev/null")?, last)?);
    Ok(())
}
