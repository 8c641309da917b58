"""`unbend flatten`: lay a triangle mesh flat."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import unbend as ub

from ..files import FileError, check_target, write_atomically
from ..mesh.files import check_mesh_target
from .options import JSON, OUTPUT, Command, UsageError
from .words import show, shows_progress, timing_lines, wrapped

__all__ = ["COMMAND"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    target = check_mesh_target(options.output)
    if target.exists() and not options.force:
        raise FileError(f"cannot write {target}: it exists already, use --force to replace it")
    if options.plot is not None:
        check_target(options.plot, force=options.force, suffixes=())
    vertices, faces = ub.read_mesh(options.X)
    flat = ub.flatten(
        vertices,
        faces,
        cut="auto" if options.cut == "auto" else options.cut == "yes",
        energy=options.energy,
        max_stretch=options.max_stretch,
        verbose=shows_progress(options),
        n_jobs=options.jobs,
    )
    ub.write_mesh(target, flat, force=options.force)
    if options.plot is not None:
        _plot(flat, options)
    show(options, _record(flat, options), _lines(vertices, faces, flat, options))


def _plot(flat: ub.Flattening, options: argparse.Namespace) -> None:
    try:
        figure: Any = flat.plot().figure
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'unbend[plot]'") from None
    write_atomically(options.plot, lambda path: figure.savefig(path, dpi=120), force=options.force)


NUMBERS = {
    "n_flipped": "flipped triangles",
    "n_overlapping": "triangles that lie on others",
    "symmetric_dirichlet": "symmetric Dirichlet energy, 4 for an isometry",
    "arap": "as-rigid-as-possible energy, 0 for an isometry",
    "edge_error": "mean change of edge lengths",
    "distance_error": "mean change of geodesic distances over up to 7 edges",
    "area_error": "mean change of areas",
    "angle_error": "mean change of angles, in degrees",
    "stretch": "99 % of the area are stretched or compressed at most by this factor",
}
"""Measures that are printed, with their meaning."""


def _record(flat: ub.Flattening, options: argparse.Namespace) -> dict[str, Any]:
    """Return the object that --json prints."""
    return {
        **{name: getattr(flat.distortion, name) for name in NUMBERS},
        "n_charts": flat.n_charts,
        "n_seam_edges": len(flat.seams),
        "seam_length": flat.seam_length,
        "status": flat.status,
        "notes": list(flat.notes),
        "x": options.X,
        "y": options.output,
        "seconds": flat.timings,
        "version": ub.__version__,
    }


def _lines(vertices: Any, faces: Any, flat: ub.Flattening, options: argparse.Namespace) -> Iterator[str]:
    yield f"mesh       {options.X}, {len(vertices):,} vertices, {len(faces):,} triangles"
    for note in flat.notes:
        yield f"repaired   {note}"
    charts = f"{flat.n_charts:,} chart{'s' * (flat.n_charts != 1)}"
    yield f"flat       {options.output}, {charts}, {len(flat.seams):,} seam edges"
    yield ""
    yield from timing_lines(flat.timings)
    yield ""
    for name, meaning in NUMBERS.items():
        value = getattr(flat.distortion, name)
        number = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
        yield from wrapped(f"  {number:>9}  {meaning}", 13)


COMMAND = Command(
    run,
    "lay a triangle mesh flat without a flipped triangle",
    """\
Lay the triangle mesh X flat: with as little stretch as possible, and without a
flipped triangle. A piece that is not a disc is cut along short paths, whose
seams are exchanged for shorter ones. Further cuts continue from the map before,
while that pays. Charts are set side by side and do not overlap each other; one
that overlaps itself is reported.

X is a .ply, .obj, .stl, .off or .gii file. The suffix of the output decides
what is written: an .obj holds the mesh in space with texture coordinates; a
.ply, .stl, .off or .gii the flat mesh; an .npz all arrays. Broken meshes are
repaired where that changes no shape.
""",
    f"""\
X  triangle mesh
{OUTPUT}--cut {{auto,yes,no}}  cut what is not a disc, and discs stretched by 5 or more (auto)
--energy {{symmetric_dirichlet,arap}}  energy to minimize (symmetric_dirichlet)
--max-stretch FACTOR  cut until 99 %% of the area are stretched or compressed by at most this; a note says if not
--plot FILE  plot the flat mesh, colored by stretch
{JSON}""",
    """\
examples:
  unbend flatten scan.ply -o flat.obj
  unbend flatten head.stl -o flat.obj --max-stretch 1.2 --plot flat.png
  unbend flatten lh.cortex.gii -o flat.gii --json

Files of meshes need trimesh and nibabel: pip install 'unbend[mesh]'.
""",
    {
        "cut": {"default": "auto"},
        "energy": {"default": "symmetric_dirichlet"},
        "max_stretch": {"type": float},
    },
)
