"""The demo: its numbers, its figure, and what it does without matplotlib."""

import json
import os
import sys

import numpy as np
import pytest
import unbend as ub
from unbend.cli import demo, main

COUNT = 2000
NAMES = ["true unrolling", "PSA, refined", "GP, refined", "PCA", "unit square"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The folder of the figure, the lines printed, and the object that --json prints."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    with pytest.MonkeyPatch.context() as patch:
        out, err = Lines(), Lines()
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        assert main(["demo", "--n", str(COUNT), "-o", str(folder), "--json"]) == 0
    return folder, err.text.splitlines(), json.loads(out.text)


class Lines:
    """A stream that keeps what is written."""

    text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return False


def numbers(lines, name):
    line = next(line for line in lines if line.startswith(f"  {name}"))
    return [float(word) for word in line[18:58].split()]


def test_numbers(shown):
    _, lines, record = shown
    x, coordinates = ub.datasets.swiss_roll(COUNT, random_state=0)
    m = ub.faithfulness(x, coordinates, 12)
    expected = [m.r_n, m.r_n_scaled, m.r_c, m.lower_bound]
    assert numbers(lines, "true unrolling") == pytest.approx(expected, rel=0.01)
    for name in NAMES[:3]:
        assert numbers(lines, name)[0] < 1.1 * m.lower_bound
    r_n, rescaled, *_ = numbers(lines, "unit square")
    assert rescaled < 0.5 < r_n
    assert numbers(lines, "PCA")[0] > 0.1
    assert (record["n_points"], list(record["embeddings"])) == (COUNT, NAMES)
    assert record["embeddings"]["PSA, refined"]["r_n"] == ub.ProcrustesAlignment().fit(x).faithfulness_.r_n


def test_report(shown):
    folder, lines, record = shown
    text = "\n".join(lines)
    for step in ("made the roll", "found the neighbors", "drew the figure"):
        assert step in text
    head = next(place for place, line in enumerate(lines) if "rescaled" in line)
    assert [line[2:18].strip() for line in lines[head + 1 : head + 6]] == NAMES
    assert record["picture"] == str(folder / "swiss-roll.png") == lines[-1].strip()
    assert max(map(len, lines[:-1])) <= 80


def test_figure(shown):
    matplotlib_image = pytest.importorskip("matplotlib.image")
    assert os.listdir(shown[0]) == ["swiss-roll.png"]
    pixels = matplotlib_image.imread(shown[0] / "swiss-roll.png")
    assert min(pixels.shape[:2]) > 1000
    assert 0.05 < (pixels[..., :3] < 0.99).any(axis=-1).mean() < 0.9


def test_texts_do_not_overlap():
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    x, coordinates = ub.datasets.swiss_roll(1600, random_state=0)
    roll = demo.Roll(x, coordinates, ub.neighborhoods(x, 12))
    measured = {
        name: ub.faithfulness(x, way(roll), neighborhoods=roll.neighborhoods)
        for name, way in demo.WAYS.items()
    }
    figure = demo.figure(roll, measured)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    titles = [axes.title for axes in figure.axes] + figure.texts
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in titles if text.get_text()]
    assert len(boxes) == 7
    for i, box in enumerate(boxes):
        assert box.x0 > 0
        assert box.x1 < figure.bbox.width
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_ways():
    x, coordinates = ub.datasets.swiss_roll(500, random_state=1)
    roll = demo.Roll(x, coordinates, ub.neighborhoods(x, 12))
    flat = demo.WAYS["GP, refined"](roll)
    np.testing.assert_array_equal(flat, ub.GreedyProcrustes(random_state=0).fit_transform(x))
    shadow, square = demo.WAYS["PCA"](roll), demo.WAYS["unit square"](roll)
    assert shadow.shape == (500, 2)
    assert abs(np.cov(shadow.T)[0, 1]) < 1e-9
    assert np.array_equal(square.min(axis=0), [0, 0])
    assert np.array_equal(square.max(axis=0), [1, 1])


def test_an_older_figure_is_replaced(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "swiss-roll.png").write_text("old")
    assert main(["demo", "--n", "1600", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "swiss-roll.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "swiss-roll.png") in capsys.readouterr().out
    assert os.listdir(tmp_path) == ["swiss-roll.png"]


def test_without_matplotlib(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert main(["demo", "--n", "1600", "-o", str(tmp_path)]) == 0
    assert "pip install 'unbend[plot]'" in capsys.readouterr().out.splitlines()[-1]
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--n", "1600", "-o", str(tmp_path / "file")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "cannot make the folder" in printed.err
