"""The demo: its numbers, its picture, and what it does without matplotlib."""

import os
import sys

import numpy as np
import pytest
import unbend as ub
from unbend.cli import main
from unbend.cli import swiss_roll as demo
from unbend.files.tables import FileError

COUNT = 2000


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The picture, and the lines printed on the way."""
    lines = []
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return demo.run(COUNT, folder, echo=lines.append), lines


def numbers(lines, name):
    line = next(line for line in lines if line.startswith(f"  {name}"))
    return [float(word) for word in line[18:58].split()]


def test_numbers(shown):
    _, lines = shown
    x, coordinates = ub.datasets.swiss_roll(COUNT, random_state=0)
    m = ub.faithfulness(x, coordinates, 12)
    expected = [m.r_n, m.r_n_scaled, m.r_c, m.lower_bound]
    assert numbers(lines, "true unrolling") == pytest.approx(expected, rel=0.01)
    assert numbers(lines, "true unrolling")[0] < 1.1 * m.lower_bound
    assert numbers(lines, "GP, refined")[0] < 1.1 * m.lower_bound
    assert numbers(lines, "PSA, refined")[0] < 1.1 * m.lower_bound
    r_n, rescaled, *_ = numbers(lines, "unit square")
    assert rescaled < 0.5 < r_n
    assert numbers(lines, "PCA")[0] > 0.1


def test_report(shown):
    path, lines = shown
    text = "\n".join(lines)
    for stage in ("made the roll", "found the neighbours", "drew the picture"):
        assert stage in text
    assert str(path) == lines[-1].strip()
    assert max(map(len, lines[:-1])) <= 80


def test_picture(shown):
    matplotlib_image = pytest.importorskip("matplotlib.image")
    path, _ = shown
    assert os.listdir(path.parent) == ["swiss-roll.png"]
    pixels = matplotlib_image.imread(path)
    assert min(pixels.shape[:2]) > 1000
    painted = (pixels[..., :3] < 0.99).any(axis=-1)
    assert 0.05 < painted.mean() < 0.9
    assert not painted[:10].any()
    assert not painted[-10:].any()


def test_texts_do_not_overlap():
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    x, coordinates = ub.datasets.swiss_roll(1600, random_state=0)
    roll = demo.Roll(x, coordinates, ub.neighborhoods(x, 12))
    flattenings = [demo._flatten(way, roll, lambda line: None) for way in demo.WAYS]
    figure = demo._figure(roll, flattenings)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    titles = [axes.title for axes in figure.axes] + figure.texts
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in titles if text.get_text()]
    assert len(boxes) == 8
    for i, box in enumerate(boxes):
        assert box.x0 > 0
        assert box.x1 < figure.bbox.width
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_the_table_is_in_order(shown):
    _, lines = shown
    head = next(place for place, line in enumerate(lines) if "rescaled" in line)
    names = [line[2:18].strip() for line in lines[head + 1 : head + 6]]
    assert names == ["true unrolling", "GP, refined", "PSA, refined", "PCA", "unit square"]
    assert names == [way.name for way in demo.WAYS]


def test_flattenings():
    x, coordinates = ub.datasets.swiss_roll(500, random_state=1)
    roll = demo.Roll(x, coordinates, ub.neighborhoods(x, 12))
    flat = demo.greedy_procrustes(roll)
    np.testing.assert_array_equal(flat, ub.GreedyProcrustes(random_state=0).fit_transform(x))
    shadow, square = demo.pca(roll), demo.unit_square(roll)
    assert shadow.shape == (500, 2)
    assert abs(np.cov(shadow.T)[0, 1]) < 1e-9
    assert np.array_equal(square.min(axis=0), [0, 0])
    assert np.array_equal(square.max(axis=0), [1, 1])


def test_command_replaces_an_older_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "swiss-roll.png").write_text("old")
    assert main(["demo", "--n", "1600", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "swiss-roll.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "swiss-roll.png") in capsys.readouterr().out
    assert os.listdir(tmp_path) == ["swiss-roll.png"]


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    lines = []
    assert demo.run(1600, tmp_path, echo=lines.append) is None
    assert "pip install 'unbend[plot]'" in lines[-1]
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot make the folder"):
        demo.run(1600, tmp_path / "file")
    assert main(["demo", "--n", "1600", "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("value", "text"), [(0.457, "0.46"), (2.53e-5, r"2.5 \times 10^{-5}"), (0.0, "0")])
def test_numbers_in_titles(value, text):
    assert demo._in_math(value) == text
