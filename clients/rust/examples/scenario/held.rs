//! What the process holds: its allocated bytes, and the tasks of the runner's runtime and of the client's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use std::time::{Duration, Instant};

use serde_json::json;
use sidemirror_client::alive_tasks;
use tokio::runtime::Handle;

/// How long tasks of streams that have ended may take to end themselves.
const SETTLE: Duration = Duration::from_secs(10);

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which counts what it gives out.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: everything is left to the system's allocator, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}

/// `few`: how many tasks there were the first time.
pub(crate) async fn held(few: &mut Option<usize>) {
    let count = || Handle::current().metrics().num_alive_tasks() + alive_tasks();
    let (ends, mut tasks) = (Instant::now() + SETTLE, count());
    while few.is_some_and(|few| tasks > few) && Instant::now() < ends {
        tokio::time::sleep(Duration::from_millis(100)).await;
        tasks = count();
    }
    few.get_or_insert(tasks);
    println!("held {}", json!({"memory": ALLOCATED.load(Ordering::Relaxed), "tasks": tasks}));
}
