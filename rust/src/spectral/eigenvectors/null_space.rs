//! Null vectors of a matrix that are known beforehand.

use crate::spectral::factor::{Row, SIDES};

/// The known null space of a matrix.
#[derive(Debug, Clone, Copy)]
pub enum Null<'a> {
    /// No null vectors are known.
    Nothing,
    /// The constant vectors.
    Constants,
    /// The vectors that are constant on the points of each label; labels are 0, 1, 2, ...
    Labels(&'a [u32]),
}

/// The known null vectors: for each label, the roots of the degrees of its points.
pub struct Kernel {
    labels: Option<Vec<u32>>,
    /// Entries of the unit null vectors, all in one, as supports are disjoint; empty if there are none.
    pub entries: Vec<f64>,
    pub sets: usize,
}

impl Kernel {
    pub fn new(n: usize, null: Null<'_>, roots: Option<&[f64]>) -> Self {
        let labels = match null {
            Null::Nothing => return Kernel { labels: None, entries: Vec::new(), sets: 0 },
            Null::Constants => None,
            Null::Labels(labels) => Some(labels.to_vec()),
        };
        let label = |i: usize| labels.as_ref().map_or(0, |l| l[i] as usize);
        let sets = (0..n).map(label).max().unwrap_or(0) + 1;
        let mut entries = roots.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let mut squares = vec![0.0; sets];
        entries.iter().enumerate().for_each(|(i, e)| squares[label(i)] += e * e);
        entries.iter_mut().enumerate().for_each(|(i, e)| *e /= f64::sqrt(squares[label(i)]));
        Kernel { labels, entries, sets }
    }

    /// Labels without points do not count.
    pub fn dimension(&self) -> usize {
        let mut seen = vec![false; self.sets];
        match &self.labels {
            Some(labels) => labels.iter().for_each(|&l| seen[l as usize] = true),
            None => seen.fill(true),
        }
        seen.iter().filter(|&&s| s).count()
    }

    pub fn label(&self, i: usize) -> usize {
        self.labels.as_ref().map_or(0, |l| l[i] as usize)
    }

    /// Removes the null vectors from all columns, twice because of rounding. Cost: two passes.
    pub fn remove(&self, block: &mut [Row]) {
        if self.sets == 0 {
            return;
        }
        for _ in 0..2 {
            let mut sums = vec![[0.0; SIDES]; self.sets];
            for (i, (row, e)) in block.iter().zip(&self.entries).enumerate() {
                let sum = &mut sums[self.label(i)];
                (0..SIDES).for_each(|l| sum[l] += e * row[l]);
            }
            for (i, (row, e)) in block.iter_mut().zip(&self.entries).enumerate() {
                let sum = &sums[self.label(i)];
                (0..SIDES).for_each(|l| row[l] -= e * sum[l]);
            }
        }
    }
}
