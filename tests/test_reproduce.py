"""The paper, reproduced: probabilities, verdicts, the page in a browser, and every way to fail."""

import errno
import inspect
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from unsaddle import landscapes
from unsaddle.cli import main
from unsaddle.paper import claims, declare, figures, jobs, lockstep, measure, reproduce
from unsaddle.paper.quadratics import quadratic

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: type apt-get install chromium to run this test"
)

# share <= 0.9 (0.6 in figure 2, 0.95 in figure 7) -> what independent code measured (100,000 draws)
EXPECTED = [
    ("fig1", "theirs", {}, 0.436),
    ("fig1", "theirs", {"circle": 1}, 0.228),
    ("fig1", "ours", {}, 0.027),
    ("fig1", "ours", {"extract": 0.25}, 1.0),
    ("fig2", "theirs", {}, 0.59),
    ("fig2", "theirs", {"kick": 0.0, "sigma": 0.5}, 0.59),
    ("fig2", "theirs", {"kick": 2e-4}, 1.0),
    ("fig2", "ours", {"start": 0}, 0.170),
    ("fig2", "ours", {"start": 0, "sigma": 0.5}, 0.170),
    ("fig2", "ours", {"start": 1}, 0.025),
    ("fig4", "theirs", {"theta": 0.111}, 0.021),
    ("fig4", "theirs", {"theta": 0.3}, 0.231),
    ("fig4", "ours", {"theta": 0.111}, 0.012),
    ("fig4", "ours", {"theta": 0.3}, 0.002),
    ("fig5", "theirs", {"theta": 0.111}, 0.0015),
    ("fig5", "ours", {"theta": 0.111}, 0.0094),
    ("fig5", "theirs", {"theta": 0.25}, 0.084),
    ("fig5", "ours", {"theta": 0.25}, 0.051),
    ("fig5", "theirs", {"theta": 0.3}, 0.256),
    ("fig5", "ours", {"theta": 0.3}, 0.070),
    ("fig6", "theirs", {"theta": 0.061}, 0.098),
    ("fig6", "ours", {"theta": 0.061}, 0.204),
    ("fig6", "theirs", {"theta": 0.1}, 0.21),
    ("fig6", "ours", {"theta": 0.1}, 0.17),
    ("fig6", "theirs", {"theta": 0.2}, 0.83),
    ("fig6", "ours", {"theta": 0.2}, 0.038),
    ("fig6", "theirs", {"theta": 0.3}, 1.0),
    ("fig6", "ours", {"theta": 0.3}, 0.109),
    ("fig7", "theirs", {"zeta": 0.556, "extract": "search"}, 1 - 0.015),
    ("fig7", "theirs", {"zeta": 0.556, "extract": "point"}, 1.0),
    ("fig7", "theirs", {"zeta": 0.9, "extract": "search"}, 1 - 0.001),
    ("fig8", "theirs", {"zeta": 0.7}, 0.002),
    ("fig8", "theirs", {"zeta": 0.85}, 0.27),
    ("fig8", "theirs", {"zeta": 0.878}, 0.41),
    ("fig8", "ours", {"theta": 0.061}, 0.203),
    ("fig8", "ours", {"theta": 0.2}, 0.039),
    ("fig8", "ours", {"theta": 0.3}, 0.109),
]
THRESHOLDS = {"fig2": 0.6, "fig7": 0.95}
M = 20_000


@pytest.mark.parametrize(("name", "arm", "changes", "expected"), EXPECTED)
def test_probabilities_agree_with_independent_code(name, arm, changes, expected):
    """Four standard errors of both, and half a digit: a shift of 1.3% at p = 0.25 is seen."""
    experiment = measure.Experiment(figures.FIGURES[name]().panels, 5)
    p = np.mean(experiment.final(arm, changes, M) <= THRESHOLDS.get(name, 0.9))
    digit = 0.005 if round(expected, 2) == expected else 0.0005
    error = 4 * np.sqrt(expected * (1 - expected) * (1 / M + 1e-5))
    assert abs(p - expected) <= error + digit


