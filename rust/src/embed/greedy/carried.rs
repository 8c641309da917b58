//! Frames carried from neighborhood to neighborhood, in the order in which greedy steps reached them.

use crate::charts::Atlas;
use crate::embed::align::{Bases, multiply};
use crate::embed::check_indices;
use crate::error::Result;
use crate::linalg::polars;
use crate::monitor::{Monitor, Silent};
use crate::parallel::fill_rows;

const STAGE: &str = "frames";

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
    let (size, mut turns) = (d * d, vec![0.0; n * d * d]);
    let state = || (vec![0.0; size], [0.0], Vec::new());
    fill_rows(&mut turns, size, STAGE, &Silent(monitor), state, |(product, sum, spare), i, turn| {
        bases.product(i, parents[i] as usize, product);
        polars(product, d, d, turn, sum, spare);
    })?;
    monitor.check()?;
    Ok(Some(chained(turns, parents, d)))
}

/// Every matrix times that of its parent, which is multiplied first.
fn chained(mut turns: Vec<f64>, parents: &[u32], d: usize) -> Vec<f64> {
    let (size, mut waiting) = (d * d, Vec::new());
    let (mut own, mut above) = (vec![0.0; size], vec![0.0; size]);
    let mut reached: Vec<bool> = (0..).zip(parents).map(|(i, &parent): (u32, _)| i == parent).collect();
    for i in 0..parents.len() {
        let mut at = i;
        while !std::mem::replace(&mut reached[at], true) {
            waiting.push(at);
            at = parents[at] as usize;
        }
        while let Some(child) = waiting.pop() {
            own.copy_from_slice(&turns[child * size..][..size]);
            above.copy_from_slice(&turns[parents[child] as usize * size..][..size]);
            multiply(&own, &above, d, &mut turns[child * size..][..size]);
        }
    }
    turns
}
