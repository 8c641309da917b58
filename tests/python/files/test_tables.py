"""Points from files of every kind, and what is said about files that hold none."""

import os
import pickle
import stat
import struct
import subprocess
import sys
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from unbend.files import (
    FileError,
    check_target,
    open_points,
    read_ids,
    read_labels,
    read_points,
    read_values,
    write_atomically,
    write_points,
)

POINTS = np.array([[1.0, 2.0, 0.5], [3.0, 4.0, -1e-3]])


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def complaint(path):
    with pytest.raises(FileError) as caught:
        read_points(path)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, OSError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# NumPy


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, ">f8"])
def test_npy(tmp_path, dtype):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(3, 2).astype(dtype))
    read = read_points(str(tmp_path / "a.npy"))
    assert isinstance(read, np.memmap)
    assert not read.flags.writeable
    assert read.dtype == dtype
    assert read.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_npy_in_fortran_order(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(POINTS))
    assert np.array_equal(read_points(tmp_path / "a.npy"), POINTS)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(5), r"has shape \(5,\): two dimensions are needed, one point a row"),
        (np.zeros((2, 2, 2)), r"has shape \(2, 2, 2\): two dimensions"),
        (np.zeros((0, 3)), r"has shape \(0, 3\): it holds no points"),
        (np.zeros((2, 2), complex), "holds complex128 entries"),
        (np.array([["a"]]), "holds <U1 entries"),
        (np.zeros((2, 2), bool), "holds bool entries"),
    ],
)
def test_npy_of_something_else(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(FileError, match=message):
        read_points(tmp_path / "a.npy")


def test_damaged_npy(tmp_path):
    np.save(tmp_path / "a.npy", POINTS)
    whole = (tmp_path / "a.npy").read_bytes()
    assert "damaged" in complaint(put(tmp_path, "short.npy", whole[:-8]))
    assert "damaged" in complaint(put(tmp_path, "other.npy", "hello, world"))
    np.save(tmp_path / "o.npy", np.array([[None]]), allow_pickle=True)
    assert "Python objects" in complaint(tmp_path / "o.npy")


def test_npz_chooses_x_or_the_only_one_or_the_named_one(tmp_path):
    np.savez(tmp_path / "a.npz", X=POINTS, Y=POINTS[:, :2])
    np.savez(tmp_path / "b.npz", anything=POINTS)
    assert np.array_equal(read_points(tmp_path / "a.npz"), POINTS)
    assert np.array_equal(read_points(tmp_path / "b.npz"), POINTS)
    assert np.array_equal(read_points(f"{tmp_path}/a.npz:Y"), POINTS[:, :2])


def test_npz_without_a_choice_names_the_keys(tmp_path):
    np.savez(tmp_path / "a.npz", P=POINTS, Q=POINTS)
    assert complaint(tmp_path / "a.npz").endswith(
        "a.npz holds P, Q: choose one with " + f"{tmp_path / 'a.npz'}:NAME"
    )
    assert "has no array 'X': it holds P, Q" in complaint(f"{tmp_path}/a.npz:X")


def test_damaged_npz(tmp_path):
    np.savez(tmp_path / "a.npz", np.array([[None]]))
    whole = (tmp_path / "a.npz").read_bytes()
    assert "'arr_0'" in complaint(tmp_path / "a.npz")
    assert "no .npz archive" in complaint(put(tmp_path, "short.npz", whole[:-30]))
    np.savez(tmp_path / "none.npz")
    assert "holds nothing" in complaint(tmp_path / "none.npz")


# Text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bare.csv", "1,2,0.5\n3,4,-1e-3\n"),
        ("header.csv", "x,y,z\n1,2,0.5\n3,4,-1e-3"),
        ("quoted.csv", '"x, mm","y","z"\n"1","2","0.5"\n3,4,-1e-3\n'),
        ("windows.csv", "\ufeffx,y,z\r\n1,2,0.5\r\n3,4,-1e-3\r\n"),
        ("comments.csv", "# made by hand\n\nx,y,z\n1,2,0.5 # first\n   \n\n3, 4, -1e-3\n\n"),
        ("semicolons.csv", "x;y;z\n1;2;0.5\n3;4;-1e-3\n"),
        ("frame.csv", ",x,y,z\n0,1,2,0.5\n1,3,4,-1e-3\n"),
        ("unnamed.csv", ",0,1,2\n0,1,2,0.5\n1,3,4,-1e-3\n"),
        ("from_r.csv", '"","x","y","z"\n"1",1,2,0.5\n"2",3,4,-1e-3\n'),
        ("UPPER.CSV", "1,2,0.5\n3,4,-1e-3\n"),
        ("tabs.tsv", "x\ty\tz\n1\t2\t0.5\n3\t4\t-1e-3\n"),
    ],
)
def test_text(tmp_path, name, text):
    assert np.array_equal(read_points(put(tmp_path, name, text)), POINTS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("some.csv", "kind,x,y,n,z\na,1,2,9,0.5\nb,3,4,9,-1e-3\n"),
        ("semicolons.csv", "kind;x; y;z\na;1;2;0.5\nb;3;4;-1e-3\n"),
        ("tabs.tsv", "z\tkind\ty\tx\n0.5\ta\t2\t1\n-1e-3\tb\t4\t3\n"),
        ("frame.csv", ",x,y,z,kind\n0,1,2,0.5,a\n1,3,4,-1e-3,b\n"),
    ],
)
def test_columns_by_name(tmp_path, name, text):
    path = put(tmp_path, name, text)
    assert np.array_equal(read_points(f"{path}:x,y,z"), POINTS)
    assert np.array_equal(read_points(f"{path}:z"), POINTS[:, 2:])
    assert read_labels(f"{path}:kind", 2).tolist() == ["a", "b"]


