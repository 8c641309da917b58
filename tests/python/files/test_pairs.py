"""Pairs of points in files: every format reads back the same, and bad files are refused by name."""

import re

import numpy as np
import pytest
from unbend.files import PAIR_SUFFIXES, FileError, read_pairs, write_points

PAIRS = np.array([[0, 3], [1, 2], [7, 4]], dtype=np.uint32)


@pytest.mark.parametrize("suffix", PAIR_SUFFIXES)
@pytest.mark.parametrize("pairs", [PAIRS, PAIRS[:0]], ids=["some", "none"])
def test_read_as_written(tmp_path, suffix, pairs):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    again = read_pairs(write_points(tmp_path / f"pairs{suffix}", pairs), 8)
    assert again.shape == pairs.shape
    assert (again == pairs).all()
    assert again.dtype == np.int64


def test_an_array_or_columns_by_name(tmp_path):
    np.savez(tmp_path / "run.npz", Y=np.zeros((8, 2)), cut=PAIRS)
    assert (read_pairs(f"{tmp_path}/run.npz:cut", 8) == PAIRS).all()
    (tmp_path / "pairs.csv").write_text("from,length,to\n0,0.5,3\n1,0.25,2\n")
    assert read_pairs(f"{tmp_path}/pairs.csv:from,to", 8).tolist() == [[0, 3], [1, 2]]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.zeros((3, 3), dtype=int), "has shape (3, 3): pairs have two columns"),
        (np.zeros(4, dtype=int), "has shape (4,): pairs have two columns"),
        (
            np.array([[0, 1], [2, 8]]),
            "pair 2 holds 8, which is not the index of a point: give whole numbers from 0 to 7",
        ),
        (np.array([[0, -1]]), "pair 1 holds -1, which"),
        (np.array([[0, 1], [1.5, 2]]), "pair 2 holds 1.5, which"),
        (np.array([[0, np.nan]]), "pair 1 holds nan, which"),
        (np.array([["a", "b"]]), "holds <U1 entries: whole numbers"),
    ],
)
def test_pairs_that_are_none(tmp_path, pairs, message):
    np.save(tmp_path / "pairs.npy", pairs)
    with pytest.raises(FileError, match=re.escape(message)) as error:
        read_pairs(tmp_path / "pairs.npy", 8)
    assert "pairs.npy" in str(error.value)


def test_files_that_hold_no_pairs(tmp_path):
    with pytest.raises(FileError, match="there is no file"):
        read_pairs(tmp_path / "none.npy", 8)
    with pytest.raises(FileError, match=r"its suffix '.txt' is none of .npy, .npz"):
        read_pairs(tmp_path / "pairs.txt", 8)
    (tmp_path / "words.csv").write_text("a,b\n1,x\n")
    with pytest.raises(FileError, match="'x' is not a number"):
        read_pairs(tmp_path / "words.csv", 8)
    (tmp_path / "line.csv").write_text("1,2\n")
    assert read_pairs(tmp_path / "line.csv", 8).tolist() == [[1, 2]]
