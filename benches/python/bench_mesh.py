"""Flat meshes, compared with libigl: flips, distortion, time and memory, each in a process of its own.

python benches/python/bench_mesh.py                          # generated meshes; libigl if it is installed
python benches/python/bench_mesh.py --data FOLDER            # and real ones: .npz with X, faces and uv
python benches/python/bench_mesh.py --large                  # and a million triangles
python benches/python/bench_mesh.py --broken 200             # damaged meshes: none may give NaN or hang
python benches/python/bench_mesh.py --solvers 300000          # one Newton system of a folded sheet, three ways
python benches/python/bench_mesh.py --cuts FILE              # length of seams and stretch
python benches/python/bench_mesh.py --flat --data FOLDER     # FreeSurfer's flat maps, refined with a barrier
python benches/python/bench_mesh.py --minima --data FOLDER   # published flat maps, and minima of the energy

SLIM is libigl's, 10 steps from harmonic weights on a circle, as in its tutorial; ARAP takes 30 steps. Seconds are
those of the wall clock from arrays to arrays, and of the processor.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import unbend as ub
from scipy.spatial import procrustes

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/python/mesh"))
import shapes

SLIM_STEPS, ARAP_STEPS, CONVERGED_STEPS = 10, 30, 30
REAL = ("cortex_fsaverage5_left_flat", "cortex_fsaverage5_right_flat", "sheencloth_241x241", "camelhead_uv")
SLOW = 5.0  # Seconds of the processor after which a damaged mesh counts as slow.


def alternating(faces, a, b):
    """Return the triangles of a grid with every other diagonal the other way."""
    p, r, s = faces[: (a - 1) * (b - 1)].T
    q = faces[(a - 1) * (b - 1) :, 2]
    odd = (np.add.outer(np.arange(a - 1), np.arange(b - 1)) % 2 == 1).ravel()[:, None]
    return np.concatenate(
        [np.where(odd, np.c_[p, r, q], np.c_[p, r, s]), np.where(odd, np.c_[q, r, s], np.c_[p, s, q])]
    )


def square(n_faces):
    side = int(np.ceil(np.sqrt(n_faces / 2))) + 1
    u, v = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    return u.ravel(), v.ravel(), alternating(shapes.grid(side, side), side, side)


def folded_sheet(n_faces):
    """Return a sheet folded in all directions, like a cortex: many waves, curvature of both signs."""
    u, v, faces = square(n_faces)
    rng = np.random.default_rng(0)
    step = 2 / np.sqrt(n_faces / 2)
    u, v = (w + rng.uniform(-0.25, 0.25, len(w)) * step for w in (u, v))
    height = np.zeros(len(u))
    for _ in range(40):
        length, angle, phase = rng.uniform(6, 16), rng.uniform(0, 2 * np.pi), rng.uniform(0, 2 * np.pi)
        height += 0.036 * np.cos(length * (np.cos(angle) * u + np.sin(angle) * v) + phase)
    return np.c_[u, v, height], faces


def wavy_sheet(n_faces):
    u, v, faces = square(n_faces)
    return np.c_[u, v, 0.1 * np.sin(6 * u) + 0.08 * np.sin(5 * v + 3 * u)], faces


def spherical_cap(n_faces):
    u, v, faces = square(n_faces)
    polar, around = np.hypot(u, v) / np.sqrt(2), np.arctan2(v, u)
    return np.c_[np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], faces


GENERATED = {"folded sheet": (folded_sheet, 300_000)}
LARGE = {"wavy sheet": (wavy_sheet, 1_000_000), "spherical cap": (spherical_cap, 1_000_000)}


def load(name, folder):
    """Return vertices, triangles and the true flat mesh, if it is known."""
    if name in REAL:
        with np.load(Path(folder) / f"{name}.npz") as data:
            return data["X"].astype(float), data["faces"].astype(np.int64), data["uv"].astype(float)
    make, n_faces = {**GENERATED, **LARGE}[name]
    return *make(n_faces), None


def unbend(points, faces):
    return ub.flatten(points, faces).uv


def unbend_arap(points, faces):
    return ub.flatten(points, faces, energy="arap").uv


def harmonic(points, faces):
    import igl

    loop = igl.boundary_loop(faces)
    return igl.harmonic(points, faces, loop, igl.map_vertices_to_circle(points, loop), 1)


def slim_data(points, faces):
    import igl

    energy = igl.MappingEnergyType.SYMMETRIC_DIRICHLET
    start = harmonic(points, faces)
    return igl.slim_precompute(points, faces, start, energy, np.zeros(0, np.int64), np.zeros((0, 2)), 0.0)


def slim(points, faces):
    import igl

    return igl.slim_solve(slim_data(points, faces), SLIM_STEPS)


def arap(points, faces):
    import igl

    data = igl.ARAPData()
    data.max_iter, data.with_dynamics = ARAP_STEPS, False
    start = harmonic(points, faces)
    igl.arap_precomputation(points, faces, 2, np.zeros(1, np.int32), data)  # one vertex stays where it is
    return igl.arap_solve(start[:1], data, start)


METHODS = {"unbend": unbend, "unbend ARAP": unbend_arap, "libigl SLIM": slim, "libigl ARAP": arap}


def one(name, method, folder):
    """Print the numbers of one method on one mesh as JSON."""
    points, faces, truth = load(name, folder)
    ub.flatten(*shapes.bump(8, 8))  # imports are not timed
    base, wall, processor = peak(), time.perf_counter(), time.process_time()
    uv = METHODS[method](points, faces)
    record = {"seconds": time.perf_counter() - wall, "processor": time.process_time() - processor}
    record |= {"memory": peak() - base, "finite": bool(np.isfinite(uv).all())}
    if record["finite"]:
        d = ub.distortion(points, faces, uv)
        for field in ("n_flipped", "symmetric_dirichlet", "arap", "edge_error"):
            record[field] = getattr(d, field)
        rings = ub.Neighborhoods.from_mesh(faces, len(points))
        record["r_n"] = ub.faithfulness(points, uv, neighborhoods=rings).r_n
        if truth is not None:
            record["disparity"] = procrustes(truth, uv)[2]
    print(json.dumps(record))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def compare(names, methods, folder):
    numbers = "flips | symmetric Dirichlet | ARAP | edge error | R_N, one ring | disparity | s | CPU s | GB"
    print(f"| mesh | method | {numbers} |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in names:
        for method in methods:
            command = [
                sys.executable,
                __file__,
                "--one",
                name,
                method,
                *(["--data", folder] if folder else []),
            ]
            run = subprocess.run(command, capture_output=True, text=True)
            print(row(name, method, run), flush=True)


def row(name, method, run):
    if run.returncode:
        return f"| {name} | {method} | failed: {run.stderr.strip().splitlines()[-1][:80]} |"
    r = json.loads(run.stdout.splitlines()[-1])
    times = f"{r['seconds']:.2f} | {r['processor']:.2f} | {r['memory']:.2f}"
    if not r["finite"]:
        return f"| {name} | {method} | NaN | | | | | | {times} |"
    disparity = f"{r['disparity']:.2e}" if "disparity" in r else ""
    numbers = f"{r['n_flipped']:,} | {r['symmetric_dirichlet']:.4f} | {r['arap']:.4f} | {r['edge_error']:.2%}"
    return f"| {name} | {method} | {numbers} | {r['r_n']:.4f} | {disparity} | {times} |"


def solvers(n_faces):
    """Solve one Newton system to 5 %: with a factor of the Hessian, with one of its trace, and with multigrid."""
    from scipy.sparse import bsr_matrix, csr_matrix
    from unbend import _core
    from unbend.fit.assembly import conjugate_gradients
    from unbend.mesh.descent import CG_TOLERANCE, MAX_CG_STEPS, factored
    from unbend.mesh.energy import FlatMesh, SymmetricDirichlet
    from unbend.mesh.repair import repaired, shapes_of

    points, faces = folded_sheet(n_faces)
    surface = repaired(points, faces).surface
    mesh = FlatMesh.of(shapes_of(surface)[0], surface.triangles, len(points))
    uv = ub.flatten(points, faces, max_iter=8).uv
    gradient, blocks = mesh.expansion(SymmetricDirichlet(), uv[:, 0] + 1j * uv[:, 1])
    where = (mesh.pattern.indices, mesh.pattern.indptr)
    matrix = bsr_matrix((blocks, *where)).tocsr()
    right_hand_side = -gradient.view(float)
    graph = ub.Neighborhoods.from_mesh(faces, len(points)).core

    def whole():
        return factored(matrix, 1)

    def trace():
        return factored(csr_matrix(((blocks[:, 0, 0] + blocks[:, 1, 1]) / 2, *where)))

    def multigrid():
        return _core.Problem(_core.Points(points), graph, 2, "R", 0).cycle

    kinds = {"factor of the Hessian": whole, "factor of its trace": trace, "multigrid": multigrid}
    for name, make in kinds.items():
        begin, steps = (time.perf_counter(), time.process_time()), [0]
        precondition = make()
        precondition(right_hand_side)
        ready = time.process_time()
        limit = CG_TOLERANCE * np.linalg.norm(right_hand_side)

        def count(_, steps=steps):
            steps[0] += 1

        conjugate_gradients(matrix.dot, right_hand_side, precondition, limit, MAX_CG_STEPS, count)
        end = time.process_time()
        seconds = f"{time.perf_counter() - begin[0]:.2f} | {ready - begin[1]:.2f} | {end - ready:.2f}"
        print(f"| {len(faces):,} | {name} | {steps[0]} | {seconds} |", flush=True)


def igl_seams(points, faces):
    """Return the inner edges of libigl's cut_to_disk."""
    import igl

    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    edges, counts = np.unique(ends, axis=0, return_counts=True)
    inner = {tuple(edge) for edge in edges[counts == 2].tolist()}
    steps = [sorted(step) for loop in igl.cut_to_disk(faces) for step in pairwise(loop)]
    return np.array([step for step in steps if tuple(step) in inner], dtype=np.int64)