def test_columns_of_parquet_by_name(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame(POINTS, columns=["x", "y", "z"]).assign(kind="a").to_parquet(tmp_path / "a.parquet")
    assert np.array_equal(read_points(f"{tmp_path / 'a.parquet'}:z,x"), POINTS[:, [2, 0]])


TABLE = "id,gate,x,y,z\n7,1,1,2,0.5\n8,0,3,4,-1e-3\n"


@pytest.mark.parametrize(
    "key", ["-id,-gate", "x,y,z", "3-5", "3-", "-1-2", "3,4-5", "1-,-id,-gate", "-gate,-1", '"x",y,5']
)
def test_columns_by_number_and_left_out(tmp_path, key):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = put(tmp_path, "a.csv", TABLE)
    assert np.array_equal(read_points(f"{path}:{key}"), POINTS)
    pd.read_csv(path).to_parquet(tmp_path / "a.parquet")
    assert np.array_equal(read_points(f"{tmp_path / 'a.parquet'}:{key}"), POINTS)


def test_names_come_before_minuses(tmp_path):
    path = put(tmp_path, "a.csv", "a,-b,b\n1.5,2.5,3.5\n")
    assert read_points(f"{path}:-b").tolist() == [[2.5]]
    assert read_points(f"{path}:--b").tolist() == [[1.5, 3.5]]


def test_columns_of_a_table_without_a_header(tmp_path):
    path = put(tmp_path, "a.csv", "7,1,2,0.5\n8,3,4,-1e-3\n")
    for key in ("2-4", "-1", "2,3,4"):
        assert np.array_equal(read_points(f"{path}:{key}"), POINTS)


def test_an_index_stays_left_out_with_others(tmp_path):
    path = put(tmp_path, "a.csv", ",x,kind,y,z\n0,1,a,2,0.5\n1,3,b,4,-1e-3\n")
    assert np.array_equal(read_points(f"{path}:-kind"), POINTS)
    assert read_points(f"{path}:1-2").tolist() == [[0, 1], [1, 3]]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_ids_go_before_the_points(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path, ids = put(tmp_path, "a.csv", 'id,x\n007,1\n"a, b",2\n'), tmp_path / f"b{suffix}"
    assert read_points(path, leave_out="id").tolist() == [[1], [2]]
    name, known = read_ids(path, "id", 2)
    write_points(ids, POINTS, ids=(name, known))
    assert np.array_equal(read_points(f"{ids}:-id"), POINTS)
    name, again = read_ids(ids, "1", 2)
    assert (name, again.tolist()) == ("id", ["007", "a, b"])
    assert read_labels(f"{ids}:id", 2).tolist() == ["007", "a, b"]


def test_ids_of_parquet_keep_their_type(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"id": [70, 80], "x": [1.0, 2.0]}).to_parquet(tmp_path / "a.parquet")
    write_points(tmp_path / "b.parquet", POINTS, ids=read_ids(tmp_path / "a.parquet", "id", 2))
    assert pd.read_parquet(tmp_path / "b.parquet")["id"].dtype == np.int64


def test_what_is_said_of_ids(tmp_path):
    path = put(tmp_path, "a.csv", "id,x\na,1\nb,2\n")
    with pytest.raises(FileError, match=r"a\.csv has no column 'ids': did you mean 'id'"):
        read_ids(path, "ids", 2)
    with pytest.raises(FileError, match=r"a.csv, id holds ids of shape \(2,\): one for each of the 5 points"):
        read_ids(path, "id", 5)
    np.save(tmp_path / "a.npy", POINTS)
    with pytest.raises(FileError, match=r"a\.npy has no column 'id': ids are columns of \.csv"):
        read_ids(tmp_path / "a.npy", "id", 2)
    with pytest.raises(FileError, match="ids and a coordinate are both called 'y1'"):
        write_points(tmp_path / "b.csv", POINTS, ids=("y1", ["a", "b"]))


def test_values(tmp_path):
    path = put(tmp_path, "a.csv", "kind,age,size\na,1,0.5\nb,,2\n")
    found = read_values(path, 2)
    assert {name: values.tolist() for name, values in found.items() if name != "age"} == {"size": [0.5, 2]}
    np.testing.assert_array_equal(found["age"], [1, np.nan])
    assert list(read_values(f"{path}:size,age", 2)) == ["size", "age"]
    assert list(read_values(f"{path}:2-", 2)) == ["age", "size"]
    np.savez(tmp_path / "a.npz", X=POINTS, size=np.arange(2))
    assert read_values(f"{tmp_path / 'a.npz'}:size", 2)["size"].tolist() == [0, 1]
    assert list(read_values(tmp_path / "a.npz", 2)) == ["a 1", "a 2", "a 3"]
    text = put(tmp_path, "a.txt", "size\n1.5\n2.5\n")
    assert read_values(text, 2)["a"].tolist() == [1.5, 2.5]
    with pytest.raises(FileError, match=r"a\.csv, column 'kind' holds text, not numbers: text is for labels"):
        read_values(f"{path}:kind", 2)
    with pytest.raises(
        FileError, match=r"a\.csv, age holds numbers of shape \(2,\): one for each of the 3 points"
    ):
        read_values(path, 3)


def test_what_is_said_of_columns(tmp_path):
    path = put(tmp_path, "a.csv", "name,x,y\np,1,2\n")
    hint = f"'p' is not a number; to leave out columns with text, name them after a minus: {path}:-name"
    assert complaint(path).endswith(hint)
    assert np.array_equal(read_points(hint.rpartition(" ")[2]), [[1, 2]])
    texts = put(tmp_path, "texts.csv", "name,kind,x\np,q,1\n")
    assert complaint(texts).endswith(f"to read only numeric columns, list them: {texts}:x")
    assert "has no column 'z': it has name, x, y" in complaint(f"{path}:x,z")
    assert "has no column 'nam': did you mean 'name'?" in complaint(f"{path}:-nam")
    assert "a.csv has no columns 2-9: its columns are 1 to 3" in complaint(f"{path}:2-9")
    assert "has no column 0: its columns are 1 to 3" in complaint(f"{path}:0")
    assert "leaves no column: " in complaint(f"{path}:-name,-2-3")
    assert "column 1 (name): 'p' is not a number" in complaint(f"{path}:name")
    bare = put(tmp_path, "bare.csv", "1,2\n")
    assert "has no header, so no column 'x': give numbers from 1 to 2" in complaint(f"{bare}:x")
    with pytest.raises(FileError, match="suffix"):
        write_points(f"{path}:x", POINTS)


def test_numbers_of_columns_are_a_header(tmp_path):
    """As pandas writes a frame without names and without its index."""
    path = put(tmp_path, "a.csv", "0,1,2\n1,2,0.5\n3,4,-1e-3\n")
    with pytest.warns(UserWarning, match=r"a\.csv, line 1: 0, 1, 2 is read as a header"):
        assert np.array_equal(read_points(path), POINTS)
    pair = put(tmp_path, "pair.csv", "0,1\n0.5,2\n")
    with pytest.warns(UserWarning, match="could be a header, but is read as a point"):
        assert read_points(pair).tolist() == [[0, 1], [0.5, 2]]
    # Whole numbers throughout: it is a point like the others.
    whole = put(tmp_path, "whole.csv", "0,1,2\n3,4,-5\n")
    assert read_points(whole).shape == (2, 3)
    assert read_points(put(tmp_path, "one.csv", "0,1,2\n")).shape == (1, 3)


def test_header_in_another_encoding(tmp_path):
    path = put(tmp_path, "a.csv", "größe,b\n1,2\n".encode("latin-1"))
    assert read_points(path).tolist() == [[1, 2]]


def test_one_column_and_one_row_are_points(tmp_path):
    assert read_points(put(tmp_path, "a.csv", "1\n2\n")).shape == (2, 1)
    assert read_points(put(tmp_path, "b.csv", "1,2\n")).shape == (1, 2)


def test_a_first_column_that_does_not_count_is_kept(tmp_path):
    assert read_points(put(tmp_path, "a.csv", ",y\n5,2\n1,3\n")).shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y,kind\n1,2,3\n1,2,cat\n", "line 3, column 3 (kind): 'cat' is not a number"),
        ("1,2,cat\n", "line 1, column 3: 'cat' is not a number"),
        ("1,2\n\n# no\n3,\n", "line 4, column 2: the cell is empty: fill it in"),
        ("1,2\n1,2,3\n", "line 2 has 3 columns, but the first has 2"),
        ("1,2\n1\n", "line 2 has 1 column, but the first has 2"),
        ("a;b\n1,5;2\n", "line 2, column 1 (a): '1,5' is not a number"),
        ("1,2\n3," + "z" * 1000, "'" + "z" * 37 + "...' is not a number"),
        ("1,2\n3,1_0\n", "'1_0'"),
        ("x,y\n", "holds a header, but no points"),
        ("", "is empty"),
        ("\n# nothing\n\n", "is empty"),
        (b"1,2\n\x00\xff,3\n", "line 2, column 1"),
    ],
)
def test_text_that_is_no_table_of_numbers(tmp_path, text, message):
    assert message in complaint(put(tmp_path, "a.csv", text))


