//! What is not told by a callback: a warning of `tracing`, or a line on stderr where an agent has no subscriber for it, which
//! would never learn that it runs without its sidecar.

use std::io::Write;

use tracing::dispatcher::get_default;
use tracing::subscriber::NoSubscriber;

/// A text, and the variables that it is about, by their names.
macro_rules! warning {
    ($text:expr $(, $about:ident)*) => {{
        tracing::warn!($($about = %$about,)* "{}", $text);
        $crate::warning::unless_heard($text, &[$((stringify!($about), &$about)),*]);
    }};
}

pub(crate) use warning;

/// Writes to stderr unless somebody takes this thread's warnings of `tracing`.
pub(crate) fn unless_heard(text: &str, about: &[(&str, &dyn std::fmt::Display)]) {
    if get_default(|subscriber| subscriber.is::<NoSubscriber>()) {
        let about: String = about.iter().map(|(name, value)| format!("; {name}: {value}")).collect();
        // An agent without stderr is not told, and goes on: `eprintln!` would panic.
        let _ = writeln!(std::io::stderr(), "sidemirror: {text}{about}");
    }
}
