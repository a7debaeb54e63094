"""The style of all pictures: names apart, and a dark twin for every colour."""

import pytest

from unsaddle import style

pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    ("heights", "moved"),
    [
        ([0.1, 0.5], [0.1, 0.5]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.5, 0.52, 0.9], [0.46, 0.56, 0.9]),
        ([0.3, 0.3, 0.35], [0.3 + 0.05 / 3 - 0.1, 0.3 + 0.05 / 3, 0.3 + 0.05 / 3 + 0.1]),
    ],
)
def test_names_are_moved_apart_and_no_further(heights, moved):
    assert style.apart(heights, 0.1) == pytest.approx(moved)


def test_every_colour_has_a_dark_twin():
    for colour in (*style.PALETTE, style.INK, style.SOFT, style.FAINT, style.GROUND):
        assert style.DARK[colour] != colour


def test_a_picture_is_saved_light_and_dark(tmp_path):
    from matplotlib.image import imread

    figure, axes = style.begin().subplots(figsize=(1, 1))
    axes.set_axis_off()
    axes.axhspan(0, 1, color=style.OURS)
    style.save(figure, tmp_path / "it.png", dpi=50)
    for name, colour in (("it", style.OURS), ("it-dark", style.DARK[style.OURS])):
        pixel = imread(tmp_path / f"{name}.png")[25, 25]
        assert [round(255 * part) for part in pixel] == [
            *(int(colour[i : i + 2], 16) for i in (1, 3, 5)),
            255,
        ]