def test_large_text_is_read_exactly(tmp_path):
    x = np.random.default_rng(0).normal(size=(20_000, 3))
    np.savetxt(tmp_path / "a.csv", x, delimiter=",", fmt="%.17g", header="x,y,z", comments="")
    assert np.array_equal(read_points(tmp_path / "a.csv"), x)


# Parquet


def parquet(path, **columns):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def test_parquet(tmp_path):
    x, y = np.array([1, 2]), np.array([0.5, 3])
    path = parquet(tmp_path / "a.parquet", x=x, y=y, __index_level_0__=x)
    assert read_points(path).tolist() == [[1, 0.5], [2, 3]]


def test_parquet_keeps_single_precision(tmp_path):
    x = np.ones(3, np.float32)
    assert read_points(parquet(tmp_path / "a.parquet", x=x, y=x)).dtype == np.float32


def test_parquet_that_is_no_table_of_numbers(tmp_path):
    assert "column 'kind' holds string" in complaint(
        parquet(tmp_path / "a.parquet", x=[1, 2], kind=["a", "b"])
    )
    assert "column 'x' is missing 1 of 2 values" in complaint(parquet(tmp_path / "b.parquet", x=[1.0, None]))
    assert "it holds no points" in complaint(parquet(tmp_path / "c.parquet"))
    assert "cannot read" in complaint(put(tmp_path, "d.parquet", "junk" * 10))


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'unbend[parquet]'" in complaint(put(tmp_path, "a.parquet", "PAR1"))


