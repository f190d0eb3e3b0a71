//! The connections that carry turns: as many as they need.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tonic::transport::{Channel, Endpoint};

/// Turns on one connection. The sidecar takes 100 streams, and counts one that has ended for a moment longer.
const STREAMS: usize = 80;
/// Connections of a client: room for a thousand turns at once, and a few more.
const MOST_CONNECTIONS: usize = 16;

pub(crate) struct Pool {
    endpoint: Endpoint,
    room: Semaphore,
    connections: Mutex<Connections>,
}

/// The connections that were made after so many outages. Those of before are let go: they may be broken without having
/// said so.
#[derive(Default)]
struct Connections {
    outages: u64,
    there: Vec<(Channel, Arc<AtomicUsize>)>,
}

/// The room of one stream, for as long as it is held.
pub(crate) struct Room<'a> {
    pub channel: Channel,
    taken: Arc<AtomicUsize>,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, room: Semaphore::new(STREAMS * MOST_CONNECTIONS), connections: Mutex::default() }
    }

    /// Waits for room; None when the pool is closed. `outages`: how often the sidecar went away by then.
    pub async fn room(&self, outages: impl Fn() -> u64) -> Option<Room<'_>> {
        let permit = self.room.acquire().await.ok()?;
        let outages = outages();
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.outages < outages {
            *connections = Connections { outages, there: Vec::new() };
        }
        let free = connections.there.iter().find(|(_, taken)| taken.load(Ordering::Relaxed) < STREAMS).cloned();
        let (channel, taken) = free.unwrap_or_else(|| {
            let made = (self.endpoint.connect_lazy(), Arc::default());
            connections.there.push(made.clone());
            made
        });
        taken.fetch_add(1, Ordering::Relaxed);
        Some(Room { channel, taken, _permit: permit })
    }

    /// Ends the connections, with the streams that are on them.
    pub fn close(&self) {
        self.room.close();
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).there.clear();
    }
}
