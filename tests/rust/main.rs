//! All tests of the core in one binary: it links once.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod synthetic;
