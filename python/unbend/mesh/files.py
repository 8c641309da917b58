"""Meshes in files: .ply, .obj, .stl and .off by trimesh, .gii by nibabel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from ..files import FileError, one_line, required, write_atomically
from .energy import Array, Faces

if TYPE_CHECKING:
    from .flatten import Flattening

__all__ = ["READ_SUFFIXES", "WRITE_SUFFIXES", "check_mesh_target", "read_mesh", "write_mesh"]

TRIMESH_SUFFIXES = (".ply", ".obj", ".stl", ".off")
READ_SUFFIXES = (*TRIMESH_SUFFIXES, ".gii")
WRITE_SUFFIXES = (".obj", ".ply", ".stl", ".off", ".gii", ".npz")

LINES = 100_000  # Lines of a text file are written in blocks of this number.


def read_mesh(path: str | os.PathLike[str]) -> tuple[Array, Faces]:
    r"""Read a triangle mesh as it is in the file: nothing is merged, turned or left out.

    Parameters
    ----------
    path : str or path
        A .ply, .obj, .stl, .off or .gii file. Polygons are split into triangles.

    Returns
    -------
    vertices : ndarray of shape (n, 3)
    faces : ndarray of int, shape (m, 3)

    Examples
    --------
    >>> import tempfile, pathlib, unbend as ub
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.off"
    >>> _ = path.write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    >>> vertices, faces = ub.read_mesh(path)
    >>> vertices.shape, faces.tolist()
    ((3, 3), [[0, 1, 2]])
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in READ_SUFFIXES:
        raise FileError(
            f"cannot read {path}: its suffix is {suffix!r}, not one of {', '.join(READ_SUFFIXES)}"
        )
    if not path.is_file():
        raise FileError(f"cannot read {path}: there is no such file")
    read = _read_gifti if suffix == ".gii" else _read_trimesh
    try:
        vertices, faces = read(path)
    except FileError:
        raise
    except Exception as error:  # readers raise whatever a damaged file makes them raise
        raise FileError(f"cannot read {path}: {one_line(error)}") from error
    if len(faces) == 0:
        raise FileError(f"cannot read {path}: it holds {len(vertices):,} vertices and no triangle")
    return np.asarray(vertices, dtype=np.float64), np.asarray(faces, dtype=np.int64)


def write_mesh(path: str | os.PathLike[str], flat: Flattening, *, force: bool = False) -> Path:
    """Write a mesh that was laid flat.

    Parameters
    ----------
    path : str or path
        An .obj holds the mesh in space with texture coordinates from 0 to 1, cut along its seams. A .ply, .stl,
        .off or .gii holds the flat mesh in the plane z = 0. An .npz holds the arrays of the result.
    flat : Flattening
        Result of :func:`flatten`.
    force : bool, default False
        If True, replace an existing file.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile, pathlib, unbend as ub
    >>> flat = ub.flatten([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> ub.write_mesh(pathlib.Path(tempfile.mkdtemp()) / "flat.obj", flat).name
    'flat.obj'
    """
    path = check_mesh_target(path)
    writers = {".obj": _write_obj, ".npz": _write_npz, ".gii": _write_gifti}
    writer = writers.get(path.suffix.lower(), _write_trimesh)
    return write_atomically(path, lambda temporary: writer(temporary, flat), force=force)


def check_mesh_target(path: str | os.PathLike[str]) -> Path:
    """Refuse a name whose suffix says nothing that can be written."""
    path = Path(path)
    if path.suffix.lower() not in WRITE_SUFFIXES:
        raise FileError(
            f"cannot write {path}: its suffix is {path.suffix!r}, not one of {', '.join(WRITE_SUFFIXES)}"
        )
    return path


def _read_trimesh(path: Path) -> tuple[Any, Any]:
    trimesh = required("trimesh", "mesh", f"cannot read {path}")
    mesh = trimesh.load_mesh(path, process=False, maintain_order=True)
    if not hasattr(mesh, "faces"):
        raise FileError(f"cannot read {path}: it holds a {type(mesh).__name__}, not one mesh")
    return mesh.vertices, mesh.faces


def _read_gifti(path: Path) -> tuple[Any, Any]:
    nibabel = required("nibabel", "mesh", f"cannot read {path}")
    image = nibabel.load(path)
    points, faces = (image.agg_data(kind) for kind in ("pointset", "triangle"))
    if not (hasattr(points, "ndim") and hasattr(faces, "ndim")):
        raise FileError(f"cannot read {path}: it does not hold one set of points and one of triangles")
    return points, faces


def _in_plane(flat: Flattening) -> Array:
    return np.pad(flat.uv, ((0, 0), (0, 1)))


def _write_trimesh(path: Path, flat: Flattening) -> None:
    trimesh = required("trimesh", "mesh", f"cannot write {path}")
    trimesh.Trimesh(_in_plane(flat), flat.faces, process=False).export(path)


def _write_gifti(path: Path, flat: Flattening) -> None:
    nibabel = required("nibabel", "mesh", f"cannot write {path}")
    arrays = [
        nibabel.gifti.GiftiDataArray(_in_plane(flat).astype(np.float32), intent="NIFTI_INTENT_POINTSET"),
        nibabel.gifti.GiftiDataArray(flat.faces.astype(np.int32), intent="NIFTI_INTENT_TRIANGLE"),
    ]
    nibabel.save(nibabel.gifti.GiftiImage(darrays=arrays), path)


def _write_npz(path: Path, flat: Flattening) -> None:
    names = ("uv", "faces", "vertices", "face_indices", "chart_labels", "seams", "points")
    np.savez(path, **{name: getattr(flat, name) for name in names})


def _write_obj(path: Path, flat: Flattening) -> None:
    """Write vertices in space once each, texture coordinates once each bank of a seam, and triangles of both."""
    place = np.full(int(flat.vertices.max()) + 1, -1)
    used, first = np.unique(flat.vertices, return_index=True)
    place[used] = np.arange(len(used))
    low = flat.uv.min(axis=0)
    texture = (flat.uv - low) / (float(np.ptp(flat.uv, axis=0).max()) or 1.0)
    corners = np.stack([place[flat.vertices[flat.faces]], flat.faces], axis=2).reshape(-1, 6) + 1
    with path.open("w", encoding="ascii") as file:
        file.write("# laid flat by unbend\n")
        _write_lines(file, "v %.9g %.9g %.9g", flat.points[first])
        _write_lines(file, "vt %.9g %.9g", texture)
        _write_lines(file, "f %d/%d %d/%d %d/%d", corners)


def _write_lines(file: TextIO, form: str, rows: Any) -> None:
    for start in range(0, len(rows), LINES):
        np.savetxt(file, rows[start : start + LINES], fmt=form)
