//! What the process holds: its allocated bytes, and the runtime's tasks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::runtime::Handle;

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

pub(crate) fn held() {
    let tasks = Handle::current().metrics().num_alive_tasks();
    println!("held {}", json!({"memory": ALLOCATED.load(Ordering::Relaxed), "tasks": tasks}));
}
