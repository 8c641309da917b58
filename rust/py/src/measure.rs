//! `unbend::measure` for Python.

use pyo3::prelude::*;
use unbend::measure::{
    self, AgreementParams, AsimParams, FaithfulnessParams, Measured, Normalization, OverlapParams,
    ShepardParams, SkeletonParams,
};

use crate::data::{Borrow, Flat, Lists, Matrix, points};
use crate::export::{Array, Name, Named, Output, Owned, functions, record};

record! {
    /// Means over neighborhoods.
    Means of measure::Means {
        r: f64, r_n: f64, r_c: f64, r_pca: f64, lower_bound: f64, scale: f64, r_n_scaled: f64, n_degenerate: usize,
    }
}

impl Named for Normalization {
    const PARAMETER: &'static str = "normalization";
    const NAMES: &'static [(&'static str, Self)] = &[("centered", Self::Centered), ("paper", Self::Paper)];
}

/// A number with its standard error and units.
#[derive(IntoPyObject)]
pub struct Number(f64, f64, Array);

impl From<Measured> for Number {
    fn from(number: Measured) -> Self {
        Number(number.value, number.standard_error, Owned(number.units))
    }
}

record! {
    Geodesic of measure::Geodesic {
        residual_variance: Number, stress: Number, stress_scaled: Number, scale: Number,
    }
}

record! {
    Shepard of measure::Shepard {
        spearman: Number, pearson: Number, stress: Number, stress_scaled: Number, scale: Number,
    }
}

functions! {
    /// The means. The numbers of each neighborhood go to `per_point`, a row for each field.
    faithfulness(
        x: Matrix, y: Matrix, graph: Lists, include_self: bool, centers: Option<Flat<u32>>, per_point: Output,
        weights: Option<Flat>
    ) -> Means = |m| {
        let params = FaithfulnessParams { include_self, centers, weights };
        let (x, y) = (points("X", x, m)?, points("Y", y, m)?);
        Ok(measure::faithfulness_into(&x, &y, &graph, params, per_point, m)?.into())
    };

    /// The lower bound of each measured neighborhood.
    lower_bound(
        x: Matrix, n_components: usize, graph: Lists, include_self: bool, centers: Option<Flat<u32>>
    ) -> Array = |m| {
        let params = FaithfulnessParams { include_self, centers, weights: None };
        measure::lower_bound(&points("X", x, m)?, n_components, &graph, params, m).map(Owned)
    };

    /// For each measured point, the share of its nearest embedded points that are distant in the graph.
    overlap(y: Matrix, graph: Lists, steps: usize, centers: Option<Flat<u32>>) -> Array = |m| {
        measure::overlap(&points("Y", y, m)?, &graph, OverlapParams { steps, centers }, m).map(Owned)
    };

    /// The centers of balls, the error of the distances within each, how many are random, and the scale.
    agreement(
        x: Matrix, y: Matrix, graph: Lists, n_balls: usize, n_worst: usize, size: usize, n_sources: usize, seed: u64
    ) -> (Array<u32>, Array, usize, f64) = |m| {
        let params = AgreementParams { n_balls, n_worst, size, n_sources, seed };
        let found = measure::agreement(&points("X", x, m)?, &points("Y", y, m)?, &graph, &params, m)?;
        Ok((Owned(found.centers), Owned(found.errors), found.n_random, found.scale))
    };

    /// The same as `agreement` and `overlap`, of an embedding that a fit judges.
    evidence(
        x: Borrow, y: Matrix, graph: Lists, n_balls: usize, n_worst: usize, size: usize, n_sources: usize, seed: u64,
        steps: usize, examined: Flat<u32>
    ) -> (Array<u32>, Array, usize, f64, Array) = |m| {
        let params = AgreementParams { n_balls, n_worst, size, n_sources, seed };
        let (x, y) = (x.checked(m)?, points("Y", y, m)?);
        let found = measure::agreement(x.source(), &y, &graph, &params, m)?;
        let shares = measure::overlap(&y, &graph, OverlapParams { steps, centers: Some(examined) }, m)?;
        Ok((Owned(found.centers), Owned(found.errors), found.n_random, found.scale, Owned(shares)))
    };

    /// ASIM of two sets of points.
    asim(x: Matrix, y: Matrix, normalized: Name<Normalization>) -> f64 = |m| {
        measure::asim(&points("X", x, m)?, &points("Y", y, m)?, normalized)
    };

    /// ASIM of each measured neighborhood.
    asim_all(
        x: Matrix, y: Matrix, graph: Lists, include_self: bool, normalized: Name<Normalization>,
        centers: Option<Flat<u32>>
    ) -> Array = |m| {
        let params = AsimParams { include_self, normalization: normalized, centers };
        measure::asim_all(&points("X", x, m)?, &points("Y", y, m)?, &graph, params, m).map(Owned)
    };

    /// The numbers, the share of pairs that no path joins, and the stretch of each source.
    geodesic(x: Matrix, y: Matrix, graph: Lists, sources: Option<Flat<u32>>) -> (Geodesic, f64, Array) = |m| {
        let mut found = measure::geodesic(&points("X", x, m)?, &points("Y", y, m)?, &graph, sources, m)?;
        let (unreachable, stretch) = (found.unreachable, std::mem::take(&mut found.stretch));
        Ok((found.into(), unreachable, Owned(stretch)))
    };

    /// The numbers, and the number of pairs measured.
    shepard(x: Matrix, y: Matrix, n_pairs: Option<usize>, seed: u64) -> (Shepard, usize) = |m| {
        let params = ShepardParams { n_pairs, seed };
        let found = measure::shepard(&points("X", x, m)?, &points("Y", y, m)?, params, m)?;
        let n_pairs = found.n_pairs;
        Ok((found.into(), n_pairs))
    };

    /// Landmarks, the most important first, the importance of all points, and the distances between landmarks.
    skeleton(
        x: Matrix, graph: Lists, n_landmarks: usize, sources: Option<Flat<u32>>
    ) -> (Array<u32>, Array<u64>, Array) = |m| {
        let params = SkeletonParams { n_landmarks, sources };
        let found = measure::skeleton(&points("X", x, m)?, &graph, params, m)?;
        Ok((Owned(found.landmarks), Owned(found.importance), Owned(found.distances)))
    };
}
