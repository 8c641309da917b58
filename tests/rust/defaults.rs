//! The defaults of the core are those of the Python estimators.

use std::fs;
use std::path::Path;

use unbend::embed::{GreedyParams, Objective};
use unbend::neighbors::approximate::Target;
use unbend::spectral::{Barycenter, DfmParams, HlleParams, Kernel, LleParams, LtsaParams, MlleParams};

/// The default of a parameter in the constructor of a Python estimator.
fn of_python(estimator: &str, parameter: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/unbend/estimators");
    let folders = [folder.join("spectral"), folder];
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let texts = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "py"))
        .map(|path| fs::read_to_string(path).unwrap());
    let head = format!("\nclass {estimator}(");
    let text =
        texts.filter_map(|text| text.split_once(&head).map(|(_, after)| after.to_owned())).next().unwrap();
    let (_, constructor) = text.split_once("def __init__(").unwrap();
    let line = constructor.lines().find(|line| line.trim().starts_with(&format!("{parameter}:"))).unwrap();
    line.rsplit_once(" = ").unwrap().1.trim_end_matches(',').trim_matches('"').to_owned()
}

/// The default of a parameter as a number.
fn number(estimator: &str, parameter: &str) -> f64 {
    of_python(estimator, parameter).parse().unwrap()
}

#[test]
fn local_weights() {
    let boolean = |value: bool| if value { "True" } else { "False" };
    let ltsa = LtsaParams::default();
    assert_eq!(of_python("LTSA", "include_self"), boolean(ltsa.include_self));
    assert_eq!(number("LTSA", "n_components"), ltsa.n_components as f64);
    let hlle = HlleParams::default();
    assert_eq!(of_python("HessianLLE", "include_self"), boolean(hlle.include_self));
    assert_eq!(number("HessianLLE", "n_components"), hlle.n_components as f64);
    let lle = LleParams::default();
    assert_eq!(
        (of_python("LocallyLinearEmbedding", "weights").as_str(), lle.barycenter),
        ("tikhonov", Barycenter::Tikhonov)
    );
    assert_eq!(number("LocallyLinearEmbedding", "reg"), lle.reg);
    let mlle = MlleParams::default();
    assert_eq!(
        (number("ModifiedLLE", "reg"), number("ModifiedLLE", "n_components")),
        (mlle.reg, mlle.n_components as f64)
    );
    let dfm = DfmParams::default();
    assert_eq!((number("DiffusionMaps", "alpha"), dfm.kernel), (dfm.alpha, Kernel::Heat(None)));
    assert_eq!(
        (of_python("DiffusionMaps", "kernel"), of_python("DiffusionMaps", "eps")),
        ("heat".into(), "None".into())
    );
    assert_eq!(
        (of_python("LaplacianEigenmaps", "kernel").as_str(), Kernel::default()),
        ("window", Kernel::Window)
    );
}

#[test]
fn procrustes() {
    let greedy = GreedyParams::default();
    assert_eq!(number("GreedyProcrustes", "n_init"), greedy.n_init as f64);
    assert_eq!((of_python("GreedyProcrustes", "start").as_str(), greedy.start), ("None", None));
    assert_eq!(
        (of_python("GreedyProcrustes", "objective").as_str(), Objective::default()),
        ("R_N", Objective::RN)
    );
}

#[test]
fn search() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(folder.join("python/unbend/graph/neighbors.py")).unwrap();
    let recall = text.lines().find_map(|line| line.strip_prefix("DEFAULT_RECALL = ")).unwrap();
    let number = recall.split_whitespace().next().unwrap();
    assert_eq!(number.parse::<f64>().unwrap(), Target::default().recall);
}
