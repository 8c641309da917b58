"""Real sets with a known truth, for `bench_hard.py --real`, from .npz files that are not part of the project.

Every file has an array X. The truth is not isometric to it: positions are compared with radio signals, and angles
with images.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

MOST_POINTS = 1500


def r_squared(truth, points):
    """How well the five nearest points predict the truth, in cross-validation."""
    folds = KFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(KNeighborsRegressor(5), points, truth, cv=folds)
    return 1 - ((truth - predicted) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()


def positions(file):
    return file["X"], file["params"][:, :2]


def ring(column):
    """The truth is an angle in a column of `params`, as a point of a circle."""

    def read(file):
        angles = file["params"][:, column]
        return file["X"], np.column_stack([np.cos(angles), np.sin(angles)])

    return read


def level(building, floor):
    """One floor of one building."""

    def read(file):
        x, truth = positions(file)
        rows = (file["params"][:, 3] == building) & (file["params"][:, 2] == floor)
        return x[rows], truth[rows]

    return read


def centered_rows(read):
    """Each row without its mean: a window of a series without its level."""

    def read_centered(file):
        x, truth = read(file)
        return x - x.mean(axis=1, keepdims=True), truth

    return read_centered


@dataclass(frozen=True)
class Source:
    file: str
    read: Callable = positions


REAL = {
    "wifi, building 0, floor 2": Source("ujiindoorloc", level(0, 2)),
    "wifi, building 2, floor 1": Source("ujiindoorloc", level(2, 1)),
    "wifi, mall": Source("msindoor_site1_b1"),
    "wifi, hcxy": Source("sod_hcxy_wifi"),
    "wifi, syl": Source("sod_syl_wifi"),
    "wifi, robot": Source("robot_wifi_uw"),
    "bluetooth": Source("ble_tetam_tracks"),
    "head direction": Source("headdirection_mouse_thalamus", ring(0)),
    "shifted photograph": Source("photo_translation_coffee"),
    "image patches": Source("natural_patches_k300", ring(0)),
    "walking": Source("mocap_walk_cmu35", ring(0)),
    "Munsell colors": Source("munsell_reflectance", lambda file: (file["X"], file["cartesian"])),
    "cloth": Source("sheencloth_241x241"),
    "cortex": Source("cortex_fsaverage5_left_flat"),
    "heartbeat": Source("ecg_delay", ring(0)),
    "carbon dioxide": Source("co2_mauna_loa_helix", centered_rows(ring(1))),
}


def read_real(folder, source):
    """Return X and the truth, at most 1,500 points; None if the file is neither in the folder nor above it."""
    paths = [place / f"{source.file}.npz" for place in (folder, folder.resolve().parent)]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        return None
    with np.load(path, allow_pickle=True) as file:
        x, truth = (np.asarray(part, dtype=float) for part in source.read(file))
    rows = np.sort(np.random.default_rng(0).permutation(len(x))[:MOST_POINTS])
    return x[rows], truth[rows]
