//! What a client could not deliver.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Turns that are named. Chosen here: as many as may be open; of more the counts are enough.
const MOST_NAMED: usize = 10_000;

/// What a client had not delivered when it was closed. Nothing of it when it equals its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undelivered {
    /// Events, of all turns.
    pub events: usize,
    /// Outcomes, one for each receipt.
    pub outcomes: usize,
    /// Goals.
    pub goals: usize,
    /// The ids of the turns that they belong to, sorted; 10,000 at most.
    pub turns: Vec<String>,
}

impl Undelivered {
    /// Whether everything was delivered.
    pub fn is_empty(&self) -> bool {
        self.events + self.outcomes + self.goals == 0
    }
}

/// Counts what is dropped, of all turns of a client.
#[derive(Default)]
pub(crate) struct Losses {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    events: usize,
    outcomes: usize,
    goals: usize,
    turns: BTreeSet<String>,
}

impl Losses {
    /// So much of a turn is not delivered, and will not be.
    pub fn add(&self, turn_id: &str, events: usize, outcomes: usize, goals: usize) {
        if events + outcomes + goals == 0 {
            return;
        }
        let mut counts = self.counts();
        counts.events += events;
        counts.outcomes += outcomes;
        counts.goals += goals;
        if counts.turns.len() < MOST_NAMED {
            counts.turns.insert(turn_id.into());
        }
    }

    /// What was lost by now.
    pub fn so_far(&self) -> Undelivered {
        let counts = self.counts();
        Undelivered {
            events: counts.events,
            outcomes: counts.outcomes,
            goals: counts.goals,
            turns: counts.turns.iter().cloned().collect(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
