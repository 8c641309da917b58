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
    use pyo3::prelude::*;
    use unbend::{charts, embed::cut, measure, points};

    #[pymodule_export]
    use crate::{
        data::{Graph, Patches, Points},
        embed::{Paths, Triangle, lay_out},
        problem::Problem,
        ranks::RankTables,
        run::Stopped,
        spectral::LocalWeights,
        tangents::{Tangents, align_pieces},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::embed::register(module)?;
        crate::measure::register(module)?;
        crate::neighbors::register(module)?;
        crate::ranks::register(module)?;
        crate::spectral::register(module)?;
        crate::synthetic::register(module)?;
        module.add("AVERAGED_TANGENTS", charts::AVERAGED_TANGENTS)?;
        module.add("FAITHFULNESS_FIELDS", measure::FAITHFULNESS_FIELDS)?;
        module.add("FULL_NET_NEIGHBORS", charts::FULL_NET_NEIGHBORS)?;
        module.add("MAX_BASES_ENTRIES", charts::MAX_BASES_ENTRIES)?;
        module.add("MAX_DIM_WITH_BASES", charts::MAX_DIM_WITH_BASES)?;
        module.add("MAX_LISTED_NEIGHBORS", charts::MAX_LISTED_NEIGHBORS)?;
        module.add("MAX_MAGNITUDE", points::MAX_MAGNITUDE)?;
        module.add("MAX_ROOTS", cut::MAX_ROOTS)
    }
}
