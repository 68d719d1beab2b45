"""``hitl-widgets demo``: a real JupyterLab, and a "browser" that writes down what it is sent to."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

from tests.terminal.conftest import Run

SLOW = 90
"""Seconds for a cold start on a machine that does other things."""

OPEN = "http://127.0.0.1:{port}/api/{what}?token={token}"


def jupyter(folder: Path) -> dict[str, str]:
    """Directories of its own, and the browser."""
    browser = folder / "browser.sh"
    browser.write_text("echo OPENED $1 END")
    places = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    made = {name: folder / name.lower() for name in places}
    for path in made.values():
        path.mkdir()
    return {
        **{name: str(path) for name, path in made.items()},
        "BROWSER": f"sh {browser} %s",
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def asked(url: str, data: bytes | None = None) -> Any:
    with urllib.request.urlopen(url, data, timeout=SLOW) as answer:  # noqa: S310  # ours
        return json.load(answer)


class TestDemo:
    def test_the_first_lesson_is_opened_and_ctrl_c_ends_the_kernels(
        self, run: Run, tmp_path: Path
    ) -> None:
        env = jupyter(tmp_path)
        lessons = tmp_path / "lessons"
        demo = run("-m", "hitl_widgets", "demo", str(lessons), **env)
        demo.sees(f"The lessons are in {lessons.resolve()}.")
        demo.child.timeout = SLOW
        demo.child.expect(r"http://127\.0\.0\.1:(\d+)/lab\?token=([0-9a-f]{48})")
        port, token = demo.child.match.groups()
        demo.sees("OPENED file://")
        page = Path(demo.sees(" END").removesuffix(" END").strip()).read_text("utf-8")
        assert "/lab/tree/01_first_approval.ipynb" in page

        found = asked(OPEN.format(port=port, what="contents/01_first_approval.ipynb", token=token))
        assert found["type"] == "notebook"
        assert "hitl" in json.dumps(found["content"])
        kernel = asked(OPEN.format(port=port, what="kernels", token=token), b'{"name": "python3"}')
        assert kernel["id"]
        demo.presses("\x03")
        demo.sees("Shut")
        demo.sees("down this Jupyter server (y/[n])?")
        demo.types("y")
        ended = demo.ends()
        assert "Shutting down 1 kernel" in ended
        assert demo.exit_code == 0

    def test_without_jupyterlab_it_says_what_to_install(self, run: Run, tmp_path: Path) -> None:
        """The module is hidden from the process: the environment of the tests has it."""
        code = f"""
            import importlib.util, sys
            from hitl_widgets.cli import main
            found = importlib.util.find_spec
            importlib.util.find_spec = lambda n, *a: None if n == "jupyterlab" else found(n, *a)
            sys.exit(main(["demo", {str(tmp_path / "lessons")!r}]))
            """
        demo = run(code)
        assert "pip install jupyterlab ipykernel" in demo.ends()
        assert demo.exit_code == 1
        assert (tmp_path / "lessons" / "01_first_approval.ipynb").exists()
