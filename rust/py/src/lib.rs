//! The border between Python and the core: every function converts, calls and converts.
#![allow(missing_docs)] // the stubs in `_core.pyi` document this module
#![allow(clippy::too_many_arguments)] // they are the keywords of one function of the face

mod data;
mod embed;
mod export;
mod measure;
mod neighbors;
mod problem;
mod ranks;
mod run;
mod spectral;
mod synthetic;
mod tangents;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::{
        data::{Graph, Points},
        embed::{Paths, Triangle, carry, lay_out, rectify, spread},
        measure::{asim, asim_all, faithfulness, geodesic, lower_bound, overlap, shepard, skeleton},
        neighbors::{charts_py, find_nearest, nearest, query, spectra, spectra_of, within},
        problem::Problem,
        ranks::{RankTables, coranking_matrix, rank_tables},
        run::Stopped,
        spectral::{LocalWeights, smallest_eigenvectors},
        synthetic::{
            cylinder, fishbowl, gaussian_bump, grid, hemisphere, rotating_ball, s_curve, strip, swiss_roll,
            swiss_roll_wittman, three_peaks,
        },
        tangents::{Tangents, align_pieces},
    };
}
