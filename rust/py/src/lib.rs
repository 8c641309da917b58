//! The border between Python and the core: every function converts, calls and converts.
#![allow(missing_docs)] // the stubs in `_core.pyi` document this module
#![allow(clippy::too_many_arguments)] // they are the keywords of one function of the face

mod align;
mod array;
mod charts;
mod cut;
mod eigenvectors;
mod embed;
mod error;
mod geodesic;
mod isomap;
mod measure;
mod neighbors;
mod ranks;
mod rectify;
mod refine;
mod run;
mod spectral;
mod synthetic;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::align::{Alignment, Net, align_pieces, tangent_scale};
    #[pymodule_export]
    use crate::array::is_matrix;
    #[pymodule_export]
    use crate::charts::{charts_py, spectra, spectra_of};
    #[pymodule_export]
    use crate::cut::{marked, mend, relayout, restricted, seams, shape, spacing, torn, unroll};
    #[pymodule_export]
    use crate::eigenvectors::smallest_eigenvectors;
    #[pymodule_export]
    use crate::embed::{carry, greedy, lay_out};
    #[pymodule_export]
    use crate::geodesic::{geodesic, shepard, skeleton};
    #[pymodule_export]
    use crate::isomap::{Paths, Triangle, spread};
    #[pymodule_export]
    use crate::measure::{asim, asim_all, faithfulness, lower_bound, overlap};
    #[pymodule_export]
    use crate::neighbors::{
        check_graph, components, find_nearest, local_order, nearest, query, reversed, symmetrized, within,
    };
    #[pymodule_export]
    use crate::ranks::{coranking_corner, coranking_matrix, rank_curves, rank_tables, rank_values};
    #[pymodule_export]
    use crate::rectify::rectify;
    #[pymodule_export]
    use crate::refine::{Multigrid, Refiner};
    #[pymodule_export]
    use crate::run::Stopped;
    #[pymodule_export]
    use crate::spectral::LocalWeights;
    #[pymodule_export]
    use crate::synthetic::{
        cylinder, fishbowl, gaussian_bump, grid, hemisphere, rotating_ball, s_curve, strip, swiss_roll,
        swiss_roll_wittman, three_peaks,
    };
}
