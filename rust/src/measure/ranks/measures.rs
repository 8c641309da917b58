//! The measures by ranks: each is affine in one of five sums over the neighbors of a point.

/// The sum over the k nearest neighbors of a point that a measure is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Over the nearest in Y with rank r > k in X: r - k.
    Intrusion,
    /// Over the nearest in X with rank r > k in Y: r - k.
    Extrusion,
    /// Number of points among the k nearest on both sides.
    Shared,
    /// Over the nearest in Y, of rank s there and r in X: |r - s| / s.
    FalseShift,
    /// Over the nearest in X, of rank s there and r in Y: |r - s| / s.
    MissingShift,
}

impl Base {
    /// Returns whether it is a sum over ranks of numbers that do not depend on k.
    pub(super) fn is_shift(self) -> bool {
        matches!(self, Base::FalseShift | Base::MissingShift)
    }

    /// Its mean when the points of Y are relabeled at random: r is then any rank with the same probability.
    fn expected(self, n: usize, k: usize) -> f64 {
        let (n, k) = (n as f64, k as f64);
        match self {
            Base::Intrusion | Base::Extrusion => k * (n - 1.0 - k) * (n - k) / (2.0 * (n - 1.0)),
            Base::Shared => k * k / (n - 1.0),
            Base::FalseShift | Base::MissingShift => {
                let shift = |s: f64| (s * (s - 1.0) + (n - 1.0 - s) * (n - s)) / (2.0 * (n - 1.0));
                (1..=k as usize).map(|s| shift(s as f64) / s as f64).sum()
            }
        }
    }
}

/// A measure by ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankMeasure {
    /// T: 1 if every point near in Y is near in X; 0 at worst.
    Trustworthiness,
    /// C: 1 if every neighbor in X is near in Y; 0 at worst.
    Continuity,
    /// Q_NX, the share of neighbors that are preserved; also called the agreement rate.
    QNx,
    /// R_NX, Q_NX corrected for chance: 0 for random embeddings, 1 if all neighbors are preserved.
    RNx,
    /// LCMC: Q_NX minus its value for random embeddings.
    Lcmc,
    /// Relative error of the ranks of the nearest in Y; 0 is perfect.
    MrreFalse,
    /// Relative error of the ranks of the nearest in X; 0 is perfect.
    MrreMissing,
    /// The share of others that are neighbors on both sides or on neither.
    RandIndex,
}

impl RankMeasure {
    /// All measures.
    pub const ALL: [RankMeasure; 8] = [
        RankMeasure::Trustworthiness,
        RankMeasure::Continuity,
        RankMeasure::QNx,
        RankMeasure::RNx,
        RankMeasure::Lcmc,
        RankMeasure::MrreFalse,
        RankMeasure::MrreMissing,
        RankMeasure::RandIndex,
    ];

    /// The name of the measure in Python.
    pub fn name(self) -> &'static str {
        match self {
            RankMeasure::Trustworthiness => "trustworthiness",
            RankMeasure::Continuity => "continuity",
            RankMeasure::QNx => "q_nx",
            RankMeasure::RNx => "r_nx",
            RankMeasure::Lcmc => "lcmc",
            RankMeasure::MrreFalse => "mrre_false",
            RankMeasure::MrreMissing => "mrre_missing",
            RankMeasure::RandIndex => "rand_index",
        }
    }

    pub(super) fn base(self) -> Base {
        match self {
            RankMeasure::Trustworthiness => Base::Intrusion,
            RankMeasure::Continuity => Base::Extrusion,
            RankMeasure::MrreFalse => Base::FalseShift,
            RankMeasure::MrreMissing => Base::MissingShift,
            _ => Base::Shared,
        }
    }

    /// The measure is the first plus the second times its base.
    pub(super) fn affine(self, n: usize, k: usize) -> (f64, f64) {
        let (size, others) = (k as f64, (n - 1) as f64);
        let chance = size / others;
        match self {
            RankMeasure::Trustworthiness | RankMeasure::Continuity => (1.0, -inverse(worst_penalty(n, k))),
            RankMeasure::QNx => (0.0, 1.0 / size),
            // with k = n - 1 all are kept by any embedding: nothing is known beyond chance
            RankMeasure::RNx if k == n - 1 => (0.0, 0.0),
            RankMeasure::RNx => (-chance / (1.0 - chance), 1.0 / (size * (1.0 - chance))),
            RankMeasure::Lcmc => (-chance, 1.0 / size),
            RankMeasure::MrreFalse | RankMeasure::MrreMissing => (0.0, inverse(worst_shift(n, k))),
            RankMeasure::RandIndex => (1.0 - 2.0 * chance, 2.0 / others),
        }
    }

    /// The mean of the measure over all relabelings of the points of Y: its value for random embeddings.
    pub fn null(self, n: usize, k: usize) -> f64 {
        let (offset, slope) = self.affine(n, k);
        offset + slope * self.base().expected(n, k)
    }
}

/// 0 where nothing can go wrong.
fn inverse(worst: f64) -> f64 {
    if worst > 0.0 { 1.0 / worst } else { 0.0 }
}

/// The largest penalty of a point: the ranks of k false neighbors are at most n - 1, n - 2, ...; with k >= n / 2 there
/// are no more than n - 1 - k false neighbors (Venna 2007).
fn worst_penalty(n: usize, k: usize) -> f64 {
    let (n, k) = (n as f64, k as f64);
    if 2.0 * k < n { k * (2.0 * n - 3.0 * k - 1.0) / 2.0 } else { (n - k) * (n - k - 1.0) / 2.0 }
}

/// H_k for one point: the shifts when all ranks are reversed.
fn worst_shift(n: usize, k: usize) -> f64 {
    (1..=k).map(|s| (n as f64 - 2.0 * s as f64).abs() / s as f64).sum()
}