def test_figure_3_agrees_with_independent_code():
    experiment = measure.Experiment(figures.FIGURES["fig3"]().panels, 5)
    for arm, expected in (("ours", (0.53, 0.91, 0.99)), ("theirs", (0.0, 0.0, 0.93))):
        for which, share in enumerate(expected):
            p = np.mean(experiment.final(arm, {}, M, which) > 0.9)
            assert abs(p - share) <= 0.005 + 4 * np.sqrt(max(share * (1 - share), 1e-4) / M)


def test_every_caption_has_its_claims():
    """Each kind of sentence, in the figures whose captions have it."""
    kinds = {
        "converges faster than": "1 2 4 5 6 7 8",
        "from a uniform circle": "1 2 4 7",
        "typically needs less than": "1 2 4 5 6 7 8",
        "decrease": "1 2 4 5 7 8",
        "dominated": "6",
        "similar": "3",
    }
    for words, numbers in kinds.items():
        has = [name[3:] for name, make in figures.FIGURES.items()
               if any(words in claim.words for claim in make().claims)]  # fmt: skip
        assert has == numbers.split(), words


def test_directions_gather_and_ours_are_ahead():
    """As the left halves say: of a uniform circle 26% have the curvature that 99% have at 30."""
    panel = figures.FIGURES["fig1"]().panels[0]
    start = panel._replace(ours=panel.ours._replace(times=(0,)))
    shares = [
        measure.aligned("ours", 1.0, 0.9)(measure.Experiment((each,), 1), {}, M).value
        for each in (start, panel)
    ]
    assert shares == pytest.approx([0.257, 0.991], abs=0.013)
    assert "26% have" in figures.FIGURES["fig1"]().claims[4].note
    ahead = measure.ahead(0.9)(measure.Experiment((panel,), 1), {}, 3000)
    assert ahead.satisfied
    assert ahead.run == 1
    swapped = panel._replace(ours=panel.theirs, theirs=panel.ours)
    behind = measure.ahead(0.9)(measure.Experiment((swapped,), 1), {}, 3000)
    assert (behind.satisfied, behind.run) == (False, 0)


def test_a_sample_that_ends_before_its_time_is_no_sample(monkeypatch):
    """With the certificate on, a search in a bowl ends as soon as it is certified."""
    run = {"method": "pgd+nc", "f": quadratic(np.array([0.5, 1.0])), "times": [90]}
    run |= {"values": {"eta": 0.5, "r": 0.1}, "seeds": np.arange(5)}
    assert len(next(lockstep.trajectory(**run))) == 5
    plain = {k: v for k, v in lockstep.PLAIN.items() if k != "failure_probability"}
    monkeypatch.setattr(lockstep, "PLAIN", plain)
    with pytest.raises(RuntimeError, match="ended before step 90"):
        next(lockstep.trajectory(**run))


def test_the_reduction_to_two_coordinates_is_exact_in_distribution():
    """Figure 3 at n = 10, in all ten coordinates: 20,000 samples, 5 standard errors."""
    panel = figures.FIGURES["fig3"]().panels[0]
    whole = panel._replace(landscape=landscapes.h(10, 1.0), ops=measure.batch)
    shares = [
        np.mean(next(measure.descents(each, "ours", {}, 1, M)) > 0.9) for each in (panel, whole)
    ]
    assert abs(shares[0] - shares[1]) < 5 * np.sqrt(0.5 / M)


