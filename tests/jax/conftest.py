"""What the tests of the JAX front end share."""

import pytest


@pytest.fixture(params=["host", "traced"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A direct call runs on the host; traced it runs as on a GPU, or for a longer vector."""
    from unsaddle.jax import host

    if request.param == "traced":
        monkeypatch.setattr(host, "suits", lambda *given: False)
    return request.param
