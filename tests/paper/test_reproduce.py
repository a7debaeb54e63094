"""The paper, reproduced: verdicts, what is finished and what is not, and every way to fail."""

import errno
import inspect
import json
import os
import re
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from rich.progress import Progress

from tests.few import few
from unsaddle import landscapes
from unsaddle.cli import main
from unsaddle.paper import claims, declare, experiment, figures, jobs, pipeline
from unsaddle.paper.command import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small():
    """Few samples, so that whole figures take a second."""
    with few():
        yield


def ninth():
    """A ninth figure."""
    given = {"eta": 0.01, "r": 0.1}
    panel = experiment.Panel(
        landscapes.triangle(),
        experiment.Arm("NC-finding", "pgd+nc", (10, 20), given),
        experiment.Arm("PGD", "pgd", (40, 80), given),
    )
    ours = claims.share("ours", "<=", 0.9, "<", 0.5)
    return declare.figure_on(
        panel,
        claims.Claim("less than half", ours, {"common reading": {}}),
        scan=declare.Scan("r", (0.05, 0.1), lambda r: {"r": r}, {"NC-finding": ours}, {}, ()),
        note="Not in the paper.",
    )


def test_a_ninth_figure_is_a_declaration(tmp_path, monkeypatch, small):
    assert len(inspect.getsource(ninth).splitlines()) < 25
    monkeypatch.setitem(figures.FIGURES, "fig9", ninth)
    shares = []
    result = jobs.figure("fig9", tmp_path, 0, shares.append)
    assert shares == [pytest.approx(i / 3) for i in (1, 2, 3)]
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".pdf", ".png"}
    assert result["claims"][0]["verdict"] in (claims.HOLDS, claims.FAILS)


@pytest.fixture(scope="module")
def report(tmp_path_factory, small):
    """Figure 8, made twice; the first is the report."""
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    for folder in folders:
        pipeline.reproduce(["fig8"], folder, 0, False)
    return folders


def test_the_same_seed_gives_the_same_bytes(report):
    one, two = ((folder / "claims.json").read_bytes() for folder in report)
    assert one == two
    record = json.loads(one)
    assert [claim["id"] for claim in record["claims"]] == [f"fig8.{i}" for i in (1, 2, 3, 4, 5)]
    verdicts = {claim["id"]: claim["verdict"] for claim in record["claims"]}
    assert verdicts["fig8.1"] == claims.ONLY  # literally it is vacuous
    assert verdicts["fig8.2"] == claims.ONLY
    for claim in record["claims"]:
        for each in (claim, *claim["readings"].values()):
            assert each["low"] <= each["value"] <= each["high"]
            assert 0 <= each["run"] <= 1
            assert each["samples"] == 3000
        assert claim["literal"] in claim["readings"]


def test_the_page_is_whole_and_needs_nothing_else(report):
    page = (report[0] / "index.html").read_text()
    assert len(re.findall(r'<img src="data:image/png', page)) == 3  # the races, and two of fig8
    assert not re.search(r'(src|href)="https?:', page)
    assert (report[0] / "figures" / "fig8.pdf").read_bytes().startswith(b"%PDF")
    assert (report[0] / "data" / "fig8-sensitivity.csv").read_text().startswith('"theta, and')
    assert not list(report[0].glob(".*"))


@pytest.fixture
def counted(monkeypatch):
    """One quick job in place of all; give the list of its runs."""
    runs = []

    def job(folder, seed, told):
        runs.append(seed)
        (folder / "quick.csv").write_text("a\n1\n")
        return {"title": "Quick", "text": "", "claims": [], "pictures": [], "tables": ["quick.csv"]}

    monkeypatch.setattr(pipeline, "JOBS", {"quick": pipeline.Planned(job, 1.0)})
    return runs


def test_what_other_code_or_another_seed_made_is_run_again(tmp_path, counted, monkeypatch):
    pipeline.reproduce([], tmp_path, 0, False)
    for name, changed in (("fingerprint", lambda package: "of other code"),
                          ("version", lambda name: "of another numpy")):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, name, changed)
            assert pipeline.finished("quick", tmp_path, 0) is None
    assert pipeline.finished("quick", tmp_path, 1) is None
    assert pipeline.finished("quick", tmp_path, 0)
    assert pipeline.reproduce([], tmp_path, 1, False)
    assert counted == [0, 1]
    record = json.loads((tmp_path / "results" / "quick.json").read_text())
    assert record["made"]["seed"] == json.loads((tmp_path / "claims.json").read_text())["seed"] == 1


def test_a_fingerprint_is_of_every_source(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.py").write_text("1")
    prints = []
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "2")):
        (tmp_path / "part" / name).write_text(text)
        pipeline.fingerprint.cache_clear()
        prints.append(pipeline.fingerprint(tmp_path))
    pipeline.fingerprint.cache_clear()
    assert len(set(prints)) == 3


