//! The numbers of neighborhoods, and their means.

use std::array::from_fn;

/// The values of one neighborhood. Unless stated otherwise they are at least 0, and smaller is better.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PerPoint {
    /// G(X_i, Y_i).
    pub r: f64,
    /// G(X_i, Y_i) / |H X_i|^2; infinite where the data coincide and the embedding does not.
    pub r_n: f64,
    /// G_C(X_i, Y_i) / |H X_i|^2, in [0, 1]; infinite as above.
    pub r_c: f64,
    /// G(Theta_i, Y_i).
    pub r_pca: f64,
    /// The least r_n and r_c that any embedding can have; in [0, 1].
    pub bound: f64,
    /// The largest stretch of the linear map from the tangent to the embedding; 1 is faithful.
    pub stretch_max: f64,
    /// The smallest stretch of that map.
    pub stretch_min: f64,
    /// The factor by which that map multiplies areas (volumes); 1 is faithful.
    pub area: f64,
}

/// Number of values measured for each neighborhood.
pub const FAITHFULNESS_FIELDS: usize = 8;

impl PerPoint {
    pub(super) fn fields(&self) -> [f64; FAITHFULNESS_FIELDS] {
        let PerPoint { r, r_n, r_c, r_pca, bound, area, stretch_max, stretch_min } = *self;
        [r, r_n, r_c, r_pca, bound, area, stretch_max, stretch_min]
    }

    pub(super) fn from_fields(fields: [f64; FAITHFULNESS_FIELDS]) -> Self {
        let [r, r_n, r_c, r_pca, bound, area, stretch_max, stretch_min] = fields;
        PerPoint { r, r_n, r_c, r_pca, bound, stretch_max, stretch_min, area }
    }

    /// Returns whether this neighborhood is left out of normalized means: the data coincide, but the embedding does
    /// not.
    pub fn degenerate(&self) -> bool {
        self.r_n.is_infinite()
    }
}

/// The numbers of one neighborhood, and its terms of the best scale of all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    pub point: PerPoint,
    /// |H Y_i|^2 / |H X_i|^2.
    pub size: f64,
    /// The factor for the whole embedding that minimizes r_n.
    pub scale: f64,
}

/// The values of all neighborhoods measured, field after field.
#[derive(Debug, Clone, PartialEq)]
pub struct PerPoints {
    pub(super) flat: Vec<f64>,
}

impl PerPoints {
    /// Number of neighborhoods.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.flat.len() / FAITHFULNESS_FIELDS
    }

    /// The values of the neighborhood at `place`.
    pub fn get(&self, place: usize) -> PerPoint {
        PerPoint::from_fields(from_fn(|field| self.flat[field * self.len() + place]))
    }

    /// The values of all neighborhoods, in order.
    pub fn iter(&self) -> impl Iterator<Item = PerPoint> {
        (0..self.len()).map(|place| self.get(place))
    }

    /// All r, then all r_n, r_c, r_pca, bound, area, stretch_max and stretch_min.
    pub fn flat(&self) -> &[f64] {
        &self.flat
    }
}

/// Means over neighborhoods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
    /// Eq. 3: mean of G.
    pub r: f64,
    /// Eq. 4: mean of G / |H X_i|^2.
    pub r_n: f64,
    /// Eq. 7: the same when every neighborhood may be rescaled.
    pub r_c: f64,
    /// Eq. 6: mean of G against the charts.
    pub r_pca: f64,
    /// Lemma 1: no embedding of this dimension has a smaller r_n or r_c.
    pub lower_bound: f64,
    /// The one factor for the whole embedding that makes r_n least.
    pub scale: f64,
    /// r_n after that rescaling.
    pub r_n_scaled: f64,
    /// Number of neighborhoods left out of the normalized means.
    pub n_degenerate: usize,
}

/// The values of all neighborhoods, and their means.
#[derive(Debug, Clone)]
pub struct Faithfulness {
    /// Means over the neighborhoods measured.
    pub means: Means,
    /// The values of each neighborhood.
    pub per_point: PerPoints,
}

/// Sums over neighborhoods, and the best scale of them all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Number of neighborhoods in the normalized means.
    counted: usize,
    /// Sum of the weights of all, and of these.
    weight: f64,
    kept: f64,
    r: f64,
    r_pca: f64,
    r_n: f64,
    r_c: f64,
    bound: f64,
    /// Mean of the scales, weighted by the sizes; the sum of these; and of squared distances to the mean.
    scale: f64,
    size: f64,
    apart: f64,
}

impl Totals {
    /// Sums over rows, each multiplied by the `weight` of its place.
    pub fn of(rows: &[Measured], weight: impl Fn(usize) -> f64) -> Self {
        let mut totals = Totals::default();
        let mut weighted_scale = 0.0;
        for (place, Measured { point, size, scale }) in rows.iter().enumerate() {
            let weight = weight(place);
            totals.weight += weight;
            totals.r += weight * point.r;
            totals.r_pca += weight * point.r_pca;
            if !point.degenerate() {
                totals.counted += 1;
                totals.kept += weight;
                totals.r_n += weight * point.r_n;
                totals.r_c += weight * point.r_c;
                totals.bound += weight * point.bound;
                totals.size += weight * size;
                weighted_scale += weight * (size * scale);
            }
        }
        if totals.size > 0.0 {
            totals.scale = weighted_scale / totals.size;
            let kept = rows.iter().enumerate().filter(|(_, row)| !row.point.degenerate());
            let apart = |row: &Measured| (row.size.sqrt() * (row.scale - totals.scale)).powi(2);
            totals.apart = kept.map(|(place, row)| weight(place) * apart(row)).sum();
        }
        totals
    }

    pub fn with(&self, other: &Totals) -> Totals {
        let size = self.size + other.size;
        let share = if size > 0.0 { other.size / size } else { 0.0 };
        let step = other.scale - self.scale;
        Totals {
            counted: self.counted + other.counted,
            weight: self.weight + other.weight,
            kept: self.kept + other.kept,
            r: self.r + other.r,
            r_pca: self.r_pca + other.r_pca,
            r_n: self.r_n + other.r_n,
            r_c: self.r_c + other.r_c,
            bound: self.bound + other.bound,
            scale: self.scale + share * step,
            size,
            apart: self.apart + other.apart + ((self.size * share).sqrt() * step).powi(2),
        }
    }

    pub fn means(&self, n: usize) -> Means {
        // An embedding of which no neighborhood can be measured is not perfect.
        let mean = |sum: f64| if self.counted > 0 { sum / self.kept } else { f64::INFINITY };
        // G(X_i, c Y_i) / |H X_i|^2 = r_c + size (c - scale)^2: a parabola for each neighborhood. Sizes beyond the
        // range of numbers leave nothing but c = 0.
        let best = self.r_c + self.apart;
        let (scale, scaled) = if best.is_finite() { (self.scale, best) } else { (0.0, self.kept) };
        Means {
            r: self.r / self.weight,
            r_pca: self.r_pca / self.weight,
            r_n: mean(self.r_n),
            r_c: mean(self.r_c),
            lower_bound: if self.counted > 0 { self.bound / self.kept } else { 0.0 },
            scale,
            r_n_scaled: mean(scaled),
            n_degenerate: n - self.counted,
        }
    }
}
