"""Every door of the torch front end names what is wrong, and loads no state of another."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import CONSTANTS, Problem  # noqa: E402


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        None,
        [],
        "state",
        {"param_groups": []},
        {"param_groups": [3], "state": {}},
        {"param_groups": [{"unsaddle": 3}], "state": {}},
        {"param_groups": [{"unsaddle": {"optimiser": []}}], "state": {}},
    ],
    ids=str,
)
@pytest.mark.parametrize("door", ["Auto", "Escape"])
def test_no_state_is_loaded_from_anything_else(door, wrong):
    with pytest.raises(
        ValueError, match=r"state_dict is not of (Auto|Escape\(SGD\)), |: pass what its"
    ):
        DOORS[door]().load_state_dict(wrong)


DOORS = {
    "Auto": lambda **given: front.Auto(Problem().params, **given),
    "ANCGD": lambda **given: front.ANCGD(Problem().params, **{**CONSTANTS, **given}),
    "SGDNC": lambda **given: front.SGDNC(
        Problem().params, **{**CONSTANTS, "stochastic_smoothness": 6.0, "variance": 0.1, **given}
    ),
    "Escape": lambda **given: front.Escape(torch.optim.SGD(Problem().params, lr=0.1), **given),
    "certify": lambda **given: front.certify(Problem().closure, Problem().params, **given),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("seed", wrong) for wrong in (-1, None, 2.5, True, "0", np.matrix([[1]]), [], 1j)),
        *(("tol", wrong) for wrong in (None, 0.0, -1.0, math.nan, "small", [], 10**400, 1j)),
        *(("failure_probability", wrong) for wrong in (None, 0.0, 2.5, math.nan, "", [], 10**400)),
        *(("curvature_tol", wrong) for wrong in (0.0, -1.0, math.inf, "", [], 10**400, {})),
        *(("smoothness", wrong) for wrong in (0.0, math.nan, "large", np.ones(2), 10**400)),
    ],
)
def test_every_door_names_the_number_that_is_wrong(door, name, wrong):
    if (door, name) == ("certify", "tol"):
        return  # has none: its test is above
    with pytest.raises(ValueError, match=name):
        DOORS[door](**{name: wrong})
