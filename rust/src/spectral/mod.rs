//! x
mod factor;
mod order;
mod sparse;
pub use factor::{Factor, Plan, Failure, SIDES};
pub use order::{Dissection, dissect};
pub use sparse::Sparse;