# Any file


def test_files_that_are_none(tmp_path):
    assert complaint(tmp_path / "none.npy") == f"there is no file {tmp_path / 'none.npy'}"
    assert "suffix '.txt' is none of .npy, .npz, .csv, .tsv, .parquet" in complaint(
        put(tmp_path, "a.txt", "1")
    )
    assert "suffix ''" in complaint(tmp_path / "a")
    for suffix in ("npy", "npz", "csv", "tsv", "parquet"):
        assert complaint(put(tmp_path, f"empty.{suffix}", "")).endswith("is empty")
    (tmp_path / "folder.npy").mkdir()
    assert "it is not a file" in complaint(tmp_path / "folder.npy")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="anybody may read anything here")
def test_a_file_that_must_not_be_read(tmp_path):
    path = put(tmp_path, "a.csv", "1,2\n")
    path.chmod(0)
    assert complaint(path) == f"cannot read {path}: Permission denied"


# Writing


def test_written_whole(tmp_path):
    path = tmp_path / "a.npy"
    assert write_atomically(path, lambda temporary: np.save(temporary, POINTS)) == path
    assert np.array_equal(read_points(path), POINTS)
    assert os.listdir(tmp_path) == ["a.npy"]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_written_with_the_usual_mode(tmp_path):
    ordinary = put(tmp_path, "ordinary", "")
    path = write_atomically(tmp_path / "a", lambda temporary: temporary.write_text("a"))
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


