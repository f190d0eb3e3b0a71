//! What steps that are `timed` take, by the names of what they measure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{json, Value};

#[derive(Default)]
pub(crate) struct Timed(BTreeMap<String, Vec<Duration>>);

impl Timed {
    /// Keeps what the step took, where it says so.
    pub fn keep(&mut self, step: &Value, took: Duration) {
        if let Some(name) = step["timed"].as_str() {
            self.0.entry(name.into()).or_default().push(took);
        }
    }

    /// Prints the figures, if there are any.
    pub fn print(mut self) {
        let figures = self.0.iter_mut().map(|(name, took)| {
            took.sort();
            let ms = |place: usize| took[place.min(took.len() - 1)].as_secs_f64() * 1000.0;
            let (p50, p99) = (ms(took.len() / 2), ms(took.len() * 99 / 100));
            let figures = json!({"count": took.len(), "p50_ms": p50, "p99_ms": p99, "most_ms": ms(took.len())});
            (name.clone(), figures)
        });
        let figures: serde_json::Map<_, _> = figures.collect();
        if !figures.is_empty() {
            println!("timed {}", Value::Object(figures));
        }
    }
}
