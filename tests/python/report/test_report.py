"""The page of a report: what is in it, and, where there is a Chromium, what it does."""

import base64
import io
import json
import re
import sys
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
import unbend as ub
from browser import MISSING, Browser, chromium
from unbend.cli import main
from unbend.files.tables import FileError
from unbend.report import page as pages
from unbend.report import scene as scenes
from unbend.report.sides import Sides
from unbend.report.thumbnails import ThumbnailSheet

pytest.importorskip("bokeh", reason="a report needs bokeh: pip install 'unbend[report]'")

N, K = 600, 9
EVIL = "</script><script>window.harm=1</script><img src=x onerror=window.harm=2><b>bold</b>"


@pytest.fixture(scope="module")
def data():
    x, coordinates = ub.datasets.swiss_roll(N, random_state=0)
    solid = np.column_stack([coordinates, np.sin(coordinates[:, 0])])
    return x, {"truth": coordinates, "shadow & <i>": x[:, :2], "solid": solid}


@pytest.fixture(scope="module")
def made(data, tmp_path_factory):
    """A report with all there is, and what is hostile in it."""
    x, ys = data
    labels = np.where(ys["truth"][:, 0] > 40, "outer", EVIL)
    images = np.arange(N)[:, None, None] % 200 + np.zeros((N, 5, 4), dtype=np.uint8)
    path = tmp_path_factory.mktemp("report") / "all.html"
    values = {"arc <b>": ys["truth"][:, 0]}
    found = ub.report(
        x, ys, path, labels=labels, images=images, values=values, title=EVIL, n_neighbors=K, random_state=0
    )
    return found, labels


