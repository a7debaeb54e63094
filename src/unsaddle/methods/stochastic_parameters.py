"""From what is known of a function of samples to the parameters of each method that takes them.

The formulas are in ``theory.py``, ``stochastic_theory.py`` and ``table1_stochastic_theory.py``;
here they are put into the settings of the parts.
"""

from math import ceil, inf, log
from typing import Any, NamedTuple

from unsaddle.core.kernel import Parameters
from unsaddle.core.resolution import TUNING as RESOLUTION
from unsaddle.descents.psgd import psgd
from unsaddle.descents.sgd import sgd
from unsaddle.descents.sharp_sgd import sharp_sgd
from unsaddle.descents.spider import spider
from unsaddle.escapes.at_once import at_once
from unsaddle.escapes.neon2_online import neon2_online
from unsaddle.escapes.never import never
from unsaddle.escapes.snc import snc
from unsaddle.methods import stochastic_theory, table1_stochastic_theory, table1_theory, theory
from unsaddle.methods.parameters import Problem


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    accuracy: float = 4.0  # of the error of a minibatch gradient, above 1: how far tol is above it


TUNING = Tuning()


def sgd_nc(q: Problem) -> Parameters:
    """Theorem "PSGD+SNC-full" as printed, or what ``stochastic_theory.py`` derives instead."""
    return (_sgd_nc_printed if q.printed else _sgd_nc_practical)(q)


def _sgd_nc_printed(q: Problem) -> Parameters:
    more: dict[str, Any] = {
        "stochastic_smoothness": q.stochastic_smoothness,
        "variance": q.variance,
    }
    found = theory.sgd_nc(**q._replace(tol=q.gamma**2 / q.hessian_lipschitz).run(), **more)
    batch = theory.sgd_nc(**q.run(), **more).descent_batch
    own = {"start": 0.0, "noise": found.radius, "soon": inf, "probes": 1, "stretch": 0.0}
    return _snc(q, found, own, batch)


def _sgd_nc_practical(q: Problem) -> Parameters:
    tuning = stochastic_theory.TUNING
    found = stochastic_theory.snc_finding(**_sampled_search(q))
    own = {
        "start": 1.0,
        "noise": found.noise,
        "soon": RESOLUTION.found,
        "probes": found.probes,
        "stretch": tuning.stretch,
    }
    return _snc(q, found, own, _batch(q))


def _snc(q: Problem, found: Any, own: dict[str, Any], batch: int) -> Parameters:
    escape = snc.settings(
        search_step=1 / q.smoothness,
        radius=found.radius,
        window=found.window,
        search_batch=_within(q, found.batch),
        **_tests(q, ceil((4 * q.stochastic_smoothness / q.gamma) ** 2)),
        enough=stochastic_theory.TUNING.enough,
        **q.jump(),
        **own,
    )
    return _proved(q, 0.75 * q.tol, _sgd(q, batch), escape)


def neon2_online_sgd(q: Problem) -> Parameters:
    """SGD with (16 sigma^2/eps^2) log(1/p) samples a step, until eps/2 is met, and Neon2-online."""
    batch = ceil(_batch(q) * _log(q))
    return _proved(q, 0.5 * q.tol, _sgd(q, batch), _neon2(q))


def spider_plus(q: Problem) -> Parameters:
    """Fang et al. (2018) with eps = tol as printed, where their eps~ is taken for eps.

    Else eps = tol/4, and batches are log(1/p) times as large: so v is as near with probability p as
    it else is in the mean, where print lets eps~ be larger than eps by a logarithm.

    Returns:
        The parameters.
    """
    share, sure = 1.0, 1.0
    if not q.printed:
        share, sure = 1 / TUNING.accuracy, _log(q)
    found = table1_stochastic_theory.spider(
        stochastic_smoothness=max(q.smoothness, q.stochastic_smoothness),
        hessian_lipschitz=q.hessian_lipschitz,
        tol=share * q.tol,
        curvature_tol=q.gamma,
        variance=q.variance,
    )
    sizes = {"first_batch": found.first_batch, "batch": found.batch}
    batches = {name: _within(q, ceil(sure * size)) for name, size in sizes.items()}
    descent = spider.settings(**{**found._asdict(), **batches})
    return _proved(q, 2 * share * q.tol, descent, _neon2(q))


