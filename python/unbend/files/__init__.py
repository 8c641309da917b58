"""Tables, labels and pairs in files: .npy, .npz, .csv, .parquet, .h5ad and Zarr."""

from .atomic import write_atomically, writing
from .errors import FileError, one_line, required
from .labels import read_ids, read_labels, read_values
from .pairs import PAIR_SUFFIXES, read_pairs
from .tables import check_target, open_points, read_points, split_key, write_points

__all__ = [
    "PAIR_SUFFIXES",
    "FileError",
    "check_target",
    "one_line",
    "open_points",
    "read_ids",
    "read_labels",
    "read_pairs",
    "read_points",
    "read_values",
    "required",
    "split_key",
    "write_atomically",
    "write_points",
    "writing",
]
