"""Builds everything that a release publishes, checks it, and says what this machine could not do: `make release`.

It writes to dist/: one wheel per platform (abi3, so one serves CPython 3.10 and newer), the source distribution,
the crate and SHA256SUMS. It publishes nothing; .github/workflows/release.yml does, on machines of every platform.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "target" / "release-tools"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
TARGETS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_17",
    "aarch64-unknown-linux-gnu": "manylinux_2_17",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
"""Rust targets that zig can link for on Linux, and the oldest platform tag that each is built for."""

UNOPTIMIZED = {
    "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "256",
    "CARGO_PROFILE_RELEASE_LTO": "off",
}
"""Settings of builds that only have to succeed."""

LEAST_TYPES = (
    0.95  # Share of symbols with known types; classes of scikit-learn, which has no types, are the rest.
)

ELSEWHERE = "wheels for macOS and Windows: .github/workflows/release.yml builds them, on those systems"


@dataclass
class Report:
    """What was done, what failed, and what could not be tried."""

    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)

    def step(self, name: str, command: list[object], **options: object) -> str | None:
        """Run a command; return what it printed, or None if it failed, which is then reported."""
        begin = time.perf_counter()
        run = subprocess.run(
            [str(part) for part in command],
            **{"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options},
        )
        seconds = time.perf_counter() - begin
        if run.returncode:
            print(f"FAILED {name} ({seconds:.0f} s)\n{run.stdout[-3000:]}", flush=True)
            self.failed.append(name)
            return None
        last = run.stdout.strip().splitlines()[-1:] if name.startswith("install") else []
        print(f"ok     {name} ({seconds:.0f} s)", *last, flush=True)
        self.done.append(name)
        return run.stdout

    def note(self, name: str, passed: bool) -> None:
        """Report a check that is no command."""
        print(f"{'ok    ' if passed else 'FAILED'} {name}", flush=True)
        (self.done if passed else self.failed).append(name)

    def gap(self, text: str) -> None:
        """Report what this machine cannot do."""
        print(f"gap    {text}", flush=True)
        self.gaps.append(text)


def tool(name: str) -> Path:
    """Path of an installed tool."""
    return TOOLS / "bin" / name


def tool_environment(**variables: str) -> dict[str, str]:
    """Return the environment of builds: the tools come first, and zig is found in them."""
    path = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(ROOT / "target"), **variables}


def install_tools(report: Report) -> None:
    """Install maturin, zig and the checkers, as pyproject.toml lists them."""
    if not tool("python").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS], check=True)
    report.step("tools: pip", [tool("python"), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1"])
    report.step(
        "tools: group release", [tool("python"), "-m", "pip", "install", "--quiet", "--group", "release"]
    )


def rust_targets() -> set[str]:
    """Return the targets that the Rust toolchain can compile for."""
    if shutil.which("rustup"):
        command = ["rustup", "target", "list", "--installed"]
        return set(
            subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.split()
        )
    printed = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^host: (\S+)$", printed, re.MULTILINE))


def build_wheels(report: Report, folder: Path, names: list[str], settings: dict[str, str]) -> None:
    """Build a wheel for each target that the toolchain has."""
    have = rust_targets()
    for target in names:
        if target not in have:
            report.gap(f"wheel for {target}: the toolchain lacks it; run `rustup target add {target}`")
            continue
        command = [tool("maturin"), "build", "--release", "--locked", "--zig", "--target", target]
        command += ["--compatibility", TARGETS[target], "--out", folder]
        report.step(f"wheel for {target}, {TARGETS[target]}", command, env=tool_environment(**settings))


def build_sources(report: Report, folder: Path) -> None:
    """Make the source distribution, and build a wheel of it where there is no git and no clone."""
    report.step("source distribution", [tool("maturin"), "sdist", "--out", folder], env=tool_environment())
    for archive in folder.glob("*.tar.gz"):
        with tempfile.TemporaryDirectory() as empty:
            with tarfile.open(archive) as tar:
                tar.extractall(empty, filter="data")
            (source,) = Path(empty).iterdir()
            command = [tool("python"), "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", empty, source]
            name = "the source distribution builds, without git"
            report.step(name, command, cwd=empty, env=without_git(Path(empty)) | UNOPTIMIZED)


def without_git(folder: Path) -> dict[str, str]:
    """Return the environment of builds, with a git that fails."""
    commands = folder / "commands"
    commands.mkdir()
    (commands / "git").write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    (commands / "git").chmod(0o755)
    environment = tool_environment()
    return {**environment, "PATH": f"{commands}{os.pathsep}{environment['PATH']}"}


def check_files(report: Report, folder: Path) -> None:
    """Check descriptions, platform tags and the stable ABI."""
    wheels = sorted(folder.glob("*.whl"))
    report.step("twine check", [tool("twine"), "check", "--strict", *wheels, *folder.glob("*.tar.gz")])
    for wheel in wheels:
        report.step(f"abi3audit: {wheel.name}", [tool("abi3audit"), "--strict", wheel])
        if "musllinux" in wheel.name and platform.libc_ver()[0] == "glibc":
            report.gap(
                f"auditwheel of {wheel.name}: it needs a system with musl; maturin checked it when it built it"
            )
            continue
        tags = wheel.stem.split("-")[-1].split(".")
        printed = report.step(f"auditwheel: {wheel.name}", [tool("auditwheel"), "show", wheel])
        if printed is not None:
            # The name of the wheel is printed without quotes.
            found = any(f'"{tag}"' in printed for tag in tags)
            report.note(f"auditwheel agrees on {' or '.join(tags)}", found)


def check_descriptions(report: Report) -> None:
    """Check the workflows, the citation and the recipe of conda-forge."""
    workflows = sorted(ROOT.glob(".github/workflows/*.yml"))
    schema = [tool("check-jsonschema"), "--builtin-schema"]
    report.step("workflows: schema", [*schema, "vendor.github-workflows", *workflows])
    report.step("workflows: zizmor", [tool("zizmor"), "--offline", "--quiet", *workflows])
    report.step("citation: schema", [*schema, "vendor.citation-file-format", ROOT / "CITATION.cff"])
    report.step("conda recipe", [tool("python"), ROOT / "packaging" / "conda" / "check.py"])


def check_types(report: Report, wheel: Path) -> None:
    """Check that type checkers know the types of the public names, with the packages that the wheel needs."""
    pip = [tool("python"), "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    report.step("types: pip", [*pip, wheel, "matplotlib"])
    report.step("types: pip, this wheel", [*pip, "--no-deps", "--force-reinstall", wheel])
    command = [tool("basedpyright"), "--verifytypes", "unbend", "--ignoreexternal", "--outputjson"]
    environment = tool_environment(VIRTUAL_ENV=str(TOOLS))
    run = subprocess.run(command, cwd=TOOLS, env=environment, capture_output=True, text=True, check=False)
    share = json.loads(run.stdout)["typeCompleteness"]["completenessScore"]
    name = f"types: {share:.1%} of the symbols are known, at least {LEAST_TYPES:.0%}"
    report.note(name, share >= LEAST_TYPES)


def interpreters(given: list[str]) -> dict[str, str]:
    """Find a CPython of each version: those given, on the PATH, or of pyenv."""
    found: dict[str, str] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    names = [
        *given,
        *(f"{folder}/bin/python" for folder in sorted(pyenv.glob("3.*"))),
        *map("python{}".format, PYTHONS),
    ]
    for name in names:
        code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
        if not shutil.which(name):
            continue
        run = subprocess.run([name, "-c", code], capture_output=True, text=True, check=False)
        if run.returncode == 0:
            found.setdefault(run.stdout.strip(), name)
    return {version: found[version] for version in PYTHONS if version in found}


def oldest_dependencies() -> list[str]:
    """Return the oldest versions that pyproject.toml allows, as requirements."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^dependencies = \[(.*)\]$", text, re.MULTILINE)
    return [f"{name}=={version}.*" for name, version in re.findall(r'"([\w-]+)>=([\d.]+)"', listed)]