def test_the_bar_moves_within_a_part(tmp_path, monkeypatch, capsys):
    seen = []
    steps = {"one": [0.25, 0.5], "two": [0.75, 1.0]}

    def job(name, folder, seed, told):
        for share in steps[name]:
            told(share)
        return {"title": name, "text": "", "claims": [], "pictures": [], "tables": []}

    planned = {name: pipeline.Planned(partial(job, name), 4.0) for name in steps}
    monkeypatch.setattr(pipeline, "JOBS", planned)
    whole = Progress.update
    monkeypatch.setattr(Progress, "update", lambda self, task, **new: (
        seen.append((new["completed"], new["description"])), whole(self, task, **new)))  # fmt: skip
    for name in steps:
        assert run([name], str(tmp_path), 0, False) == 0
    assert seen == [(1.0, "0 of 1 parts one"), (2.0, "0 of 1 parts one"), (4.0, "1 of 1 parts"),
                    (3.0, "0 of 1 parts two"), *[(4.0, "1 of 1 parts")] * 2]  # fmt: skip
    said = capsys.readouterr().err.split("\n")  # is no terminal; rich 13.0 adds an empty line
    assert [*filter(None, said)] == ["1 of 1 parts: one", "1 of 1 parts: two"]


def test_what_is_finished_is_not_run_again_unless_asked(tmp_path, counted):
    for again, seed, runs in ((False, 0, 1), (False, 0, 1), (True, 0, 2), (False, 1, 3)):
        pipeline.reproduce(["all"], tmp_path, seed, again)
        assert len(counted) == runs


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


DAMAGE = {  # what happened to the folder of a finished run
    "result truncated": lambda folder: cut(folder / "results" / "quick.json"),
    "result empty": lambda folder: (folder / "results" / "quick.json").write_text(""),
    "result not text": lambda folder: (folder / "results" / "quick.json").write_bytes(b"\xff"),
    "result of another kind": lambda folder: (folder / "results" / "quick.json").write_text("[1]"),
    "result without what it says": lambda folder: (folder / "results" / "quick.json").write_text(
        json.dumps({"made": pipeline.made(0), "files": {}})
    ),
    "data truncated": lambda folder: cut(folder / "data" / "quick.csv"),
    "data changed": lambda folder: (folder / "data" / "quick.csv").write_text("a\n2\n"),
    "data removed": lambda folder: (folder / "data" / "quick.csv").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_was_damaged_is_run_again(tmp_path, counted, damage):
    pipeline.reproduce([], tmp_path, 0, False)
    damage(tmp_path)
    assert pipeline.finished("quick", tmp_path, 0) is None
    pipeline.reproduce([], tmp_path, 0, False)
    assert (tmp_path / "data" / "quick.csv").read_text() == "a\n1\n"
    pipeline.reproduce([], tmp_path, 0, False)
    assert len(counted) == 2


def test_an_interrupted_run_goes_on_from_what_is_finished(tmp_path, counted, capsys, monkeypatch):
    def interrupted(folder, seed, told):
        (folder / "half.csv").write_text("a")
        raise KeyboardInterrupt

    planned = {**pipeline.JOBS, "slow": pipeline.Planned(interrupted, 2.0)}
    monkeypatch.setattr(pipeline, "JOBS", planned)
    command = ["reproduce", "--output", str(tmp_path)]
    assert main([*command, "quick"]) == 0
    assert main([*command, "slow"]) == 130
    assert "type the same again" in capsys.readouterr().err
    assert not list(tmp_path.rglob("half.csv"))
    monkeypatch.setitem(planned, "slow", planned["quick"])
    assert main([*command, "slow"]) == 0
    assert main([*command, "quick"]) == 0
    assert len(counted) == 2  # one of each


def test_an_unknown_name_lists_the_known_ones(capsys, tmp_path):
    assert main(["reproduce", "fig12", "--output", str(tmp_path / "new")]) == 2
    error = capsys.readouterr().err
    assert "figure 'fig12' is unknown; did you mean 'fig" in error
    assert all(name in error for name in (*pipeline.JOBS, "all"))
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_a_clear_error(capsys, tmp_path, counted):
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "--output", str(tmp_path / "file" / "report")]) == 2
    error = capsys.readouterr().err
    assert "cannot be written: Not a directory" in error
    assert "--output FOLDER" in error
    assert counted == []


@pytest.mark.parametrize("name", ["result.json", "index.html", "claims.json"])
def test_a_full_disk_is_a_clear_error_and_leaves_no_half_report(
    capsys, tmp_path, counted, monkeypatch, name
):
    whole = os.replace

    def full(source, target):
        if name in str(source):
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        whole(source, target)

    monkeypatch.setattr(os, "replace", full)
    assert main(["reproduce", "--output", str(tmp_path / "report")]) == 2
    assert "No space left on device" in capsys.readouterr().err
    left = {path.name for path in (tmp_path / "report").iterdir()}
    assert "index.html" not in left
    assert not any(each.startswith(".") for each in left)


def test_without_the_extra_the_error_says_what_to_type(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "unsaddle.paper.command", None)
    assert main(["reproduce"]) == 2
    assert "pip install 'unsaddle[paper]'" in capsys.readouterr().err


def test_a_bad_seed(capsys, tmp_path):
    assert main(["reproduce", "--seed", "-1", "--output", str(tmp_path)]) == 2
    assert "--seed must be a whole number >= 0, got -1" in capsys.readouterr().err


def test_make_reproduce_installs_what_it_needs_and_no_more():
    lines = (Path(__file__).parents[2] / "Makefile").read_text()
    target = lines.partition("\nreproduce:")[2].partition("\n\n")[0]
    setting_up = lines.partition("\n.venv/%:")[2].partition("\n\n")[0]
    assert target.startswith(" .venv/paper\n")
    assert "--editable '.[$*]'" in setting_up
    assert "dev" not in setting_up
