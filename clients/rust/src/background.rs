//! One runtime of our own, on a thread beside the agent: everything that is not waited for happens there.
//!
//! So a client works from every runtime of the agent's, from several of them one after the other, and outlives them: a
//! `static` one serves a runtime for each test. The thread starts with the first client, and ends with the process.

use std::future::pending;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::runtime::{Builder, Handle};

static RUNTIME: Mutex<Option<Handle>> = Mutex::new(None);

/// The runtime, which runs. Fails where the system gives no thread for it.
pub(crate) fn runtime() -> io::Result<Handle> {
    let mut there = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = &*there {
        return Ok(runtime.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new().name("sidemirror".into()).spawn(move || runtime.block_on(pending::<()>()))?;
    *there = Some(handle.clone());
    Ok(handle)
}

/// How many tasks there are of all clients of the process, for tests: none that a client leaves behind.
#[doc(hidden)]
pub fn alive_tasks() -> usize {
    let there = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    there.as_ref().map_or(0, |runtime| runtime.metrics().num_alive_tasks())
}
