//! Alignment by the top eigenvectors of the connection matrix: all frames at once.
//!
//! It works on compact curved surfaces. On long thin ones the second eigenvector is a harmonic of the first, and the
//! frames wind up. Cost: O(n k d^3) for the blocks and for rounding; the caller finds the eigenvectors.

use super::{Connection, STAGE, Scratch, fill_points};
use crate::error::{Error, Result};
use crate::linalg::{first, polar};
use crate::monitor::Monitor;
use crate::parallel::fill_rows;

/// The block polar(P_i'P_j) for every edge, row after row; with the graph of `connection` these are a block matrix.
pub fn blocks(connection: &Connection, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    connection.prepare(monitor)?;
    let d = connection.n_components();
    let graph = connection.graph();
    let mut blocks = vec![0.0; graph.indices().len() * d * d];
    fill_points(graph, &mut blocks, d * d, monitor, Scratch::default, |scratch, _, edges, blocks| {
        scratch.factors(edges.map(|edge| connection.product(edge)), d);
        for (block, factor) in blocks.chunks_exact_mut(d * d).zip(scratch.polar.chunks_exact(d * d)) {
            (0..d * d).for_each(|ab| block[ab] = factor[(ab % d) * d + ab / d]);
        }
    })?;
    Ok(blocks)
}

/// O_i nearest to the rows of d `vectors` that belong to point i: `vectors` has d rows for each point, row after row.
pub fn round(connection: &Connection, vectors: &[f64], monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let d = connection.n_components();
    connection.check_rotations(vectors)?;
    if let Some(at) = vectors.iter().position(|v| !v.is_finite()) {
        let (row, column, value) = (at / d, at % d, vectors[at]);
        return Err(Error::NotFinite { name: "vectors", row, column, value });
    }
    let mut rotations = vec![0.0; vectors.len()];
    let state = || (Vec::new(), Vec::new());
    fill_rows(&mut rotations, d * d, STAGE, monitor, state, |(block, spare), i, rotation| {
        let block = first(block, d * d);
        (0..d * d).for_each(|ab| block[ab] = vectors[i * d * d + (ab % d) * d + ab / d]);
        polar(block, d, d, rotation, spare);
    })?;
    Ok(rotations)
}
