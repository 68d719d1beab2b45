"""Build the lesson as a static site: JupyterLite, with Python running in the page.

Everything comes from package registries and ends up in the site, so that it runs without a
server and without a network::

    python scripts/lite.py             # into build/lite
    python -m http.server --directory build/lite --bind 127.0.0.1

Three parts: the page (jupyterlite-core and its Pyodide kernel), Python itself (the npm package
`pyodide`, named with its checksum in lite/package-lock.json) and the wheels of this project and of
what it needs, each pure Python or built for the browser by its authors.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import notebooks  # noqa: E402

LITE = ROOT / "lite"
WORK = ROOT / ".cache" / "lite"
SITE = ROOT / "build" / "lite"

LESSONS = ("01_first_approval",)
"""Those whose cells say what is different in a page."""

INSTALL = "%pip install -q hitl-widgets"
"""Begins a lesson there: the wheels are the site's own."""

KERNEL_NEEDS = ("comm", "ipython", "micropip")
"""What the Pyodide kernel loads before the first cell."""

ONLY_THERE = ("httpx2-jsfetch",)
"""Needed in the browser alone: pip, which resolves for it here, passes over such dependencies."""

STAND_INS = {
    # jsonschema's structures, in Python: made to take the place, but a wheel does not say so.
    "rpds_py": (
        "0.30.0+pyrsistent",
        "pyrsistent-as-rpds-py[pure]",
        {"rpds.py": "from pyrsistent_as_rpds.pure import HashTrieMap, HashTrieSet, List\n"},
    ),
    # Nothing in it: a preview in Markdown or HTML says on its card that it could not be made.
    "nh3": ("0.3+missing", "", {}),
}
"""Wheels in place of those that are written in Rust and that no registry has for the browser."""

PYTHON = "3.14"
PLATFORM = "pyemscripten_2026_0_wasm32"
"""The one whose wheels Pyodide 314 loads (PEP 783)."""


def main() -> None:
    """Build the site anew."""
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.rmtree(WORK, ignore_errors=True)
    pyodide = WORK / "static" / "pyodide"
    _python_into(pyodide)
    wheels = WORK / "pypi"
    _wheels_into(wheels)
    _index(pyodide, wheels)
    _lessons_into(WORK / "files")
    shutil.copy(LITE / "jupyter-lite.json", WORK)
    site = [sys.executable, "-m", "jupyterlite_core", "build", "--output-dir", str(SITE)]
    _run(*site, "--contents", "files", "--no-sourcemaps", cwd=WORK)
    print(f"Built {SITE.relative_to(ROOT)}")


def _run(*command: str, cwd: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nThis failed: {' '.join(command)}")


def _python_into(target: Path) -> None:
    _run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", cwd=LITE)
    shutil.copytree(LITE / "node_modules" / "pyodide", target)


def _wheels_into(target: Path) -> None:
    own = WORK / "wheels"
    own.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    # sqlitedict is published as source alone; it is pure Python.
    _run(*pip, "wheel", "--no-deps", "--wheel-dir", str(own), ".", "sqlitedict==2.1.0")
    for name, (version, needs, files) in STAND_INS.items():
        _stand_in(own, name, version, needs, files)
    target_is = ["--python-version", PYTHON, "--implementation", "cp", "--platform", PLATFORM]
    [package] = own.glob("hitl_widgets-*.whl")
    wanted = [*KERNEL_NEEDS, *ONLY_THERE, str(package)]
    download = [*pip, "download", "--dest", str(target), "--only-binary", ":all:"]
    _run(*download, "--find-links", str(own), *target_is, *wanted)


def _stand_in(folder: Path, name: str, version: str, needs: str, code: dict[str, str]) -> None:
    info = f"{name}-{version}.dist-info"
    required = f"Requires-Dist: {needs}\n" if needs else ""
    files = {
        **code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: scripts/lite.py\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)


def _index(pyodide: Path, wheels: Path) -> None:
    """Have Pyodide bring micropip, which finds all else among the wheels of the site."""
    path = pyodide / "pyodide-lock.json"
    lock = json.loads(path.read_text("utf-8"))
    [wheel] = wheels.glob("micropip-*.whl")
    version = wheel.name.split("-")[1]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    micropip = {"file_name": wheel.name, "version": version, "sha256": digest}
    lock["packages"] = {"micropip": {**lock["packages"]["micropip"], **micropip}}
    path.write_text(json.dumps(lock, indent=1) + "\n", "utf-8")
    shutil.move(wheel, pyodide)


def _lessons_into(folder: Path) -> None:
    folder.mkdir()
    for name in LESSONS:
        source = (notebooks.LESSONS / f"{name}.py").read_text("utf-8")
        made = notebooks.notebook(source, where="page")
        made.metadata = nbformat.from_dict(KERNEL)
        first = next(cell for cell in made.cells if cell.cell_type == "code")
        first.source = f"{INSTALL}\n{first.source}"
        (folder / f"{name}.ipynb").write_text(nbformat.writes(made) + "\n", "utf-8")


KERNEL = {
    "kernelspec": {"display_name": "Python (Pyodide)", "language": "python", "name": "python"},
    "language_info": {"name": "python"},
}


if __name__ == "__main__":
    main()
