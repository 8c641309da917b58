//! Vector loops over the columns of a matrix.
//!
//! Sums run in four lanes, so that they vectorize, and always in the same order.

const LANES: usize = 4;

/// Column `j` of a matrix with `rows` rows.
#[inline(always)]
pub fn column(matrix: &[f64], rows: usize, j: usize) -> &[f64] {
    &matrix[j * rows..(j + 1) * rows]
}

/// The dot product of two slices of the same length.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest = a_rest.iter().zip(b_rest).fold(0.0, |sum, (x, y)| sum + x * y);
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// The dot product of two long slices, in more lanes than [`dot`].
#[inline(always)]
pub fn long_dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 16;
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        (0..LANES).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).fold(0.0, |sum, (x, y)| sum + x * y)
}

/// Writes the dot products of `a` with long columns of its length, four at a time, in more lanes than [`dot`].
#[inline(always)]
pub fn long_dots(a: &[f64], columns: &[f64], out: &mut [f64]) {
    const LANES: usize = 8;
    const SIDE: usize = 4;
    let rows = a.len();
    let whole = rows - rows % LANES;
    let blocks = columns.chunks_exact(SIDE * rows);
    let rest = blocks.remainder();
    let (wide, narrow) = out.split_at_mut(out.len() - out.len() % SIDE);
    for (block, out) in blocks.zip(wide.as_chunks_mut::<SIDE>().0) {
        let sides: [&[f64]; SIDE] = std::array::from_fn(|c| column(block, rows, c));
        let chunks = sides.map(|side| side.as_chunks::<LANES>().0);
        let mut sums = [[0.0; LANES]; SIDE];
        for (t, a) in a.as_chunks::<LANES>().0.iter().enumerate() {
            for c in 0..SIDE {
                for lane in 0..LANES {
                    sums[c][lane] += a[lane] * chunks[c][t][lane];
                }
            }
        }
        for c in 0..SIDE {
            out[c] = sums[c].iter().sum::<f64>() + dot(&a[whole..], &sides[c][whole..]);
        }
    }
    for (column, out) in rest.chunks_exact(rows).zip(narrow) {
        *out = long_dot(a, column);
    }
}

/// Writes the sum of `weight(j)` times column `j` over `j < count`. The number of rows must be a multiple of four.
#[inline(always)]
pub fn combine(columns: &[f64], count: usize, weight: impl Fn(usize) -> f64, out: &mut [f64]) {
    let rows = out.len();
    for (c, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut sums = [0.0; LANES];
        for j in 0..count {
            let w = weight(j);
            let chunk = &columns[j * rows + c * LANES..][..LANES];
            for lane in 0..LANES {
                sums[lane] += w * chunk[lane];
            }
        }
        *out = sums;
    }
}

/// The squared distance of x from the sum of `weight(j)` times column `j` over `j < count`. The number of rows must be
/// a multiple of four.
#[inline(always)]
pub fn distance2_to_combination(
    x: &[f64],
    columns: &[f64],
    count: usize,
    weight: impl Fn(usize) -> f64,
) -> f64 {
    let rows = x.len();
    let mut sums = [0.0; LANES];
    for (c, x) in x.as_chunks::<LANES>().0.iter().enumerate() {
        let mut rest = *x;
        for j in 0..count {
            let w = weight(j);
            let chunk = &columns[j * rows + c * LANES..][..LANES];
            for lane in 0..LANES {
                rest[lane] -= w * chunk[lane];
            }
        }
        for lane in 0..LANES {
            sums[lane] += rest[lane] * rest[lane];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
