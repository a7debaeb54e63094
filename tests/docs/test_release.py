"""What is released: a long description without relative links, and one version in all places."""

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import unsaddle

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WHERE = "https://example.org/someone/unsaddle"


@pytest.fixture
def hook(monkeypatch):
    """The hook, without hatch."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    return runpy.run_path(str(ROOT / "tools" / "readme.py"))


def test_every_link_of_the_long_description_is_absolute(hook, monkeypatch):
    monkeypatch.setenv("UNSADDLE_REPOSITORY", WHERE)
    monkeypatch.setenv("UNSADDLE_REF", "v1.2.3")
    metadata = {}
    hook["CustomMetadataHook"].update(SimpleNamespace(root=ROOT), metadata)
    text = metadata["readme"]["text"]
    links = re.findall(r"\]\(([^)\s]*)\)", text)
    assert len(links) == README.count("](") + README.count("<picture>") > 10
    assert all(link.startswith("https://") for link in links)
    assert f"({WHERE}/raw/v1.2.3/docs/pictures/cu55.png)" in text
    assert f"({WHERE}/blob/v1.2.3/docs/start.md)" in text
    assert metadata["urls"] == {"Repository": WHERE}


def test_without_a_repository_no_link_leads_nowhere(hook):
    text = hook["led"](README, "", "main")
    assert not re.findall(r"\]\((?!https?://)[^)]*\)", text)
    assert "Start takes ten minutes" in text
    assert "<picture>" not in text


def test_one_version():
    assert f"\nversion: {unsaddle.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_workflows_call_what_there_is():
    """Every ``make`` of a workflow is a target of the Makefile."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for called in re.findall(r"run: make ([\w-]+)", workflow.read_text()):
            assert called in targets, (workflow.name, called)


def test_tests_of_the_nights_are_run_at_night_only():
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    chosen = re.findall(r"pytest .*-m (.*)", workflow)
    assert len(chosen) == 3
    assert all("nightly" in which for which in chosen)
