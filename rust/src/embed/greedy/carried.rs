//! Frames carried from neighborhood to neighborhood, in the order in which greedy steps reached them.

use crate::charts::Atlas;
use crate::embed::align::{Bases, carry_along};
use crate::embed::check_indices;
use crate::error::Result;
use crate::monitor::{Monitor, Silent};

/// O_i for every point of narrow data: polar(P_i'P_p) O_p for its parent p, and 1 where i is its own parent.
///
/// Tangents alone decide these frames, so that errors of the embedding do not reach them: eq. 11 for them is nearly as
/// good as for frames along a spanning tree. `None` if the data are not narrow or `atlas` does not hold their tangents.
/// Cost: O(n d^2 q). Fails if parents do not exist.
pub fn carried_frames(atlas: &Atlas, parents: &[u32], monitor: &dyn Monitor) -> Result<Option<Vec<f64>>> {
    let (n, d) = (parents.len(), atlas.n_components());
    super::check_len("the parents", n, "X", atlas.neighborhoods().len())?;
    check_indices(parents, 1, n)?;
    let Some(bases) = Bases::of(atlas) else { return Ok(None) };
    let compare = |i: usize, parent: usize, product: &mut [f64]| bases.product(i, parent, product);
    carry_along(parents, d, compare, &Silent(monitor)).map(Some)
}