def install_and_test(report: Report, wheel: Path, given: list[str]) -> None:
    """Install the wheel of this machine alone in an empty environment of each CPython, and use it there."""
    found = interpreters(given)
    for version in PYTHONS:
        if version not in found:
            report.gap(f"CPython {version}: not found; name it with --python, or see packaging/in-debian")
            continue
        test_in_environment(report, f"install and use, CPython {version}", found[version], [str(wheel)])
    if found:
        oldest = next(iter(found))
        requirements = [str(wheel), *oldest_dependencies()]
        test_in_environment(
            report, f"install and use, CPython {oldest}, oldest dependencies", found[oldest], requirements
        )


def test_in_environment(report: Report, name: str, python: str, requirements: list[str]) -> None:
    """Install requirements in an environment without Rust, and run installed.py there."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", f"{folder}/env"], check=True)
        environment = {**os.environ, "PATH": f"{folder}/env/bin:/usr/bin:/bin"}
        environment.pop("PYTHONPATH", None)
        install = [f"{folder}/env/bin/pip", "install", "--quiet", "--only-binary=:all:", *requirements]
        if report.step(f"{name}: pip", install, env=environment, cwd=folder) is not None:
            script = ROOT / "packaging" / "installed.py"
            report.step(name, [f"{folder}/env/bin/python", script], env=environment, cwd=folder)


def package_crate(report: Report, folder: Path) -> None:
    """Package the core as for its registry, build what was packaged, and keep the package."""
    command = ["cargo", "publish", "--dry-run", "--package", "unbend", "--locked"]
    environment = tool_environment() | UNOPTIMIZED
    if report.step("crate: cargo publish --dry-run", command, env=environment) is not None:
        for crate in (ROOT / "target" / "package").glob("unbend-*.crate"):
            shutil.copy(crate, folder)


def sums(folder: Path) -> Iterator[str]:
    """Yield a line of SHA256SUMS for each file."""
    for path in sorted(folder.iterdir()):
        if path.name != "SHA256SUMS":
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"


def main() -> int:
    """Run all steps; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the results (dist)")
    parser.add_argument(
        "--target", nargs="*", choices=TARGETS, default=list(TARGETS), help="Rust targets (all)"
    )
    parser.add_argument(
        "--python", nargs="*", default=[], help="interpreters to test with, besides those found"
    )
    parser.add_argument("--keep", action="store_true", help="test the wheels in the folder, build none")
    parser.add_argument(
        "--unoptimized", action="store_true", help="build slow wheels soon, to try this program"
    )
    options = parser.parse_args()

    report = Report()
    install_tools(report)
    if not options.keep:
        shutil.rmtree(options.out, ignore_errors=True)
        options.out.mkdir(parents=True)
        build_wheels(report, options.out, options.target, UNOPTIMIZED if options.unoptimized else {})
        build_sources(report, options.out)
        package_crate(report, options.out)
    report.gap(ELSEWHERE)
    check_files(report, options.out)
    check_descriptions(report)
    for wheel in options.out.glob(f"*manylinux*_{platform.machine()}.whl"):
        check_types(report, wheel)
        install_and_test(report, wheel, options.python)
    (options.out / "SHA256SUMS").write_text("".join(f"{line}\n" for line in sums(options.out)))

    counts = len(report.done), len(report.failed), len(report.gaps)
    print("\n{} steps passed, {} failed, {} could not be done here".format(*counts))
    for path in sorted(options.out.iterdir()):
        print(f"  {path.stat().st_size / 1e6:7.2f} MB  {path.name}")
    for text in report.gaps:
        print(f"  could not be done here: {text}")
    for text in report.failed:
        print(f"  failed: {text}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