class Page(HTMLParser):
    """Tags, scripts and text of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.scripts, self.words, self._in = [], [], [], None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._in = tag
        if tag == "script":
            self.scripts.append([dict(attributes), ""])

    def handle_endtag(self, tag):
        self._in = None

    def handle_data(self, text):
        if self._in == "script":
            self.scripts[-1][1] += text
        elif self._in != "style":
            self.words.append(text)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def script(self, name):
        (found,) = (text for attributes, text in self.scripts if attributes.get("id") == name)
        return found

    def column(self, name):
        facts = json.loads(self.script("facts"))
        kind = facts["nearType"] if name == "near" else facts["columns"][name]
        return np.frombuffer(base64.b64decode(self.script(f"data-{name}")), dtype=kind)


# What is in the file -------------------------------------------------------------------------------------


def test_it_asks_for_nothing_from_elsewhere(made):
    found, _ = made
    page = Page(found.path)
    asked = [
        (tag, value)
        for tag, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data") and not (value or "").startswith(("#", "data:"))
    ]
    assert asked == []
    (policy,) = (a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    assert "unsafe-eval" not in policy
    assert "http" not in policy.replace("http-equiv", "")


def test_nothing_of_the_data_is_markup(made):
    found, _ = made
    page = Page(found.path)
    run = [
        attributes
        for attributes, _ in page.scripts
        if attributes.get("type") not in ("text/plain", "application/json")
    ]
    assert all("nonce" in attributes for attributes in run)
    nonces = {attributes["nonce"] for attributes in run}
    assert len(nonces) == 1
    assert "img" not in [tag for tag, _ in page.tags]
    assert [tag for tag, _ in page.tags].count("b") == 2 * len(found.comparison)  # readings and captions
    assert EVIL in page.text
    assert EVIL in json.loads(page.script("facts"))["labels"]


def test_the_nonce_is_new_each_time(data, tmp_path):
    x, ys = data
    pages = [
        ub.report(x, ys, tmp_path / f"{i}.html", measures="procrustes").path.read_text() for i in range(2)
    ]
    first, second = (re.search(r"'nonce-([^']+)'", page)[1] for page in pages)
    assert first != second


def test_numbers_are_those_of_compare(data, made):
    x, ys = data
    found, _ = made
    expected = ub.compare(x, ys, n_neighbors=K, random_state=0)
    assert list(found.comparison) == list(expected)
    assert found.comparison.to_dict() == expected.to_dict()
    text = Page(found.path).text
    for quality in expected.values():
        assert all(f"{value.value:.4g}" in text for value in quality.values())
        assert quality.reading in text
    assert "error in shape alone; 0 to 1, lower is better" in text


def test_arrays_are_what_they_should_be(data, made):
    x, ys = data
    found, labels = made
    page, graph = Page(found.path), ub.neighborhoods(x, K)
    for place, name in enumerate(found.comparison):
        y = ys[name]
        for axis in range(y.shape[1]):
            assert np.array_equal(page.column(f"y{place}_{axis}"), y[:, axis].astype(np.float32))
        errors = ub.faithfulness(x, y, neighborhoods=graph).per_point["r_c"]
        assert 10.0 ** page.column(f"e{place}") == pytest.approx(errors, rel=1e-4)
    assert np.array_equal(page.column("near").reshape(N, K), graph.indices.reshape(N, K))
    facts = json.loads(page.script("facts"))
    assert [facts["labels"][code] for code in page.column("label")] == labels.tolist()
    assert np.array_equal(page.column("v0"), ys["truth"][:, 0].astype(np.float32))


def test_settings_and_versions(made):
    found, _ = made
    text = Page(found.path).text
    assert 'half_width=0.005, measures="all", n_neighbors=9, random_state=0' in text
    assert f"unbend {ub.__version__}" in text
    assert re.search(r"X 600 x 3 float64, sha256 [0-9a-f]{16}", text)


def test_a_sample_of_many_points(data, tmp_path, monkeypatch):
    monkeypatch.setattr(scenes, "MOST_DRAWN", 250)
    x, ys = data
    found = ub.report(x, ys, tmp_path / "a.html", n_neighbors=K, random_state=3, measures="procrustes")
    page, graph = Page(found.path), ub.neighborhoods(x, K)
    drawn = page.column("point")
    assert found.n_drawn == len(drawn) == len(set(drawn.tolist())) == 250
    assert (np.diff(drawn.astype(int)) > 0).all()
    near = page.column("near").reshape(250, K)
    for place, point in enumerate(drawn):
        kept = [j for j in graph[point] if j in set(drawn.tolist())]
        assert [drawn[j] for j in near[place] if j != place] == kept
    assert "Of 600 points 250 are drawn, at random." in page.text
    again = ub.report(x, ys, tmp_path / "b.html", n_neighbors=K, random_state=3, measures="procrustes")
    assert np.array_equal(Page(again.path).column("point"), drawn)


def test_neighborhoods_of_different_size(data, tmp_path):
    x, ys = data
    page = Page(ub.report(x, ys, tmp_path / "a.html", radius=2.5, measures="procrustes").path)
    graph = ub.neighborhoods(x, radius=2.5)
    near = page.column("near").reshape(N, -1)
    assert near.shape[1] == min(graph.sizes.max(), scenes.MOST_NEAR)
    for i in range(N):
        assert [j for j in near[i] if j != i] == graph[i][: near.shape[1]].tolist()
    assert "radius=2.5" in page.text


@pytest.mark.parametrize("by", ["trustworthiness", "overlap", "stress", "m_l"])
def test_other_errors(data, tmp_path, by):
    x, ys = data
    found = ub.report(x, ys, tmp_path / "a.html", by=by, random_state=0)
    page = Page(found.path)
    quality = next(iter(found.comparison.values()))
    per_point = {"trustworthiness": lambda: 1 - quality.per_point["trustworthiness"]}.get(
        by, lambda: quality.per_point[by if by != "stress" else "r_c"]
    )()
    assert 10.0 ** page.column("e0") == pytest.approx(np.maximum(per_point, 1e-30), rel=1e-4)


def test_summaries(data):
    x, ys = data
    found = ub.compare(x, ys, "procrustes")
    best = found["truth"]["r_c"].value
    assert pages.summary(found).startswith("Of 3 embeddings, ")
    one = pages.summary(ub.compare(x, {"truth": ys["truth"]}, "procrustes"))
    assert one.startswith(
        f"The embedding truth has R_C {best:.3g}: error in shape alone, 0 is perfect, and no "
    )
    assert one.endswith(f"in 2 dimensions can be below {found['truth']['lower_bound'].value:.3g}.")
    tied = pages.summary(ub.compare(x, {"a": ys["truth"], "b": ys["truth"][:, ::-1]}, "procrustes"))
    assert tied.startswith("Of 2 embeddings, a and b share the first place by R_C")
    higher = pages.summary(ub.compare(x, ys, "ranks", by="trustworthiness"))
    assert "near in Y is near in X, 1 is perfect." in higher


@pytest.mark.parametrize("dims", [1, 2, 3, 5])
def test_any_dimension(data, tmp_path, dims):
    x, _ = data
    wide = np.column_stack([x, x**2])
    page = Page(ub.report(wide, [wide[:, :dims]], tmp_path / "a.html", measures="procrustes").path)
    shown = [name for name in json.loads(page.script("facts"))["columns"] if name.startswith("y")]
    assert len(shown) == min(max(dims, 2), 3)


@pytest.mark.parametrize(("factor", "offset"), [(1e-60, 0), (1e60, 0), (1.0, 1e8)])
def test_units_that_single_precision_cannot_hold(data, tmp_path, factor, offset):
    x, ys = data
    y = ys["truth"] * factor + offset
    page = Page(ub.report(x, [y], tmp_path / "a.html", measures="ranks", by="q_nx").path)
    assert np.array_equal(page.column("y0_0"), y[:, 0])


def test_more_dimensions_than_the_data(data, tmp_path):
    x, _ = data
    page = Page(ub.report(x[:, :2], {"more": x}, tmp_path / "a.html", by="trustworthiness").path)
    assert "Without R_N: more has 3 dimensions, the data 2." in page.text


def test_degenerate_data(tmp_path):
    x = np.ones((40, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ub.report(x, [x[:, :2]], tmp_path / "a.html", measures="procrustes", n_neighbors=3)
        tiny = ub.report(
            x[:2] * [[1], [2]], [x[:2]], tmp_path / "b.html", measures="procrustes", n_neighbors=1
        )
    assert np.isnan(Page(found.path).column("e0")).all() or (Page(found.path).column("e0") == -30).all()
    assert tiny.n_drawn == 2


# What is refused, and when -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": ["a"]}, "labels has shape"),
        ({"values": {"v": [1, 2]}}, "values of 'v' have shape"),
        ({"values": {"v": ["a"] * N}}, "values of 'v' are not numbers"),
        ({"images": np.zeros((N, 4))}, "images has shape"),
        ({"images": np.zeros((3, 4, 4))}, "images has shape"),
        ({"images": np.full((N, 2, 2), "a")}, "images has dtype"),
        ({"by": "nothing"}, "by = 'nothing'"),
        ({"seams": {"lost": []}}, "seams are given of 'lost', but embeddings are truth, shadow & <i>, solid"),
        ({"seams": {"truth": "all"}}, "seams = 'all' is unknown"),
        ({"path": "a.txt"}, "its suffix '.txt' is none of .html, .htm"),
        ({"path": "nowhere/a.html"}, "there is no folder"),
    ],
)
def test_refused_before_the_work(data, tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unbend.judge.context.resolve", lambda *_: pytest.fail("neighbors were searched"))
    with pytest.raises(ValueError, match=re.escape(message)):
        ub.report(*data, **{"path": "a.html"} | given)
    assert list(tmp_path.iterdir()) == []


def test_whole_or_not_at_all(data, tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("old")
    with pytest.raises(FileError, match="it exists already"):
        ub.report(*data, path, force=False)

    def fail(*_):
        assert len(list(tmp_path.iterdir())) == 2  # another file has been begun
        raise KeyboardInterrupt

    monkeypatch.setattr("base64.b64encode", fail)
    with pytest.raises(KeyboardInterrupt):
        ub.report(*data, path, measures="procrustes")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_without_bokeh(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(ImportError, match=re.escape("a report needs bokeh: pip install 'unbend[report]'")):
        ub.report(*data, tmp_path / "a.html")
    np.save(tmp_path / "x.npy", data[0])
    assert main(["report", f"{tmp_path}/x.npy", f"{tmp_path}/x.npy", "-o", f"{tmp_path}/a.html"]) == 2
    assert "a report needs bokeh" in capsys.readouterr().err


# Pictures of points --------------------------------------------------------------------------------------


def pictures(thumbnails):
    """Take a sheet apart again."""
    from PIL import Image

    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(thumbnails.uri.partition(",")[2]))))
    h, w = thumbnails.height, thumbnails.width
    return [
        sheet[row * h : (row + 1) * h, column * w : (column + 1) * w]
        for row in range(thumbnails.rows)
        for column in range(thumbnails.abreast)
    ]


@pytest.mark.parametrize("shape", [(7, 5), (3, 11, 3)])
def test_pictures_keep_their_pixels(shape):
    images = np.random.default_rng(0).integers(0, 256, (23, *shape), dtype=np.uint8)
    drawn = np.array([0, 4, 5, 22])
    thumbnails = ThumbnailSheet.of(images, 23, drawn)
    assert all(np.array_equal(a, images[i]) for a, i in zip(pictures(thumbnails), drawn, strict=False))


def test_large_pictures_are_made_smaller():
    images = np.zeros((2, 400, 200), dtype=np.uint8)
    images[1] = 100
    thumbnails = ThumbnailSheet.of(images, 2, np.arange(2))
    assert (thumbnails.height, thumbnails.width) == (80, 40)
    assert [int(a.max()) for a in pictures(thumbnails)[:2]] == [0, 100]


def test_other_numbers_are_shown_from_least_to_most():
    thumbnails = ThumbnailSheet.of(np.array([[[-1.0, 0.0]], [[1.0, 3.0]]]), 2, np.arange(2))
    assert [a.tolist() for a in pictures(thumbnails)[:2]] == [[[0, 63]], [[127, 255]]]


def test_points_are_colored_by_their_measures(data, tmp_path):
    x, ys = data
    found = ub.report(x, {"truth": ys["truth"], "shadow": x[:, :2]}, tmp_path / "a.html", random_state=0)
    page = Page(tmp_path / "a.html")
    modes = {mode["name"]: mode for mode in json.loads(page.script("facts"))["modes"]}
    for name in ("trustworthiness", "overlap"):
        fields = modes[name]["fields"]
        for field, quality in zip(fields, found.comparison.values(), strict=True):
            np.testing.assert_allclose(page.column(field), quality.per_point[name], rtol=1e-6)
        low, high = modes[name]["low"], modes[name]["high"]
        assert low < high
        worst, perfect = (high, low) if name == "overlap" else (low, high)
        assert perfect == (0 if name == "overlap" else 1)
        assert worst in np.concatenate([page.column(field) for field in fields])
    few = ub.report(x, {"shadow": x[:, :2]}, tmp_path / "b.html", n_centers=100, random_state=0)
    modes = json.loads(Page(few.path).script("facts"))["modes"]
    assert not {"trustworthiness", "overlap"} & {mode["name"] for mode in modes}
    by = ub.report(x, {"shadow": x[:, :2]}, tmp_path / "c.html", by="trustworthiness", random_state=0)
    names = [mode["name"] for mode in json.loads(Page(by.path).script("facts"))["modes"]]
    assert names == ["error (1 - trustworthiness)", "overlap"]


# The command ---------------------------------------------------------------------------------------------


def test_the_command(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x, ys = data
    np.savez("run.npz", X=x, a=ys["truth"], b=x[:, :2], names=np.where(x[:, 0] > 0, "left", "right"))
    (tmp_path / "names.txt").write_text("name\n" + "\n".join(f"point {i}" for i in range(N)))
    call = [
        "report",
        "run.npz",
        "run.npz:a",
        "run.npz:b",
        "-o",
        "r.html",
        "--seed",
        "5",
        "--measures",
        "procrustes",
    ]
    assert main([*call, "--labels", "run.npz:names"]) == 0
    assert capsys.readouterr().out.startswith("Of 2 embeddings, a is the best by R_C")
    assert {"left", "right"} == set(json.loads(Page(tmp_path / "r.html").script("facts"))["labels"])
    assert main(call) == 2
    assert "r.html: it exists already" in capsys.readouterr().err
    assert main([*call, "--force", "--json", "--labels", "names.txt"]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = ub.compare(x, {"a": ys["truth"], "b": x[:, :2]}, "procrustes", random_state=5)
    assert printed == expected.to_dict() | {"path": "r.html"}
    page = Page(tmp_path / "r.html")
    names = json.loads(page.script("facts"))["labels"]
    assert [names[code] for code in page.column("label")[:3]] == ["point 0", "point 1", "point 2"]
    assert main([*call, "--force", "--image-shape", "3,1", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(Page(tmp_path / "r.html").script("facts"))["thumbnails"]["height"] == 3
    assert main([*call, "--force", "--image-shape", "3,2"]) == 2
    assert "makes 6 numbers, but run.npz has 3 columns" in capsys.readouterr().err
    table = "kind,age,size\n" + "\n".join(f"a,{i},{-i}" for i in range(N))
    (tmp_path / "cells.csv").write_text(table)
    np.save(tmp_path / "age.npy", x[:, 0])
    assert main([*call, "--force", "--quiet", "--values", "cells.csv", "--values", "age.npy"]) == 0
    page = Page(tmp_path / "r.html")
    modes = [mode["name"] for mode in json.loads(page.script("facts"))["modes"]]
    assert modes == ["error (R_C)", "age", "size", "age (age.npy)", "overlap"]
    assert page.column("v1")[:3].tolist() == [0, -1, -2]
    assert main([*call, "--force", "--values", "cells.csv:kind"]) == 2
    assert "column 'kind' holds text, not numbers: text is for labels" in capsys.readouterr().err
    (tmp_path / "names.txt").write_text("only\none")
    assert main([*call, "--force", "--labels", "names.txt"]) == 2
    assert "names.txt holds labels of shape (2,)" in capsys.readouterr().err


# What was cut open ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tube(tmp_path_factory):
    """A tube that was cut open, once as an estimator and once as an array of three columns."""
    x, _ = ub.datasets.cylinder(1200, random_state=0)
    model = ub.ProcrustesAlignment().fit(x)
    folder = tmp_path_factory.mktemp("tube")
    np.save(folder / "tube.npy", x)
    solid = np.column_stack([model.embedding_, x[:, 0]])
    given = {"cut": model, "solid": solid, "shadow": x[:, :2]}
    found = ub.report(
        x, given, folder / "tube.html", seams={"solid": model.seams_}, measures="procrustes", random_state=0
    )
    return x, model, found, model.save(folder / "tube.unbend")


def test_both_sides_of_a_seam_have_one_color(tube):
    _, model, _, _ = tube
    (seam,) = model.seams_
    sides = Sides.of(model.embedding_, model.seams_)
    assert set(sides.dots["seam"]) == {0}
    expected = model.embedding_[np.concatenate([seam.points, seam.partners])].astype(np.float32)
    assert np.array_equal(np.column_stack([sides.dots["x0"], sides.dots["x1"]]), expected)


def test_arrows_go_along_both_sides_in_any_two_axes(tube):
    x, model, _, _ = tube
    (seam,) = model.seams_
    y = np.column_stack([model.embedding_, x[:, 0]])
    arrows = Sides.of(y, model.seams_).arrows
    assert {name[1:3] for name in arrows if name[0] == "a"} == {"01", "02", "12"}
    ways = np.column_stack([arrows[f"b01_{axis}"] - arrows[f"a01_{axis}"] for axis in (0, 1)])
    for way, side in zip(ways, (seam.points, seam.partners), strict=True):
        run = model.embedding_[side[-1]] - model.embedding_[side[0]]
        assert way @ run > 0.7 * np.linalg.norm(way) * np.linalg.norm(run)
    assert list(arrows["reversed"]) == [False, False]


def test_a_page_says_what_was_cut(data, made, tube):
    text = Page(tube[2].path).text
    assert text.count("cut open: 1 seam") == 2
    sentence = tube[2].comparison["cut"].cut_sentence
    assert text.count(sentence) == 1
    assert f"cut: {sentence}" in " ".join(str(tube[2]).split())
    assert "R_N with all pairs" in text
    assert "with all pairs" not in Page(made[0].path).text
    assert "one color and one number" in text
    assert "seam" not in Page(made[0].path).text


def test_the_command_takes_models(tube, monkeypatch, capsys):
    x, _, found, saved = tube
    monkeypatch.chdir(saved.parent)
    call = ["report", "tube.npy", "tube.unbend", "-o", "model.html", "--measures", "procrustes", "--json"]
    assert main(call) == 0
    printed = json.loads(capsys.readouterr().out)["embeddings"]["tube"]
    assert printed == found.comparison["cut"].to_dict()
    assert "cut open: 1 seam" in Page(saved.parent / "model.html").text
    np.save("short.npy", x[:99])
    assert main(["compare", "short.npy", "tube.unbend"]) == 2
    assert "short.npy has 99 rows, but the model tube.unbend has 1200" in capsys.readouterr().err


# In a browser --------------------------------------------------------------------------------------------

in_browser = pytest.mark.skipif(chromium() is None, reason=MISSING)

MODEL = "Bokeh.documents[0].get_model_by_name"


@pytest.fixture(scope="module")
def browser(made):
    with Browser() as browser:
        browser.open(made[0].path)
        yield browser


@pytest.fixture
def fresh(browser):
    browser.resize(1280, 800)
    browser.prefer("light")
    browser.run("document.getElementById('clear').click()")
    browser.run(f"[0, 1, 2].forEach(e => {MODEL}('picture' + e).reset.emit())")
    return browser


class Picture:
    """One of the pictures: from places on the screen to those in the embedding and back."""

    def __init__(self, browser, place):
        self.browser, self.place = browser, place
        browser.run(f"document.querySelectorAll('.picture')[{place}].scrollIntoView({{block: 'center'}})")
        self.box = browser.run(
            f"(() => {{ const b = document.querySelectorAll('.picture')[{place}].getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]; })()"
        )
        browser.run(f"{MODEL}('picture{place}').on_event('mousemove', e => {{ window.seen = [e.x, e.y]; }})")
        places = np.array([self.at(0.3, 0.3), self.at(0.7, 0.7)])
        seen = np.array([self.hover(*place) for place in places])
        self.scale = (seen[1] - seen[0]) / (places[1] - places[0])
        self.origin = seen[0] - self.scale * places[0]

    def at(self, right, down):
        left, top, width, height = self.box
        return left + right * width, top + down * height

    def hover(self, x, y):
        """Move the pointer, and return where it is in the embedding."""
        self.browser.run("window.seen = null")
        self.browser.mouse("mouseMoved", x, y)
        self.browser.wait("window.seen")
        # The page answers in the next frame.
        self.browser.run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )
        return self.browser.run("window.seen")

    def on_screen(self, points):
        return (points - self.origin) / self.scale


def embedding(data, made, place):
    name = list(made[0].comparison)[place]
    return data[1][name][:, :2]


def shown(browser):
    """Return the point that is described, or None."""
    match = re.match(r"Point (\d+)", browser.run("document.getElementById('one').textContent"))
    return match and int(match[1])


@in_browser
def test_it_opens_without_a_network_and_without_complaint(fresh):
    assert fresh.errors == []
    assert [url for url in fresh.requests if not url.startswith(("file:", "data:"))] == []
    assert fresh.run(f"{MODEL}('points').data.y0_0.length") == N
    assert fresh.run("document.getElementById('wait')") is None


@in_browser
def test_nothing_of_the_data_is_run(fresh):
    Picture(fresh, 0).hover(*Picture(fresh, 0).at(0.5, 0.5))
    fresh.run(f"{MODEL}('points').selected.indices = [...Array({N}).keys()]")
    fresh.run("[0, 1, 2].forEach(m => { mode.value = m; mode.dispatchEvent(new Event('change')); })")
    assert "<b>bold</b>" in fresh.run("document.getElementById('many').textContent")
    assert fresh.run("document.querySelectorAll('#one b, #many b, #legend b, #tip b, img').length") == 0
    assert fresh.run("window.harm ?? 0") == 0
    assert fresh.errors == []


@in_browser
def test_hostile_names_are_text_and_nan_is_drawn(data, tmp_path):
    x, ys = data
    turned, quoted = "a\u202egpj.exe", "\"' onmouseover=window.harm=3 `${window.harm=4}` {{ 7 * 7 }} \\"
    broken = ys["truth"] * np.where(np.arange(N) < 3, np.nan, 1.0)[:, None]
    names = {EVIL: ys["truth"], quoted: x[:, :2], turned: ys["truth"][::-1]}
    values = {EVIL: broken[:, 0], turned: np.full(N, np.nan)}
    labels = np.where(np.arange(N) % 2, turned, quoted)
    page = ub.report(
        x, names, tmp_path / "hostile.html", labels=labels, values=values, measures="procrustes", title=turned
    )
    with Browser() as browser:
        browser.open(page.path)
        shown = browser.run("[...document.querySelectorAll('figcaption b')].map(b => b.textContent)")
        assert sorted(shown) == sorted(names)
        assert browser.run("document.title") == turned
        assert (
            browser.run("getComputedStyle(document.querySelector('figcaption b')).unicodeBidi") == "isolate"
        )
        browser.run(f"{MODEL}('points').selected.indices = [...Array({N}).keys()]")
        browser.run(
            "[...mode.options].forEach(o => { mode.value = o.value; mode.dispatchEvent(new Event('change')); })"
        )
        Picture(browser, 0).hover(*Picture(browser, 0).at(0.5, 0.5))
        said = browser.run("document.getElementById('many').textContent")
        assert quoted in said
        assert f"\u2068{turned}\u2069" in said
        assert "49" not in shown
        assert browser.run("document.querySelectorAll('img, [onmouseover], figcaption b b').length") == 0
        assert browser.run("window.harm ?? 0") == 0
        assert browser.errors == []


@in_browser
@pytest.mark.parametrize("ratio", [1, 2])
def test_points_are_drawn(data, made, tmp_path, ratio):
    from PIL import Image

    with Browser(ratio=ratio) as browser:
        browser.open(made[0].path)
        browser.run("document.querySelector('.picture').scrollIntoView()")
        pixels = np.asarray(Image.open(browser.screenshot(tmp_path / "a.png")).convert("RGB")).astype(int)
        colored = (pixels.max(axis=2) - pixels.min(axis=2)) > 40
        assert colored.mean() > 0.01
        height, width = browser.run(f"[...{MODEL}('image0').data.image[0].shape]")
        assert width == round(ratio * browser.run(f"{MODEL}('picture0').inner_width"))
        assert height == round(ratio * browser.run(f"{MODEL}('picture0').inner_height"))
        point = lonely(embedding(data, made, 0))
        assert painted(browser, 0, embedding(data, made, 0)[point]) == opaque(expected_color(made, 0, point))
        assert browser.errors == []


def lonely(y):
    """Return the point that is farthest from all others: nothing lies on it."""
    return int(ub.neighborhoods(y, 1).distances.argmax())


def painted(browser, place, at):
    """Return red, green, blue and opacity of the image of a picture at a point of the embedding."""
    code = f"""(([px, py]) => {{
      const {{ image: [image], x: [x], y: [y], dw: [dw], dh: [dh] }} = {MODEL}('image{place}').data;
      const [h, w] = image.shape;
      const pixel = image[Math.floor(h * (py - y) / dh) * w + Math.floor(w * (px - x) / dw)];
      return [0, 8, 16, 24].map(shift => (pixel >>> shift) & 255);
    }})({[float(v) for v in at]})"""
    return browser.run(code)


def expected_color(made, place, point):
    """Return the color of the error of a point."""
    page = Page(made[0].path)
    facts = json.loads(page.script("facts"))
    mode, scale = facts["modes"][0], facts["scale"]
    share = (page.column(f"e{place}")[point] - mode["low"]) / (mode["high"] - mode["low"])
    return scale[int(np.clip(np.floor(share * len(scale)), 0, len(scale) - 1))]


def opaque(color, alpha=0.85):
    channels = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    return [pytest.approx(value, abs=3) for value in (*channels, 255 * alpha)]


@in_browser
@pytest.mark.parametrize(("size", "alpha"), [(1, 1), (2, 0.85), (5.5, 0.5), (12, 1)])
def test_dots_are_blended_as_the_textbook_says(browser, size, alpha):
    """Every pixel is covered as far as the dot reaches into it, and what is painted later lies on top."""
    rng, (width, height), n = np.random.default_rng(0), (40, 30), 60
    y = rng.uniform([-3, -3], [width + 3, height + 3], (n, 2)).astype(np.float32)
    y[5] = np.nan
    palette, codes = rng.integers(0, 256, (3, 3)), rng.integers(0, 3, n)
    packed = [int(r + (g << 8) + (b << 16) + (255 << 24)) for r, g, b in palette]
    wanted = (np.arange(n) % 2).astype(int)
    columns = json.dumps([[None if np.isnan(v) else float(v) for v in column] for column in y.T])
    found = browser.run(f"""(() => {{
      const [x, y] = {columns}.map(column => Float32Array.from(column, v => v ?? NaN));
      const into = new Uint32Array({width * height});
      const wanted = Uint8Array.from({wanted.tolist()}), codes = Uint8Array.from({codes.tolist()});
      const layers = [{{ alpha: {alpha}, wanted, value: 0 }}, {{ alpha: 0.3, wanted, value: 1 }}];
      const view = {{ width: {width}, height: {height}, left: 0, bottom: 0, perX: 1, perY: 1 }};
      const paint = painter();
      const palette = Uint32Array.from({packed});
      paint(view, {{ x: y, y: x }}, codes, palette, 7, [{{ alpha: 1 }}], into); // which is forgotten
      paint(view, {{ x, y }}, codes, palette, {size}, layers, into);
      return [...into];
    }})()""")
    expected, shown = np.zeros((height, width, 3)), np.zeros((height, width, 1))
    centre_y, centre_x = (np.indices((height, width)) + 0.5).astype(float)
    for value, opacity in ((0, alpha), (1, 0.3)):
        for i in np.flatnonzero((wanted == value) & np.isfinite(y).all(axis=1)):
            at = (
                np.floor(y[i].astype(float) * 4) / 4 + 0.125
            )  # places within a pixel are told apart by quarters
            far = np.hypot(centre_x - at[0], centre_y - at[1])
            share = (opacity * np.clip(size / 2 + 0.5 - far, 0, 1))[..., None]
            expected, shown = share * palette[codes[i]] + (1 - share) * expected, share + (1 - share) * shown
    pixels = np.array(found, dtype=np.uint32).reshape(height, width, 1) >> np.array([0, 8, 16, 24]) & 255
    assert np.abs(pixels[..., 3:] - 255 * shown).max() <= 3
    seen = pixels[..., :3] * (pixels[..., 3:] / 255)
    assert np.abs(seen - expected).max() <= 3
    assert np.abs(seen - expected).mean() < 0.5


@in_browser
def test_very_many_faint_dots_have_their_color(browser):
    """Rounding must not take away with every dot what it adds."""
    found = browser.run("""(() => {
      const into = new Uint32Array(9), many = new Float32Array(300).fill(1.5), codes = new Uint8Array(300);
      const view = { width: 3, height: 3, left: 0, bottom: 0, perX: 1, perY: 1 };
      const color = Uint32Array.of(0xff14c83c); // 60, 200, 20
      painter()(view, { x: many, y: many }, codes, color, 4, [{ alpha: 0.08 }], into);
      return [0, 8, 16, 24].map(shift => (into[4] >>> shift) & 255);
    })()""")
    assert found == [pytest.approx(value, abs=8) for value in (60, 200, 20, 255)]


@in_browser
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_pointer_shows_a_point_and_its_true_neighbors(data, made, fresh, place):
    picture, y = Picture(fresh, place), embedding(data, made, place)
    graph = ub.neighborhoods(data[0], K)
    target = picture.on_screen(y[7])
    picture.hover(target[0] + 1, target[1])
    point = shown(fresh)
    far = np.hypot(*(picture.on_screen(y) - target - [1, 0]).T)
    assert far[point] == pytest.approx(far.min(), abs=0.6)  # pixels are whole
    text = fresh.run("document.getElementById('one').textContent")
    listed = re.search(r"nearest first: (.*)$", text)[1]
    assert [int(j) for j in re.findall(r"(\d+) \(", listed)] == graph[point].tolist()
    for other in range(3):
        drawn = fresh.run(f"[...{MODEL}('near').data.b{other}_0]")
        assert drawn == pytest.approx(
            embedding(data, made, other)[graph[point], 0].astype(np.float32).tolist()
        )
    error = made[0].comparison[list(made[0].comparison)[place]].per_point["r_c"][point]
    assert f"error (R_C) {float(f'{error:.3g}'):g}" in fresh.run("document.getElementById('tip').textContent")
    fresh.mouse("mouseMoved", 5, 5)
    fresh.wait(f"{MODEL}('near').data.b0_0.length === 0 && document.getElementById('tip').hidden")


@in_browser
def test_what_is_selected_in_one_is_selected_in_all(data, made, fresh):
    picture, y = Picture(fresh, 0), embedding(data, made, 0)
    fresh.run(f"{MODEL}('picture0').toolbar.tools.find(t => t.type === 'LassoSelectTool').active = true")
    (left, top), (right, bottom) = picture.at(0.3, 0.2), picture.at(0.6, 0.8)
    fresh.drag([(left, top), (right, top), (right, bottom), (left, bottom)])
    fresh.wait(f"{MODEL}('points').selected.indices.length > 0")
    fresh.run(f"{MODEL}('picture0').toolbar.tools.find(t => t.type === 'PanTool').active = true")
    u, v = picture.on_screen(y).T
    depth = np.minimum.reduce([u - left, right - u, v - top, bottom - v])
    chosen = set(fresh.run(f"[...{MODEL}('points').selected.indices]"))
    assert chosen >= set(np.flatnonzero(depth > 1.5).tolist())
    assert chosen <= set(np.flatnonzero(depth > -1.5).tolist())
    assert 20 < len(chosen) < N - 20
    for place in range(3):  # what is not selected fades
        inside, outside = (
            painted(fresh, place, embedding(data, made, place)[point])[3]
            for point in (max(chosen), min(set(range(N)) - chosen))
        )
        assert inside >= 200
        assert outside < 200
    text = fresh.run("document.getElementById('many').textContent")
    assert text.startswith(f"{len(chosen)} of {N} points")
    median = np.sort(made[0].comparison["truth"].per_point["r_c"][sorted(chosen)])[len(chosen) // 2]
    assert f"truth{float(f'{median:.3g}'):g}" in text
    listed = fresh.run("document.querySelector('#many textarea').value")
    assert {int(j) for j in listed.split(", ")} == chosen


@in_browser
def test_selections_can_be_put_together(data, made, fresh):
    picture, y = Picture(fresh, 0), embedding(data, made, 0)
    fresh.run(f"{MODEL}('picture0').toolbar.tools.find(t => t.type === 'LassoSelectTool').active = true")
    u, v = picture.on_screen(y).T
    inside = {}

    def take(name, across, **keys):
        (left, top), (right, bottom) = picture.at(across[0], 0.2), picture.at(across[1], 0.8)
        fresh.drag([(left, top), (right, top), (right, bottom), (left, bottom)], **keys)
        inside[name] = (left < u) & (u < right) & (top < v) & (v < bottom)
        chosen = np.zeros(N, dtype=bool)
        chosen[fresh.run(f"[...{MODEL}('points').selected.indices]")] = True
        return chosen

    def is_like(chosen, expected):
        assert (chosen != expected).sum() <= 12  # those on the rims of the lassos
        assert 20 < chosen.sum() < N - 20

    is_like(take("a", (0.3, 0.5)), inside["a"])
    is_like(take("b", (0.4, 0.7), shift=True), inside["a"] | inside["b"])
    is_like(take("c", (0.35, 0.6), ctrl=True), (inside["a"] | inside["b"]) & inside["c"])
    before = (inside["a"] | inside["b"]) & inside["c"]
    is_like(take("d", (0.5, 0.7), shift=True, ctrl=True), before & ~inside["d"])
    fresh.run(f"{MODEL}('picture0').toolbar.tools.find(t => t.type === 'PanTool').active = true")
    fresh.run("document.querySelector('.picture').focus()")
    fresh.key("Escape")
    assert fresh.run(f"{MODEL}('points').selected.indices.length") == 0


@in_browser
def test_very_many_numbers_are_written_when_wanted(fresh):
    fresh.run("document.querySelector('#many textarea')?.remove()")
    fresh.run(f"{MODEL}('points').selected.indices = Array(6000).fill(3); 0")
    assert fresh.run("document.querySelector('#many textarea').value") == ""
    assert "6,000 numbers" in fresh.run("document.querySelector('#many textarea').placeholder")
    fresh.run("document.querySelector('#many textarea').focus()")
    assert fresh.run("document.querySelector('#many textarea').value").startswith("3, 3, 3")


@in_browser
def test_by_the_keyboard(fresh):
    ends = f"[{MODEL}('picture0').x_range.start, {MODEL}('picture0').x_range.end]"
    fresh.run("document.querySelector('.picture').focus()")
    start, end = fresh.run(ends)
    fresh.key("ArrowRight")
    assert fresh.run(ends) == pytest.approx([start + 0.1 * (end - start), end + 0.1 * (end - start)])
    fresh.key("+")
    low, high = fresh.run(ends)
    assert high - low == pytest.approx(0.8 * (end - start))
    fresh.key("0")
    fresh.wait(f"Math.abs({MODEL}('picture0').x_range.start - {start}) < 1e-6")
    fresh.run("document.getElementById('point').value = 123")
    fresh.run("document.querySelector('#controls [type=submit]').click()")
    assert shown(fresh) == 123
    assert fresh.run(f"{MODEL}('near').data.b0_0.length") == K
    fresh.run("document.getElementById('point').value = 99999")
    fresh.run("document.getElementById('controls').noValidate = true")
    fresh.run("document.querySelector('#controls [type=submit]').click()")
    assert "There is no point 99999" in fresh.run("document.getElementById('one').textContent")


@in_browser
def test_colors_and_axes_can_be_chosen(data, made, fresh):
    y = embedding(data, made, 1)
    point, scale = lonely(y), json.loads(Page(made[0].path).script("facts"))["scale"]
    values = data[1]["truth"][:, 0]
    low, high = np.percentile(values, [2, 98])
    fresh.run("mode.value = 2; mode.dispatchEvent(new Event('change'))")
    code = int(np.clip((values[point] - low) / (high - low) * len(scale), 0, len(scale) - 1))
    assert painted(fresh, 1, y[point]) == opaque(scale[code])
    assert fresh.run("document.getElementById('legend').textContent").startswith("arc <b>")
    fresh.run("mode.value = 1; mode.dispatchEvent(new Event('change'))")
    names, categories = (
        json.loads(Page(made[0].path).script("facts"))[key] for key in ("labels", "categories")
    )
    assert painted(fresh, 1, y[point]) == opaque(categories[names.index(made[1][point])])
    fresh.run("mode.value = 0; mode.dispatchEvent(new Event('change'))")
    assert painted(fresh, 1, y[point]) == opaque(expected_color(made, 1, point))
    assert fresh.run("document.querySelectorAll('.axes select').length") == 1  # one has three coordinates
    fresh.run("window.axes = document.querySelector('.axes select'); 0")
    choose = "axes.value = '%s'; axes.dispatchEvent(new Event('change')); axes.dataset.place"
    place = fresh.run(choose % "0,2")
    solid = data[1][list(made[0].comparison)[int(place)]]
    point = lonely(solid[:, [0, 2]])
    found = painted(fresh, place, solid[point][[0, 2]])  # others of its color lie on it
    assert found[:3] == opaque(expected_color(made, place, point))[:3]
    fresh.run(choose % "0,1")
    assert fresh.errors == []


@in_browser
def test_seams_are_drawn_turned_and_hidden(tube, tmp_path):
    _, model, found, _ = tube
    place = list(found.comparison).index("solid")
    many = sum(len(seam.points) + len(seam.partners) for seam in model.seams_)
    with Browser() as browser:
        browser.open(found.path)
        assert browser.run(f"{MODEL}('sides{place}').data_source.data.x0.length") == many
        colors = browser.run(f"[...new Set({MODEL}('sides{place}').data_source.data.color)]")
        assert len(colors) == 1
        before = browser.screenshot(tmp_path / "before.png").read_bytes()
        browser.run("window.axes = document.querySelector('.axes select'); axes.value = '1,2'; 0")
        browser.run("axes.dispatchEvent(new Event('change'))")
        assert browser.run(f"{MODEL}('sides{place}').glyph.x.field") == "x1"
        assert browser.run(f"{MODEL}('arrows{place}').x_start.field") == "a12_0"
        assert browser.run(f"{MODEL}('numbers{place}').glyph.y.field") == "n12_1"
        browser.run("axes.value = '0,1'; axes.dispatchEvent(new Event('change'))")
        browser.run("document.getElementById('seams').click()")
        browser.run("new Promise(done => setTimeout(done, 300))")
        assert browser.run(f"{MODEL}('sides{place}').visible || {MODEL}('arrows{place}').visible") is False
        assert browser.screenshot(tmp_path / "after.png").read_bytes() != before
        assert browser.errors == []


@in_browser
@pytest.mark.parametrize("width", [1280, 400, 320])
def test_it_fits_the_window(fresh, width):
    fresh.resize(width, 800)
    fresh.wait(f"document.documentElement.scrollWidth <= {width}")  # pictures follow the window
    sizes = fresh.run(
        f"[0, 1, 2].map(e => [{MODEL}('picture' + e).inner_width, {MODEL}('picture' + e).inner_height])"
    )
    assert all(0 < w < width and h > 150 for w, h in sizes)


def luminance(color):
    channels = [int(c) / 255 for c in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_ground(fresh, scheme):
    """As WCAG 2 asks: a contrast of 4.5 to 1 at least."""
    fresh.prefer(scheme)
    ground = luminance(fresh.run("getComputedStyle(document.body).backgroundColor"))
    assert (ground < 0.1) == (scheme == "dark")
    for selector in ("body", ".note", ".aid", ".summary", "td.number", "button", ".value"):
        ink = luminance(fresh.run(f"getComputedStyle(document.querySelector('{selector}')).color"))
        assert (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) >= 4.5, selector


@in_browser
def test_everything_has_a_name(fresh):
    nameless = """[...document.querySelectorAll('select, input, button, textarea, [role], [tabindex]')]
      .filter(e => !(e.ariaLabel || e.getAttribute('aria-labelledby')))
      .filter(e => !(e.closest('label') || e.innerText.trim()))
      .map(e => e.outerHTML.slice(0, 80))"""
    assert fresh.run(nameless) == []
    assert fresh.run("document.documentElement.lang") == "en"
