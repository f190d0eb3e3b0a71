//! Sidemirror's gRPC contract for Rust: messages for prost and stubs for tonic, generated from `protos/`.
//!
//! Agents usually want the crate `sidemirror-client`, which is a thin layer over this one.

/// The contract, version 1: `sidemirror.v1`.
#[allow(clippy::all, rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]
pub mod v1 {
    include!("sidemirror/v1/sidemirror.v1.rs");
}