@pytest.fixture(scope="module")
def small():
    """Few samples, so that whole figures take a second."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (measure, claims, jobs):
            for name, value in (("SAMPLES", 3000), ("SCANNED", 300), ("RACED", 600)):
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        yield


def ninth():
    """A ninth figure."""
    given = {"eta": 0.01, "r": 0.1}
    panel = declare.panel_on(
        landscapes.triangle(),
        measure.Arm("NC-finding", "pgd+nc", (10, 20), given),
        measure.Arm("PGD", "pgd", (40, 80), given),
        reach=1.6,
    )
    ours = measure.share("ours", "<=", 0.9, "<", 0.5)
    return declare.Figure(
        "NC-finding and PGD on the triangle landscape",
        (panel,),
        (declare.Claim("less than half", ours, {"common reading": {}}),),
        declare.Scan("r", (0.05, 0.1), lambda r: {"r": r}, {"NC-finding": ours}, {}, ()),
        "Not in the paper.",
        (-1.6, 1.6, -0.8, 1.6),
    )


def test_a_ninth_figure_is_a_declaration(tmp_path, monkeypatch, small):
    assert len(inspect.getsource(ninth).splitlines()) < 25
    monkeypatch.setitem(figures.FIGURES, "fig9", ninth)
    result = jobs.figure("fig9", tmp_path, 0)
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".pdf", ".png"}
    assert result["claims"][0]["verdict"] in (claims.HOLDS, claims.FAILS)


@pytest.fixture(scope="module")
def report(tmp_path_factory, small):
    """Figure 8, made twice; the first is the report."""
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    for folder in folders:
        reproduce.reproduce(["fig8"], folder, 0, False)
    return folders


def test_the_same_seed_gives_the_same_bytes(report):
    one, two = ((folder / "claims.json").read_bytes() for folder in report)
    assert one == two
    record = json.loads(one)
    assert [claim["id"] for claim in record["claims"]] == [f"fig8.{i}" for i in (1, 2, 3, 4)]
    verdicts = {claim["id"]: claim["verdict"] for claim in record["claims"]}
    assert verdicts["fig8.1"] == claims.HOLDS
    assert verdicts["fig8.2"] == claims.ONLY
    for claim in record["claims"]:
        assert claim["low"] <= claim["value"] <= claim["high"]
        assert 0 <= claim["run"] <= 1


def test_the_page_is_whole_and_needs_nothing_else(report):
    page = (report[0] / "index.html").read_text()
    assert len(re.findall(r'<img src="data:image/png', page)) == 2
    assert not re.search(r'(src|href)="https?:', page)
    assert (report[0] / "figures" / "fig8.pdf").read_bytes().startswith(b"%PDF")
    assert (report[0] / "data" / "fig8-sensitivity.csv").read_text().startswith('"theta, and')
    assert not list(report[0].glob(".*"))


SCRIPT = """<script>
const seen = {}, column = i => [...document.querySelectorAll("#claims-table tbody tr")]
  .map(row => row.cells[i].dataset.key ?? row.cells[i].textContent.trim());
