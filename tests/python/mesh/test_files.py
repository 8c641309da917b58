"""Meshes in files, and the command."""

import json

import numpy as np
import pytest
import shapes
import unbend as ub
from unbend.cli import main
from unbend.files import FileError

POINTS, FACES = shapes.bump(10, 10)
FLAT = ub.flatten(POINTS, FACES)


def write(path, points, faces):
    """Write a mesh by the library of its format."""
    if path.suffix == ".gii":
        nibabel = pytest.importorskip("nibabel")
        arrays = [
            nibabel.gifti.GiftiDataArray(points.astype(np.float32), intent="NIFTI_INTENT_POINTSET"),
            nibabel.gifti.GiftiDataArray(faces.astype(np.int32), intent="NIFTI_INTENT_TRIANGLE"),
        ]
        nibabel.save(nibabel.gifti.GiftiImage(darrays=arrays), path)
    else:
        pytest.importorskip("trimesh").Trimesh(points, faces, process=False).export(path)
    return path


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".off", ".gii"])
def test_a_mesh_is_read_as_it_is(tmp_path, suffix):
    points, faces = ub.read_mesh(write(tmp_path / f"mesh{suffix}", POINTS, FACES))
    np.testing.assert_allclose(points, POINTS, atol=1e-6)
    np.testing.assert_array_equal(faces, FACES)


def test_a_soup_is_read_and_becomes_one_chart(tmp_path):
    flat = ub.flatten(*ub.read_mesh(write(tmp_path / "mesh.stl", POINTS, FACES)))
    assert flat.n_charts == 1
    assert flat.distortion.symmetric_dirichlet == pytest.approx(FLAT.distortion.symmetric_dirichlet, rel=1e-4)


@pytest.mark.parametrize("suffix", [".ply", ".off", ".gii"])
def test_a_flat_mesh_is_written(tmp_path, suffix):
    pytest.importorskip("nibabel" if suffix == ".gii" else "trimesh")
    points, faces = ub.read_mesh(ub.write_mesh(tmp_path / f"flat{suffix}", FLAT))
    np.testing.assert_allclose(points, np.c_[FLAT.uv, np.zeros(len(FLAT.uv))], atol=1e-6)
    np.testing.assert_array_equal(faces, FLAT.faces)


def test_an_obj_holds_the_surface_and_its_texture(tmp_path):
    points, faces = shapes.tube()
    flat = ub.flatten(points, faces)
    lines = [line.split() for line in ub.write_mesh(tmp_path / "flat.obj", flat).read_text().splitlines()]
    kinds = {kind: [rest for first, *rest in lines if first == kind] for kind in ("v", "vt", "f")}
    space, texture = np.array(kinds["v"], float), np.array(kinds["vt"], float)
    corners = np.array([[list(map(int, corner.split("/"))) for corner in row] for row in kinds["f"]]) - 1
    np.testing.assert_allclose(space[corners[..., 0]], points[faces], atol=1e-6)
    assert len(texture) == len(points) + len(flat.seams) + 1 == len(flat.uv)
    assert texture.min() == 0
    assert texture.max() == pytest.approx(1)
    scale = np.ptp(flat.uv, axis=0).max()
    found = texture[corners[..., 1]] * scale
    np.testing.assert_allclose(found - found[:1, :1], flat.corner_uv - flat.corner_uv[:1, :1], atol=1e-6)


def test_all_arrays_are_written(tmp_path):
    with np.load(ub.write_mesh(tmp_path / "flat.npz", FLAT)) as arrays:
        np.testing.assert_array_equal(arrays["uv"], FLAT.uv)
        np.testing.assert_array_equal(arrays["faces"], FLAT.faces)


def test_an_existing_file_stays(tmp_path):
    path = ub.write_mesh(tmp_path / "flat.obj", FLAT)
    with pytest.raises(FileError, match="it exists already"):
        ub.write_mesh(path, FLAT)
    ub.write_mesh(path, FLAT, force=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mesh.xyz", "0 0 0", "its suffix is '.xyz', not one of .ply, .obj, .stl, .off, .gii"),
        ("none.ply", None, "there is no such file"),
        ("broken.ply", "ply nothing", "cannot read"),
        ("points.obj", "v 0 0 0\nv 1 0 0\n", "cannot read"),
    ],
)
def test_what_is_no_mesh_is_refused(tmp_path, name, content, message):
    pytest.importorskip("trimesh")
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(FileError, match=message):
        ub.read_mesh(tmp_path / name)


def test_the_command_writes_and_measures(tmp_path, capsys):
    source, target = write(tmp_path / "tube.ply", *shapes.tube()), tmp_path / "flat.obj"
    picture = tmp_path / "flat.png"
    assert main(["flatten", str(source), "-o", str(target), "--json", "--plot", str(picture)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["n_flipped"] == 0
    assert record["seam_length"] == pytest.approx(3.0, rel=1e-4)
    assert target.is_file()
    assert picture.is_file()
    assert main(["flatten", str(source), "-o", str(target)]) == 2
    assert "it exists already" in capsys.readouterr().err
    assert main(["flatten", str(source), "-o", str(target), "--force"]) == 0
    assert "symmetric Dirichlet energy, 4 for an isometry" in capsys.readouterr().out


def test_the_command_refuses_a_suffix_before_it_reads(tmp_path, capsys):
    assert main(["flatten", str(tmp_path / "none.ply"), "-o", "flat.txt"]) == 2
    assert "its suffix is '.txt'" in capsys.readouterr().err


def test_pictures_are_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    assert len(FLAT.plot().collections[0].get_array()) == len(FACES)
    assert FLAT.plot("checker").name == "3d"
    with pytest.raises(ValueError, match="values"):
        FLAT.plot("texture")
    plt.close("all")