def total_area(points, faces):
    a, b, c = (points[faces[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


def cuts(path):
    """Compare the seams of one mesh: libigl's with SLIM and ARAP, the same with ours, and our own."""
    with np.load(path) as data:
        points, faces = data["X"].astype(float), data["faces"].astype(np.int64)
    used, index = np.unique(faces, return_inverse=True)
    points, faces = points[used], index.reshape(-1, 3)
    seams = igl_seams(points, faces)
    same = ub.flatten(points, faces, cut=seams)
    unit = total_area(points, faces) ** 0.5
    print(f"| seams | map | {CUT_NUMBERS} |\n|---|---|--:|--:|--:|--:|--:|--:|--:|")

    def row(name, method, make, length=same.seam_length):
        since = time.process_time()
        made = make()
        seconds = time.process_time() - since
        own = isinstance(made, ub.Flattening)
        d = made.distortion if own else ub.distortion(same.points, same.faces, made)
        length = made.seam_length if own else length
        numbers = f"{d.n_flipped} | {d.symmetric_dirichlet - 4:.4f} | {d.arap:.4f} | {d.edge_error:.2%}"
        print(
            f"| {name} | {method} | {length / unit:.3f} | {numbers} | {d.stretch:.2f} | {seconds:.1f} |",
            flush=True,
        )

    row("cut_to_disk", "libigl SLIM", lambda: slim(same.points, same.faces))
    row("cut_to_disk", "libigl ARAP", lambda: arap(same.points, same.faces))
    row("cut_to_disk", "unbend", lambda: ub.flatten(points, faces, cut=seams))
    for stretch in (4.3, 3.0, 2.0):
        row(f"max_stretch={stretch}", "unbend", lambda s=stretch: ub.flatten(points, faces, max_stretch=s))
    row("auto", "unbend", lambda: ub.flatten(points, faces))
    row("cut_to_disk", "unbend ARAP", lambda: ub.flatten(points, faces, cut=seams, energy="arap"))


CUT_NUMBERS = "seam length | flips | excess of the energy | ARAP | edge error | stretch | CPU s"


def flat_maps(folder):
    """Refine FreeSurfer's flat maps of the cortex, as they are and with noise, with and without a barrier."""
    print(
        "| map | barrier | R_N before | after | flips before | after | CPU s |\n|---|---|--:|--:|--:|--:|--:|"
    )
    for name in REAL[:2]:
        points, faces, flat = load(name, folder)
        rings = ub.Neighborhoods.from_mesh(faces, len(points))
        step = np.linalg.norm(flat[faces[:, 0]] - flat[faces[:, 1]], axis=1).mean()
        noise = 0.3 * step * np.random.default_rng(0).normal(size=flat.shape)
        for start, kind in ((flat, ""), (flat + noise, ", with noise")):
            for barrier in (False, faces):
                since = time.process_time()
                refined = ub.refine(points, start, neighborhoods=rings, barrier=barrier)
                seconds = time.process_time() - since
                n = [ub.distortion(points, faces, uv).n_flipped for uv in (start, refined.embedding)]
                ends = f"{refined.history[0]:.4f} | {refined.history[-1]:.4f} | {n[0]:,} | {n[1]:,}"
                print(f"| {name}{kind} | {'no' if barrier is False else 'yes'} | {ends} | {seconds:.1f} |")


def chart_flips(folder):
    """Refine FreeSurfer's left map with the triangles of charts, which a mesh does not need."""
    print("\n| neighborhoods | flipped triangles of charts before | after | of the mesh |\n|---|--:|--:|--:|")
    points, faces, flat = load(REAL[0], folder)
    rings = ub.Neighborhoods.from_mesh(faces, len(points))
    for name, graph in {"edges of the mesh": rings, "12 nearest in space": None}.items():
        refined = ub.refine(points, flat, neighborhoods=graph, barrier=True)
        before, after = refined.flips
        left = ub.distortion(points, faces, refined.embedding).n_flipped
        print(f"| {name} | {before} | {after} | {left} |")


def minima(names, folder):
    """Compare published flat maps, scaled to the area of the mesh, with minima of the energy."""
    print(f"| mesh | map | {MINIMA_NUMBERS} |\n|---|---|--:|--:|--:|--:|--:|--:|")
    for name in names:
        points, faces, flat = load(name, folder)
        flat = flat * (total_area(points, faces) / total_area(np.c_[flat, np.zeros(len(flat))], faces)) ** 0.5
        for method, uv in minimum_maps(points, faces, flat):
            d = ub.distortion(points, faces, uv)
            numbers = (
                f"{d.symmetric_dirichlet:.6f} | {d.arap:.6f} | {d.edge_error:.2%} | {d.distance_error:.2%}"
            )
            disparity = procrustes(flat, uv)[2]
            print(f"| {name} | {method} | {numbers} | {d.n_overlapping} | {disparity:.3e} |", flush=True)


def minimum_maps(points, faces, flat):
    """Yield flat maps with their names."""
    exact = {"cut": False, "tol": 0.0, "max_iter": 400}
    yield "published", flat
    yield "unbend", ub.flatten(points, faces, cut=False).uv
    yield "unbend, tol=0", ub.flatten(points, faces, **exact).uv
    yield "unbend, tol=0, from the published", ub.flatten(points, faces, start=flat, **exact).uv
    try:
        import igl
    except ImportError:
        return
    data = slim_data(points, faces)
    yield f"libigl SLIM, {SLIM_STEPS} steps", igl.slim_solve(data, SLIM_STEPS)
    yield f"libigl SLIM, {CONVERGED_STEPS} steps", igl.slim_solve(data, CONVERGED_STEPS - SLIM_STEPS)


MINIMA_NUMBERS = "symmetric Dirichlet | ARAP | edge error | distance error | overlapping | disparity"


def broken(count):
    outcomes, slowest = Counter(), 0.0
    for seed in range(count):
        points, faces = shapes.broken(seed)
        since = time.process_time()
        try:
            flat = ub.flatten(points, faces)
            fine = np.isfinite(flat.uv).all() and flat.distortion.n_flipped == 0
            outcomes["flat, no flip" if fine else "NaN or flips"] += 1
        except ValueError:
            outcomes["a clear error"] += 1
        seconds = time.process_time() - since
        slowest = max(slowest, seconds)
        outcomes["slow"] += seconds > SLOW
    print(
        f"{count} damaged meshes:",
        ", ".join(f"{n} {name}" for name, n in outcomes.items()),
        f"slowest {slowest:.1f} CPU s",
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="FOLDER", help="folder of real meshes")
    parser.add_argument("--large", action="store_true", help="a million triangles as well")
    parser.add_argument("--broken", type=int, metavar="N", help="only lay N damaged meshes flat")
    parser.add_argument("--solvers", type=int, nargs="+", metavar="FACES", help="only solve one system")
    parser.add_argument("--cuts", metavar="FILE", help="only compare the seams of one .npz with X and faces")
    parser.add_argument("--flat", action="store_true", help="only refine the flat maps of --data")
    parser.add_argument("--minima", action="store_true", help="only the published maps of --data, and minima")
    parser.add_argument("--only", metavar="NAME", help="only this mesh")
    parser.add_argument("--one", nargs=2, metavar=("MESH", "METHOD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(*options.one, options.data)
    if options.broken:
        return broken(options.broken)
    if options.cuts:
        return cuts(options.cuts)
    if options.minima:
        return minima([name for name in REAL[:3] if options.only in (None, name)], options.data)
    if options.flat:
        flat_maps(options.data)
        return chart_flips(options.data)
    if options.solvers:
        print(
            "| triangles | preconditioner | steps | s | CPU s, set up | CPU s, solve |\n|--:|---|--:|--:|--:|--:|"
        )
        for n_faces in options.solvers:
            solvers(n_faces)
        return None
    names = [*(REAL if options.data else ()), *GENERATED, *(LARGE if options.large else ())]
    names = [name for name in names if options.only in (None, name)]
    methods = list(METHODS)
    try:
        import igl  # noqa: F401
    except ImportError:
        print("libigl is not installed (pip install libigl): unbend alone")
        methods = ["unbend", "unbend ARAP"]
    return compare(names, methods, options.data)


if __name__ == "__main__":
    main()