def test_not_overwritten_unless_forced(tmp_path):
    path = put(tmp_path, "a.txt", "old")
    with pytest.raises(FileError, match="it exists already"):
        write_atomically(path, lambda temporary: temporary.write_text("new"))
    assert path.read_text() == "old"
    write_atomically(path, lambda temporary: temporary.write_text("new"), force=True)
    assert path.read_text() == "new"


# Writes tables with room for given numbers of bytes of a file. No process but this one must be limited.
FULL = """
import os, resource, sys
import numpy as np
from unbend.files import FileError, write_points

points = np.random.default_rng(0).random((100, 2))
for room in sys.argv[2:]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))
    try:
        write_points(sys.argv[1], points, force=True)
    except FileError as error:
        print(error, os.listdir(), open(sys.argv[1]).read())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet", ".h5ad"])
def test_a_full_disk_leaves_the_old_file(tmp_path, suffix):
    path, rooms = put(tmp_path, f"y{suffix}", "old"), ("0", "100", "1000")
    command = [sys.executable, "-c", FULL, str(path), *rooms]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    expected = f"cannot write {path}: File too large {[path.name]} old\n"
    assert (said.returncode, said.stdout) == (0, expected * len(rooms)), said.stderr


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, OSError])
def test_nothing_is_left_of_a_failure(tmp_path, failure):
    def break_off(temporary):
        temporary.write_text("half of it")
        raise failure

    path = put(tmp_path, "a.txt", "old")
    with pytest.raises(failure):
        write_atomically(path, break_off, force=True)
    assert path.read_text() == "old"
    with pytest.raises(failure):
        write_atomically(tmp_path / "b.txt", break_off)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(FileError, match="No such file or directory"):
        write_atomically(tmp_path / "none" / "a.txt", lambda temporary: None)
    with pytest.raises(FileError, match="it is a folder"):
        write_atomically(tmp_path, lambda temporary: None, force=True)


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX")
def test_a_link_is_followed(tmp_path):
    target = put(tmp_path, "target.txt", "old")
    (tmp_path / "link.txt").symlink_to(target)
    write_atomically(tmp_path / "link.txt", lambda temporary: temporary.write_text("new"), force=True)
    assert target.read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()


# Writing points


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".tsv", ".parquet", ".CSV"])
@pytest.mark.parametrize("d", [1, 3])
def test_what_is_written_is_read_again(tmp_path, suffix, d):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    points = np.random.default_rng(0).normal(size=(50, d)) * 10.0 ** np.arange(-20, 30)[:, None]
    path = tmp_path / f"points{suffix}"
    for layout in (points, np.asfortranarray(points), points[::-1].copy()[::-1]):
        assert write_points(path, layout, force=True) == path
        np.testing.assert_array_equal(read_points(path), points)
    assert os.listdir(tmp_path) == [path.name]


def test_columns_have_names(tmp_path):
    write_points(tmp_path / "y.csv", np.zeros((1, 2)))
    assert (tmp_path / "y.csv").read_text() == "y1,y2\n0,0\n"


def test_points_are_not_overwritten_unasked(tmp_path):
    path = tmp_path / "y.npy"
    path.write_text("precious")
    with pytest.raises(FileError, match=r"cannot write .*y.npy: it exists already"):
        write_points(path, np.zeros((1, 2)))
    assert path.read_text() == "precious"


def test_targets(tmp_path):
    check_target(tmp_path / "y.npy")
    check_target(tmp_path / "anything.model", suffixes=())
    (tmp_path / "y.npy").write_text("old")
    check_target(tmp_path / "y.npy", force=True)
    for path, message in [
        (tmp_path / "y.npy", "it exists already"),
        (tmp_path / "y.h5", "its suffix '.h5' is none of .npy, .npz, .csv, .tsv, .parquet"),
        (tmp_path / "y", "its suffix ''"),
        (tmp_path / "none" / "y.csv", "there is no folder"),
    ]:
        with pytest.raises(FileError, match=message):
            check_target(path)
    (tmp_path / "y.csv").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        check_target(tmp_path / "y.csv", force=True)


def test_parquet_without_pyarrow_is_found_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match=r"cannot write .*y.parquet: it needs pyarrow"):
        check_target(tmp_path / "y.parquet")


# Zarr


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.save_array(str(tmp_path / "a.zarr"), POINTS)
    assert np.array_equal(read_points(tmp_path / "a.zarr"), POINTS)
    zarr.save_group(str(tmp_path / "b.zarr"), X=POINTS, Y=POINTS[:, :2])
    assert np.array_equal(read_points(tmp_path / "b.zarr"), POINTS)
    assert np.array_equal(read_points(f"{tmp_path}/b.zarr:Y"), POINTS[:, :2])
    zarr.save_group(str(tmp_path / "c.zarr"), P=POINTS, Q=POINTS)
    assert "c.zarr holds P, Q: choose one with" in complaint(tmp_path / "c.zarr")
    assert "it holds P, Q" in complaint(f"{tmp_path}/c.zarr:R")
    assert "is one array: leave out :Y" in complaint(f"{tmp_path}/a.zarr:Y")
    (tmp_path / "d.zarr").mkdir()
    assert "d.zarr" in complaint(tmp_path / "d.zarr")
    assert "there is no file" in complaint(tmp_path / "e.zarr")
    with pytest.raises(FileError, match=r"its suffix '.zarr' is none of"):
        check_target(tmp_path / "new.zarr")


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
def test_zarr_of_an_anndata(tmp_path):
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("zarr")
    anndata.AnnData(X=POINTS, obsm={"X_pca": POINTS[:, :2]}).write_zarr(tmp_path / "a.zarr")
    assert np.array_equal(read_points(tmp_path / "a.zarr"), POINTS[:, :2])
    assert np.array_equal(read_points(f"{tmp_path}/a.zarr:X"), POINTS)


def test_arrays_are_opened_without_being_read(tmp_path):
    np.save(tmp_path / "a.npy", POINTS)
    assert isinstance(open_points(str(tmp_path / "a.npy")), np.memmap)
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(FileError, match=r"in blocks: its suffix '.csv' is none of .npy, .zarr"):
        open_points(str(tmp_path / "a.csv"))
    zarr = pytest.importorskip("zarr")
    zarr.save_group(str(tmp_path / "b.zarr"), X=POINTS, Y=POINTS[:, :2])
    opened = open_points(f"{tmp_path}/b.zarr:Y")
    assert (opened.shape, isinstance(opened, np.ndarray)) == ((2, 2), False)


def test_without_zarr(tmp_path, monkeypatch):
    (tmp_path / "a.zarr").mkdir()
    monkeypatch.setitem(sys.modules, "zarr", None)
    assert "it needs zarr, pip install 'unbend[zarr]'" in complaint(tmp_path / "a.zarr")


# Labels


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.txt", lambda path: path.write_text("x\ny z\n")),
        ("a.csv", lambda path: path.write_text("label\nx\ny z\n")),
        ("a.npy", lambda path: np.save(path, ["x", "y z"])),
        ("a.npz", lambda path: np.savez(path, names=["x", "y z"])),
    ],
)
def test_labels(tmp_path, name, write):
    write(tmp_path / name)
    assert read_labels(tmp_path / name, 2).tolist() == ["x", "y z"]
    with pytest.raises(FileError, match=r"one for each of the 5 points is needed"):
        read_labels(tmp_path / name, 5)
    with pytest.raises(FileError, match="there is no file"):
        read_labels(tmp_path / "nothing.txt", 2)


# What damaged files, and files that are made to do harm, hold


class Payload:
    """A pickle that makes a folder, if anything loads it."""

    def __reduce__(self):
        return os.mkdir, ("was run",)


def header(shape, descr="<f8", data=b""):
    """Return an .npy whose header says anything."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as held:
        for name, content in members.items():
            held.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        header((10**12, 3)),
        header((2**62, 2**62)),
        header((-1, 3)),
        header("(3, 4)"),
        header((1, 1), "|O", pickle.dumps([Payload()])),
        header((2, 2)).replace(b"'<f8'", b"exit("),
        b"\x93NUMPY\x01\x00\x05\x00{'a'(",
        pickle.dumps(Payload()),
    ],
    ids=["huge", "overflow", "negative", "text", "objects", "code", "open", "pickle"],
)
def test_headers_that_lie(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "a.npy", content)
    archive(tmp_path / "b.npz", **{"X.npy": content})
    assert "a.npy" in complaint(tmp_path / "a.npy")
    assert "b.npz" in complaint(tmp_path / "b.npz")
    assert not (tmp_path / "was run").exists()


def test_members_of_an_archive_stay_in_it(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    file = archive(inside / "a.npz", **{"../X.npy": header((1, 1), data=bytes(8)), "Y.npy": b""})
    with pytest.raises(FileError):
        read_points(f"{file}:Y")
    assert sorted(tmp_path.rglob("*")) == [inside, file]


def test_a_cell_that_is_too_long_is_a_damaged_file(tmp_path):
    path = put(tmp_path, "a.csv", "a,b\n" + '"' + "1," * 200_000 + "\n")
    assert "cannot read" in complaint(path)


def test_whatever_a_parser_raises_is_said_in_one_line(tmp_path):
    """Where a bit is flipped, h5py raises RuntimeError, KeyError and others."""
    anndata = pytest.importorskip("anndata")
    good = tmp_path / "good.h5ad"
    anndata.AnnData(obsm={"X_pca": POINTS}).write_h5ad(good)
    content = good.read_bytes()
    for place in range(0, len(content), 97):
        flipped = bytearray(content)
        flipped[place] ^= 0xFF
        with suppress(FileError):  # most bits are in places that nothing reads
            read_points(put(tmp_path, "a.h5ad", bytes(flipped)))