def _neon2(q: Problem) -> Any:
    """Give the searches of Allen-Zhu & Li (2018) as printed, or with the tests of ``sgd_nc``.

    The latter are for d = gamma/2: over data no proof is given where there is such curvature. Over
    samples there is none at half of that either, and what is between ends ``UNCERTIFIED``.

    Returns:
        The settings.
    """
    words, tuning, jump = _sampled_search(q), stochastic_theory.TUNING, q.jump()
    tests = ceil((4 * q.stochastic_smoothness / q.gamma) ** 2)
    half = {**words, "curvature_tol": 0.5 * q.gamma}
    found = table1_stochastic_theory.neon2_online_practical(**half)
    own = {"enough": tuning.enough, "stretch": tuning.stretch}
    if q.printed:
        lt = words.pop("stochastic_smoothness")
        found = table1_stochastic_theory.neon2_online(**words)
        step = {"hessian_lipschitz": q.hessian_lipschitz, "curvature_tol": q.gamma}
        jump |= table1_theory.curvature_step(**step)._asdict()
        own = {"enough": 0.5, "stretch": 0.0}
        tests = table1_stochastic_theory.neon2_online_tests(
            stochastic_smoothness=lt,
            curvature_tol=q.gamma,
            failure_probability=q.failure_probability,
        )
    batch = {"search_batch": _within(q, found.search_batch)}
    return neon2_online.settings(**{**found._asdict(), **batch, **_tests(q, tests), **jump, **own})


def sharp(q: Problem) -> Parameters:
    """Fang, Lin & Zhang (2019) as printed, or what is derived beside it."""
    words: dict[str, Any] = {
        "hessian_lipschitz": q.hessian_lipschitz,
        "curvature_tol": q.gamma,
        "variance": q.variance,
        "failure_probability": q.failure_probability,
        "n": q.n,
    }
    if q.printed:
        found = table1_stochastic_theory.sharp_sgd(**words)
    else:
        more: dict[str, Any] = {"smoothness": q.smoothness, "tol": q.tol}
        found = table1_stochastic_theory.sharp_sgd_practical(**words, **more)
    descent = sharp_sgd.settings(**{**found._asdict(), "batch": _within(q, found.batch)})
    return _proved(q, q.tol, descent, at_once.settings())


def perturbed_sgd(q: Problem) -> Parameters:
    """Jin et al. (2021) as printed, else with the logarithmic factor iota set to 1."""
    found = theory.psgd(
        **(q if q.printed else q._replace(decrease_available=1.0)).run(),
        variance=q.variance,
        stochastic_smoothness=q.stochastic_smoothness,
        constant=1.0 if q.printed else 1e-9,
    )
    descent = psgd.settings(step=found.step, radius=found.radius, batch=1)
    return Parameters(q.tol, descent, never.settings(), None, q.gamma, q.failure_probability)


def _sampled_search(q: Problem) -> dict[str, Any]:
    """Give the words of a search for gamma."""
    return {
        "smoothness": q.smoothness,
        "stochastic_smoothness": q.stochastic_smoothness,
        "hessian_lipschitz": q.hessian_lipschitz,
        "curvature_tol": q.gamma,
        "failure_probability": q.failure_probability,
        "n": q.n,
    }


def _tests(q: Problem, samples: int) -> dict[str, Any]:
    """Give the settings of the tests on fresh samples."""
    checks = stochastic_theory.TUNING.checks
    return {
        "checks": checks,
        "check_batch": _within(q, ceil(samples / checks)),
        "quantile": stochastic_theory.quantile(checks, q.failure_probability),
    }


def _sgd(q: Problem, batch: int) -> Any:
    return sgd.settings(step=1 / q.smoothness, batch=_within(q, max(1, batch)))


def _batch(q: Problem) -> int:
    """Give the samples whose mean gradient is off by tol/4."""
    return ceil(q.variance * (TUNING.accuracy / q.tol) ** 2)


def _log(q: Problem) -> float:
    """Give log(1/p): how much larger a batch is whose mean has to be near with probability p."""
    return max(1.0, log(1 / q.failure_probability))


def _proved(q: Problem, tolerance: float, descent: Any, escape: Any) -> Parameters:
    """Add the proof: Lanczos over all the data, or over as many samples as Bernstein asks for."""
    share = 1.0 if q.data else 0.5  # else half of gamma and of delta goes to what was not sampled
    gamma, delta = share * q.gamma, share * q.failure_probability
    proof = q._replace(curvature_tol=gamma, failure_probability=delta).proof()
    samples = q.data or stochastic_theory.concentrated(q.stochastic_smoothness, gamma, delta, q.n)
    return Parameters(tolerance, descent, escape, proof, gamma, delta, samples)


def _within(q: Problem, batch: int) -> int:
    """No batch is larger than the data."""
    return min(batch, q.data) if q.data else batch