addEventListener("load", () => {
  const pictures = [...document.images];
  seen.pictures = pictures.map(p => p.naturalWidth > 0 && p.getBoundingClientRect().width > 100);
  seen.wide = document.documentElement.scrollWidth - innerWidth;
  seen.width = innerWidth;
  seen.colour = getComputedStyle(document.body).backgroundColor;
  const button = document.querySelectorAll("#claims-table th button")[4];
  seen.button = button.getBoundingClientRect().width;
  button.click(); seen.up = column(4).map(Number);
  button.click(); seen.down = column(4).map(Number);
  document.querySelectorAll("#claims-table th button")[0].click(); seen.names = column(0);
  parent.postMessage(JSON.stringify(seen), "*");
});
</script>"""
FRAME = """<!doctype html><meta name="color-scheme" content="light dark">
<script>onmessage = event => document.body.setAttribute("data-seen", event.data);</script>
<body><iframe src="watched.html" width="{}" height="800"></iframe></body>"""


def browse(folder, tmp_path, width, *options):
    """Open the report in Chromium, with a script that says what it sees; give that and the log.

    In a frame, as a window is never narrower than 500.
    """
    page, frame = folder / "watched.html", folder / "frame.html"
    page.write_text((folder / "index.html").read_text().replace("</body>", SCRIPT + "</body>"))
    frame.write_text(FRAME.format(width))
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--hide-scrollbars",
        "--window-size=1400,900", "--virtual-time-budget=5000", *options, "--dump-dom",
        frame.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    page.unlink()
    frame.unlink()
    seen = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert seen, done.stderr[-2000:]
    return json.loads(seen[1].replace("&quot;", '"')), done.stderr


DARK = "--blink-settings=preferredColorScheme=0"


LIGHT_OR_DARK = {(): "rgb(255, 255, 255)", (DARK,): "rgb(20, 25, 29)"}


@needs_chromium
@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
@pytest.mark.parametrize(("options", "colour"), LIGHT_OR_DARK.items(), ids=["light", "dark"])
def test_the_page_in_a_browser(report, tmp_path, width, options, colour):
    seen, log = browse(report[0], tmp_path, width, *options)
    assert seen["width"] == width
    assert "CONSOLE" not in log
    assert seen["pictures"] == [True] * 2
    assert seen["wide"] <= 0, f"wider than the window of {seen['width']}"
    assert seen["colour"] == colour
    assert seen["button"] > 0
    assert seen["up"] == sorted(seen["up"])
    assert seen["down"] == sorted(seen["up"], reverse=True)
    assert seen["names"] == sorted(seen["names"])


@pytest.fixture
def counted(monkeypatch):
    """One quick job in place of all; give the list of its runs."""
    runs = []

    def job(folder, seed):
        runs.append(seed)
        (folder / "quick.csv").write_text("a\n1\n")
        return {"title": "Quick", "text": "", "claims": [], "pictures": [], "tables": ["quick.csv"]}

    monkeypatch.setattr(reproduce, "JOBS", {"quick": reproduce.Planned(job, 1.0)})
    return runs


def test_what_is_finished_is_not_run_again_unless_asked(tmp_path, counted):
    for again, seed, runs in ((False, 0, 1), (False, 0, 1), (True, 0, 2), (False, 1, 3)):
        reproduce.reproduce(["all"], tmp_path, seed, again)
        assert len(counted) == runs


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


DAMAGE = {  # what happened to the folder of a finished run
    "result truncated": lambda folder: cut(folder / "results" / "quick.json"),
    "result empty": lambda folder: (folder / "results" / "quick.json").write_text(""),
    "result not text": lambda folder: (folder / "results" / "quick.json").write_bytes(b"\xff"),
    "result of another kind": lambda folder: (folder / "results" / "quick.json").write_text("[1]"),
    "result without what it says": lambda folder: (folder / "results" / "quick.json").write_text(
        json.dumps({"version": reproduce.__version__, "seed": 0, "files": {}})
    ),
    "data truncated": lambda folder: cut(folder / "data" / "quick.csv"),
    "data changed": lambda folder: (folder / "data" / "quick.csv").write_text("a\n2\n"),
    "data removed": lambda folder: (folder / "data" / "quick.csv").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_was_damaged_is_run_again(tmp_path, counted, damage):
    reproduce.reproduce([], tmp_path, 0, False)
    damage(tmp_path)
    assert reproduce.finished("quick", tmp_path, 0) is None
    reproduce.reproduce([], tmp_path, 0, False)
    assert (tmp_path / "data" / "quick.csv").read_text() == "a\n1\n"
    reproduce.reproduce([], tmp_path, 0, False)
    assert len(counted) == 2


def test_an_interrupted_run_goes_on_from_what_is_finished(tmp_path, counted, capsys, monkeypatch):
    def interrupted(folder, seed):
        (folder / "half.csv").write_text("a")
        raise KeyboardInterrupt

    planned = {**reproduce.JOBS, "slow": reproduce.Planned(interrupted, 2.0)}
    monkeypatch.setattr(reproduce, "JOBS", planned)
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
    assert all(name in error for name in (*reproduce.JOBS, "all"))
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
    assert "seed must be a whole number from 0" in capsys.readouterr().err
