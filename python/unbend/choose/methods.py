"""Short names of methods, and their names in Python."""

NORMALIZED = {
    "lle": "LocallyLinearEmbedding",
    "mlle": "ModifiedLLE",
    "ltsa": "LTSA",
    "hlle": "HessianLLE",
    "lem": "LaplacianEigenmaps",
    "dfm": "DiffusionMaps",
}
"""The normalized family."""

SWEPT = {"gp": "GreedyProcrustes", "psa": "ProcrustesAlignment", "isomap": "Isomap", **NORMALIZED}
"""Those that `select` tries. Those that normalize are rectified."""
