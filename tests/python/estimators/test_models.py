"""Models in files: what comes back, and what is refused."""

import json
import os
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
import unbend as ub
from unbend.files.tables import FileError

NEW = np.random.default_rng(1).normal(size=(40, 4))


def data(n=90, q=4):
    return np.random.default_rng(0).normal(size=(n, q))


def fitted(x=None, **options):
    options = {"n_neighbors": 10, "random_state": 0, **options}
    return ub.GreedyProcrustes(**options).fit(data() if x is None else x)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def path(model, tmp_path):
    return model.save(tmp_path / "cloud.unbend")


def changed(path, change=None, drop=(), add=(), damage=None):
    """Write the archive again with another manifest, or other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        manifest = json.loads(members["model.json"])
        change(manifest)
        members["model.json"] = json.dumps(manifest).encode()
    members = {name: held for name, held in members.items() if name not in drop} | dict(add)
    if damage is not None:
        members[damage] = members[damage][:-8]
    with zipfile.ZipFile(path, "w") as archive:
        for name, held in members.items():
            archive.writestr(name, held)
    return path


def refused(path):
    with pytest.raises(FileError) as caught:
        ub.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, OSError)
    return message


def same(a, b, name="model"):
    """Compare two models in all that they hold."""
    assert type(a) is type(b), name
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)
    elif isinstance(a, dict):
        assert list(a) == list(b), name
        for key in a:
            same(a[key], b[key], f"{name}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), name
        for one, other in zip(a, b, strict=True):
            same(one, other, name)
    elif isinstance(a, ub.Neighborhoods):
        for key in ("indices", "indptr", "distances", "n_neighbors"):
            same(getattr(a, key), getattr(b, key), f"{name}.{key}")
    elif hasattr(a, "__dict__"):
        # the shares of an overlap are found at the first look, and not kept in files
        held = [{key: value for key, value in vars(one).items() if key != "shares"} for one in (a, b)]
        same(*[dict(sorted(one.items())) for one in held], name)
    else:
        assert a == b, name


# What comes back


@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning")
@pytest.mark.parametrize("alignment", ["tree", "auto", "anneal"])
def test_aligned_models_come_back(alignment, tmp_path):
    annealing = {"start": "tree", "acceptance": 1e-3, "tried": 5, "rounds": 1}
    model = ub.ProcrustesAlignment(
        n_neighbors=10, alignment=alignment, annealing=annealing, random_state=0
    ).fit(data())
    again = ub.load(model.save(tmp_path / "model"))
    same(model, again)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"refine": None, "n_init": 1},
        {"refine": "pointwise", "objective": "R", "tangent_neighbors": 20},
        {"tangent": "overlap", "n_components": 3, "max_memory": 1e9, "n_jobs": 2, "start": 3},
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_everything_comes_back(options, dtype, tmp_path):
    model = fitted(data().astype(dtype), **options)
    again = ub.load(model.save(tmp_path / "model"))
    same(model, again)
    assert again.get_params() == model.get_params()
    for new in (data().astype(dtype), NEW, NEW[:1], NEW.astype(np.float32)):
        np.testing.assert_array_equal(again.transform(new), model.transform(new))
    placed = model.transform(NEW)
    np.testing.assert_array_equal(again.inverse_transform(placed), model.inverse_transform(placed))


def test_names_of_features_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data(), columns=["a", "b", "ü", "d"])
    again = ub.load(fitted(frame).save(tmp_path / "model"))
    assert again.feature_names_in_.tolist() == ["a", "b", "ü", "d"]
    again.transform(frame)
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame.rename(columns={"a": "z"}))


def test_neighborhoods_of_any_size_come_back(tmp_path):
    x = data(200, 2)
    nb = ub.neighborhoods(x, radius=3.0)
    assert nb.n_connected_components == 1
    model = ub.GreedyProcrustes(random_state=0).fit(x, neighborhoods=nb)
    again = ub.load(model.save(tmp_path / "model"))
    same(model.neighborhoods_, again.neighborhoods_)
    np.testing.assert_array_equal(again.transform(x + 0.01), model.transform(x + 0.01))


def test_strided_data_come_back(tmp_path):
    x = np.asfortranarray(data(180))[::2]
    model = fitted(x)
    np.testing.assert_array_equal(
        ub.load(model.save(tmp_path / "model")).transform(NEW), model.transform(NEW)
    )


def test_what_lives_is_saved_as_none(tmp_path):
    model = fitted(callback=lambda *_: None, random_state=np.random.default_rng(0), verbose=0)
    again = ub.load(model.save(tmp_path / "model"))
    assert again.callback is None
    assert again.random_state is None
    assert model.callback is not None


def test_overlap_comes_back(tmp_path):
    x, _ = ub.datasets.cylinder(400, random_state=0)
    model = fitted(x, cut=False)
    path = model.save(tmp_path / "before")
    m = model.faithfulness_
    assert m.overlap > 0.1
    assert model.save(tmp_path / "after").read_bytes() == path.read_bytes()
    again, copied = ub.load(path).faithfulness_, pickle.loads(pickle.dumps(model)).faithfulness_
    assert m == again == copied
    np.testing.assert_array_equal(again.per_point["overlap"], m.per_point["overlap"])


def test_what_overlap_needs_is_held_once(model, path):
    again = ub.load(path)
    for one in (model, again):
        assert one.faithfulness_.embedding is one.embedding_
    with zipfile.ZipFile(path) as archive:
        arrays = [np.load(archive.open(name)) for name in archive.namelist() if name.endswith(".npy")]
    for held in (model.embedding_, model.neighborhoods_.indices):
        assert sum(np.array_equal(array.ravel(), held.ravel()) for array in arrays) == 1


def test_infinite_measures_come_back(tmp_path):
    x = data()
    x[:30] = x[0]
    model = fitted(x, refine=None)
    again = ub.load(model.save(tmp_path / "model"))
    same(model.faithfulness_, again.faithfulness_)


# The file


def test_numpy_reads_the_arrays(model, path):
    with np.load(path, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["embedding_"], model.embedding_)
        np.testing.assert_array_equal(arrays["X_fit_"], model.X_fit_)
        np.testing.assert_array_equal(arrays["neighborhoods_.indices"], model.neighborhoods_.indices)


def test_the_manifest_says_what_it_is(model, path):
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("model.json"))
    assert manifest["format"] == "unbend model"
    assert manifest["format_version"] == 1
    assert manifest["unbend"] == ub.__version__
    assert manifest["class"] == "GreedyProcrustes"
    assert manifest["parameters"]["n_neighbors"] == 10


def test_an_array_that_is_held_twice_is_written_once(path):
    with zipfile.ZipFile(path) as archive:
        assert sum("embedding" in name for name in archive.namelist()) == 1


def test_the_same_model_gives_the_same_bytes(model, path, tmp_path):
    assert model.save(tmp_path / "other").read_bytes() == path.read_bytes()


def test_saving_replaces_in_one_step(model, path, monkeypatch):
    assert model.save(path) == path
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="No space"):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_saving_where_no_folder_is(model, tmp_path):
    with pytest.raises(FileError, match="No such file"):
        model.save(tmp_path / "none" / "model")
    with pytest.raises(FileError, match="it is a folder"):
        model.save(tmp_path)


# What is refused


def test_no_file(tmp_path):
    assert "there is no file" in refused(tmp_path / "none")
    assert "it is not a file" in refused(tmp_path)


def test_no_archive(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"")
    assert "is empty" in refused(path)
    for held in (b"hello", b"PK\x03\x04 hello", os.urandom(3000)):
        path.write_bytes(held)
        assert "damaged, or no model" in refused(path)


def test_another_archive(tmp_path):
    np.savez(tmp_path / "run.npz", X=data())
    assert "it holds no model.json" in refused(tmp_path / "run.npz")


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98, 0.999])
def test_truncated(path, share):
    held = path.read_bytes()
    path.write_bytes(held[: int(share * len(held))])
    assert "damaged" in refused(path)


def test_any_flipped_byte_of_an_array_is_found(path, model):
    held = bytearray(path.read_bytes())
    at = held.index(model.embedding_.tobytes()[:64]) + 5
    held[at] ^= 1
    path.write_bytes(held)
    assert "damaged" in refused(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(format="pickle"), "its format is 'pickle', not 'unbend model'"),
        (lambda m: m.pop("format"), "its format is None"),
        (
            lambda m: m.update(format_version=2, unbend="9.0"),
            "unbend 9.0 wrote it in format version 2, and this is unbend",
        ),
        (lambda m: m.update(format_version="x"), "its format version is 'x'"),
        (lambda m: m.update(format_version=0), "its format version is 0"),
        (lambda m: m.update({"class": "TSNE"}), "its class 'TSNE' is none of ClassicalScaling"),
        (lambda m: m.update({"class": ["a"]}), "none of ClassicalScaling"),
        (lambda m: m.pop("learnt"), "lacks 'learnt'"),
        (lambda m: m.update(parameters=3), "lacks 'parameters'"),
        (lambda m: m["parameters"].update(color=3), "color are unknown to GreedyProcrustes"),
        (lambda m: m["learnt"].update(n_features_in_=7), "7 features"),
        (lambda m: m["learnt"].update(a_={"$pickle": 3}), "'$pickle', which is unknown"),
        (lambda m: m["learnt"].update(a_={"$array": "b"}), "lacks b.npy"),
        (lambda m: m["learnt"].update(fit=3, __class__="x"), "its attributes __class__, fit are none"),
        (lambda m: m["learnt"].pop("embedding_"), "embedding_"),
        (lambda m: m["learnt"]["neighborhoods_"]["$Neighborhoods"].update(x=1), "'x'"),
        (lambda m: m["learnt"]["faithfulness_"]["$Faithfulness"].pop("r_n"), "'r_n'"),
    ],
)
def test_bad_manifests(path, change, message):
    assert message in refused(changed(path, change))


def test_no_json(path):
    assert "its model.json is damaged" in refused(changed(path, add={"model.json": b"{"}.items()))
    assert "its model.json is damaged" in refused(changed(path, add={"model.json": b"\xff\xfe{"}.items()))
    assert "its format is None" in refused(changed(path, add={"model.json": b"[1]"}.items()))
    deep = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert "it is damaged (maximum recursion" in refused(changed(path, add={"model.json": deep}.items()))


def test_missing_and_extra_members(path):
    assert "lacks embedding_.npy" in refused(changed(path, drop=["embedding_.npy"]))
    path.unlink()


def test_extra_members(path):
    assert "holds setup.py" in refused(changed(path, add={"setup.py": b"print()"}.items()))


def test_members_twice(path):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("embedding_.npy", b"")
    assert "members twice" in refused(path)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), "embedding_ has 3"),
        (np.zeros((80, 2)), "embedding_ has 80"),
        (np.zeros((90, 5)), "(5,) columns"),
        (np.zeros(90), "() columns"),
    ],
)
def test_arrays_that_do_not_belong_together(path, array, message, tmp_path):
    np.save(tmp_path / "a.npy", array)
    held = (tmp_path / "a.npy").read_bytes()
    assert message in refused(changed(path, add={"embedding_.npy": held}.items()))


def test_a_graph_that_points_nowhere(path, model, tmp_path):
    np.save(tmp_path / "a.npy", np.full_like(model.neighborhoods_.indices, 90))
    held = (tmp_path / "a.npy").read_bytes()
    assert "90" in refused(changed(path, add={"neighborhoods_.indices.npy": held}.items()))


def test_pickles_are_never_read(path, tmp_path):
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return (ran.write_text, ("ran",))

    np.save(tmp_path / "evil.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    held = (tmp_path / "evil.npy").read_bytes()
    assert "embedding_.npy" in refused(changed(path, add={"embedding_.npy": held}.items()))
    assert not ran.exists()


def test_damaged_member(path):
    assert "cannot read embedding_.npy" in refused(changed(path, damage="embedding_.npy"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs file modes that bind")
def test_unreadable(path):
    path.chmod(stat.S_IWUSR)
    assert "Permission denied" in refused(path)


EARLIER = sorted((Path(__file__).parents[2] / "data" / "models").glob("*.unbend"))


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: path.stem)
def test_models_of_earlier_versions(path):
    """Fitted points keep their position, so the model says itself what it must give."""
    with zipfile.ZipFile(path) as archive:
        recorded = archive.read("embedding_.npy")
    model = ub.load(path)
    assert model.embedding_.tobytes() == recorded[-model.embedding_.nbytes :]
    assert np.array_equal(model.transform(np.asarray(model.X_fit_)), model.embedding_)
    assert np.isfinite(model.transform(np.asarray(model.X_fit_) + 0.01)).all()
    assert model.faithfulness_.r_n < 0.1


def test_there_is_a_model_of_the_first_release():
    assert "procrustes-0.1.0" in {path.stem for path in EARLIER}
