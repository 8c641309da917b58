//! Embeddings, and what follows from one: where points go that were not there.

mod carry;

pub use carry::{Carried, carry};
