"""Tables and labels in files: .npy, .npz, .csv, .parquet, .h5ad and Zarr."""

from .tables import FileError, check_target, read_labels, read_points, write_points

__all__ = ["FileError", "check_target", "read_labels", "read_points", "write_points"]
