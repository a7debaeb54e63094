"""The report in a real browser: every part, light and dark, on a desk and on a phone."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from tests.few import few
from tests.often import at_night
from unsaddle.paper import draw, pipeline

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: type apt-get install chromium to run this test"
)


SOME = ("fig1", "radius", "growth")  # two pictures, a table, one that carries the page


@pytest.fixture(scope="module", params=["some", at_night("all")])
def whole(request, tmp_path_factory):
    """A report with its parts, each from two runs' samples, and pictures as PNG only."""

    def save(picture, stem):
        draw.style.save(picture, Path(f"{stem}.png"), draw.DPI)

    folder = tmp_path_factory.mktemp("whole")
    with few(600) as patch:
        patch.setattr(draw, "save", save)
        names = SOME if request.param == "some" else pipeline.JOBS
        for name in names:
            page = pipeline.reproduce([name], folder, 0, False)
    assert page.exists()
    return folder, [*names]


SCRIPT = """<script>
const seen = {}, column = i => [...document.querySelectorAll("#claims-table tbody tr")]
  .map(row => row.cells[i].dataset.key ?? row.cells[i].textContent.trim());
const inside = box => box.left >= 0 && box.right <= innerWidth && box.width > 100;
const shown = each => each.getBoundingClientRect().height > 0;
function look(picture) {  // loaded, inside of the page (or of what scrolls in it), and on top
  picture.scrollIntoView({ block: "center" });
  const box = picture.getBoundingClientRect();
  const frame = (picture.closest(".wide") ?? picture).getBoundingClientRect();
  const top = document.elementFromPoint((frame.left + frame.right) / 2, (box.top + box.bottom) / 2);
  return picture.naturalWidth > 0 && inside(frame) && top === picture;
}
addEventListener("load", () => {
  seen.folded = document.querySelectorAll("details[open]").length;
  seen.first = document.querySelector("img").getBoundingClientRect().bottom;
  document.querySelectorAll("section > details").forEach(each => { each.open = true; });
  seen.wide = document.documentElement.scrollWidth - innerWidth;
  seen.width = innerWidth;
  seen.colour = getComputedStyle(document.body).backgroundColor;
  const button = document.querySelectorAll("#claims-table th button")[4];
  seen.button = button.getBoundingClientRect().width;
  button.click(); seen.up = column(4).map(Number);
  button.click(); seen.down = column(4).map(Number);
  document.querySelectorAll("#claims-table th button")[0].click(); seen.names = column(0);
  seen.parts = {};
  for (const part of document.querySelectorAll("section")) seen.parts[part.id] = {
    pictures: [...part.querySelectorAll("img")].map(look),
    heading: shown(part.querySelector("h2")),
    boxes: [...part.children].every(each => inside(each.getBoundingClientRect())),
    linked: document.querySelector(`nav a[href="#${part.id}"]`) !== null,
  };
  seen.verdicts = [...document.querySelectorAll(".claim > summary > b")].filter(shown).length;
  seen.tiles = [...document.querySelectorAll(".tiles a")].map(each => each.hash.slice(1));
  seen.hints = [...document.querySelectorAll(".hint")].filter(shown).length;
  seen.scrolls = [...document.querySelectorAll(".wide")].filter(
    each => each.scrollWidth > each.clientWidth + 1).length;
  seen.cut = [...document.querySelectorAll(".sheet")].filter(
    each => each.scrollWidth > each.clientWidth).length;
  parent.postMessage(seen, "*");
});
</script>"""
FRAMES = """<!doctype html><meta name="color-scheme" content="light dark">
<script>const all = {}; onmessage = event => { all[event.data.width] = event.data;
  document.body.setAttribute("data-seen", JSON.stringify(all)); }</script>
<body><iframe src="watched.html" width="1280" height="800"></iframe>
<iframe src="watched.html" width="390" height="800"></iframe></body>"""


def browse(folder, tmp_path, *options):
    """Open the report in Chromium, with a script that says what it sees; give that and the log.

    On a desk and on a phone at once: in frames, as a window is never narrower than 500.
    """
    page, frames = folder / "watched.html", folder / "frames.html"
    page.write_text((folder / "index.html").read_text().replace("</body>", SCRIPT + "</body>"))
    frames.write_text(FRAMES)
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--hide-scrollbars",
        "--window-size=1800,900", "--virtual-time-budget=5000", *options, "--dump-dom",
        frames.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    page.unlink()
    frames.unlink()
    seen = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert seen, done.stderr[-2000:]
    return json.loads(seen[1].replace("&quot;", '"')), done.stderr


DARK = "--blink-settings=preferredColorScheme=0"
LIGHT_OR_DARK = {(): "rgb(255, 255, 255)", (DARK,): "rgb(20, 25, 29)"}
FIRST = {"1280": 800, "390": 1600}  # pixels down to where the picture that carries it ends


@needs_chromium
def test_every_part_in_a_browser_light_and_dark_on_a_desk_and_on_a_phone(whole, tmp_path):
    """In one test, as the report is what takes time; with every part at night."""
    folder, names = whole
    claimed = json.loads((folder / "claims.json").read_text())["claims"]
    views = []
    for options, colour in LIGHT_OR_DARK.items():
        both, log = browse(folder, tmp_path, *options)
        assert "CONSOLE" not in log
        assert [*both] == ["390", "1280"]
        views += [(width, colour, seen) for width, seen in both.items()]
    for width, colour, seen in views:
        assert [*seen["parts"]] == names
        for name, part in seen["parts"].items():
            pictures = [True] * (2 if name.startswith("fig") else 1)
            whole_part = {"pictures": pictures, "heading": True, "boxes": True, "linked": True}
            assert part == whole_part, (width, name)
        assert seen["cut"] == 0, "a table is wider than the page"
        assert seen["wide"] <= 0, f"wider than the window of {width}"
        assert seen["colour"] == colour
        assert seen["button"] > 0
        assert seen["up"] == sorted(seen["up"])
        assert seen["down"] == sorted(seen["up"], reverse=True)
        assert seen["names"] == sorted(seen["names"])
        assert seen["verdicts"] == len(claimed)
        assert seen["tiles"] == [each["id"] for each in sorted(claimed, key=lambda it: it["kind"])]
        assert seen["folded"] == 0
        assert seen["first"] < FIRST[width]
        pictures = 1 + sum(len(part["pictures"]) for part in seen["parts"].values())
        assert seen["hints"] == seen["scrolls"] == (pictures if width == "390" else 0)
