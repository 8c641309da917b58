"""Checks that rattler-build understands the recipe, and that it agrees with pyproject.toml and Cargo.toml."""

from __future__ import annotations

import re
from pathlib import Path

import rattler_build

RECIPE = Path(__file__).with_name("recipe.yaml")
ROOT = RECIPE.parents[2]
VARIANT = {"c_compiler": ["gcc"], "rust_compiler": ["rust"], "c_stdlib": ["sysroot"]}
"""What conda-forge says of compilers; the recipe only names them."""


def main() -> None:
    """Render the recipe and compare it with the package."""
    stage0 = rattler_build.Stage0Recipe.from_file(RECIPE)
    (rendered,) = stage0.render(rattler_build.VariantConfig(VARIANT))
    recipe = rendered.recipe.to_dict()
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")

    (version,) = re.findall(r'\[workspace\.package\]\nversion = "(.+)"', manifest)
    assert recipe["package"]["version"] == version, (recipe["package"], version)
    (listed,) = re.findall(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)
    needed = sorted(re.findall(r'"([^"]+)"', listed))
    run = sorted(name.replace(" ", "") for name in recipe["requirements"]["run"] if name != "python")
    assert run == needed, (run, needed)
    (oldest,) = re.findall(r'^requires-python = ">=(.+)"$', project, re.MULTILINE)
    assert f"python {oldest}.*" in recipe["requirements"]["host"], recipe["requirements"]["host"]
    print(f"recipe of {recipe['package']['name']} {version}: needs {', '.join(run)}")


if __name__ == "__main__":
    main()
