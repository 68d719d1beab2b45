"""What a release is made of: a small wheel, extras, and the papers that go with it."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import hitl_widgets as hitl

PROJECT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000

EXTRAS = {
    "anthropic",
    "google",
    "langchain",
    "managed-agents",
    "mcp",
    "notify",
    "openai",
    "pandas",
}
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))


def text(name: str) -> str:
    return (PROJECT / name).read_text("utf-8")


@pytest.fixture(scope="session")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode("utf-8"))


class TestTheWheel:
    def test_is_under_one_megabyte(self, wheel: Path) -> None:
        assert wheel.stat().st_size < MEGABYTE

    def test_is_for_every_platform(self, wheel: Path) -> None:
        assert wheel.name.endswith("-py3-none-any.whl")

    def test_has_the_extras_and_a_plain_install_brings_none_of_them(
        self, metadata: Message
    ) -> None:
        assert set(metadata.get_all("Provides-Extra") or ()) == EXTRAS
        plain = [
            r for r in map(Requirement, metadata.get_all("Requires-Dist") or ()) if not r.marker
        ]
        names = {r.name for r in plain}
        assert {"anywidget", "ipywidgets", "pydantic-ai-slim", "sqlitedict"} <= names
        assert names.isdisjoint({"pandas", "anthropic", "openai", "mcp", "langchain", "apprise"})
        assert all(not r.extras for r in plain if r.name == "pydantic-ai-slim")

    def test_says_who_may_use_it_and_where_it_runs(self, metadata: Message) -> None:
        assert metadata["License-Expression"] == "BSD-3-Clause"
        assert metadata["Requires-Python"] == ">=3.11"
        assert metadata["Version"] == hitl.__version__

    def test_carries_the_notices_of_what_is_in_the_bundle(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            notices = archive.read("hitl_widgets/screen/static/NOTICES.txt").decode("utf-8")
        named = set(re.findall(r"^=+\n(@?[\w./-]+) [\d.]+\S* \(", notices, re.MULTILINE))
        direct = set(json.loads(text("js/package.json"))["dependencies"])
        assert direct - named == set(), "in the bundle, and not in its notices"


class TestThePapers:
    def test_the_licence_is_the_declared_one(self) -> None:
        assert text("LICENSE").startswith("BSD 3-Clause License")
        assert PYPROJECT["project"]["license"] == "BSD-3-Clause"

    def test_the_citation_is_well_formed_and_of_this_version(self) -> None:
        cited = yaml.safe_load(text("CITATION.cff"))
        assert {"cff-version", "message", "title", "authors"} <= cited.keys()
        assert str(cited["version"]) == hitl.__version__
        assert cited["license"] == "BSD-3-Clause"
        assert cited["type"] == "software"

    def test_the_changelog_has_room_for_what_is_coming_and_each_release(self) -> None:
        heads = re.findall(r"^## \[(.+?)\](.*)$", text("CHANGELOG.md"), re.MULTILINE)
        assert heads[0] == ("Unreleased", "")
        dated = [rest for _, rest in heads[1:]]
        assert all(re.fullmatch(r" - \d{4}-\d\d-\d\d", rest) for rest in dated)

    @pytest.mark.parametrize("section", ["Set up", "Checks", "Layout", "Tests", "Release"])
    def test_contributing_says_how_to_build_test_lay_out_and_release(self, section: str) -> None:
        assert f"\n## {section}\n" in text("CONTRIBUTING.md")

    def test_the_readme_is_what_the_registry_shows(self, metadata: Message) -> None:
        assert metadata["Description-Content-Type"] == "text/markdown"
        assert str(metadata.get_payload()).startswith("# hitl-widgets")
