"""What runs over several devices in the tests: ``python -m tests.jax.on_devices TASK[:OF] [...]``.

With a port, a number of processes and one's own, the processes share the devices.
"""

import json
import re
import sys

from tests import orphans

if __name__ == "__main__":
    orphans.end_with_parent()

import jax

jax.config.update("jax_enable_x64", True)
if len(sys.argv) > 2 and __name__ == "__main__":
    port, processes, own = sys.argv[2:]
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", int(processes), int(own))

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from jax.experimental import multihost_utils  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import unsaddle.jax  # noqa: E402
import unsaddle.optax  # noqa: E402
from unsaddle.jax.ops import ops  # noqa: E402
from unsaddle.jax.processes import agree  # noqa: E402
from unsaddle.methods.table import STOCHASTIC  # noqa: E402

SHAPES = {"rows": (16, 3), "columns": (3, 16), "whole": (5,)}
SPECS = {"rows": P("d"), "columns": P(None, "d"), "whole": P()}
CONSTANTS = {"smoothness": 8.0, "hessian_lipschitz": 12.0, "tol": 1e-2, "decrease_available": 3.0}
EXTRA = optax.GradientTransformationExtraArgs
LARGEST = 8  # numbers that may be gathered
COLLECTIVE = re.compile(
    r"= *(\(.*?\)|\S+) (all-gather|all-reduce|all-to-all|reduce-scatter|collective-\w+)"
    r"(?:-start)?\("
)
PART = 48  # numbers of each tensor that is spread; rows of inner products, which are added up, have
# 40, as L-BFGS has pairs, 32 or 102, as many as Lanczos has vectors


def fun(x, curvature):
    """sum c z^2/2 + z^4/4: a saddle along one of the numbers z."""
    pairs = zip(jax.tree.leaves(x), jax.tree.leaves(curvature), strict=True)
    return sum(jnp.sum(c * u**2 / 2 + u**4 / 4) for u, c in pairs)


def problem():
    x = {name: np.full(shape, 0.3) for name, shape in SHAPES.items()}
    c = {
        name: np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)
        for name, shape in SHAPES.items()
    }
    x["rows"][0, 0], c["rows"][0, 0] = 0.0, -1.0
    return x, c


def spread(tree, ahead=(), devices=None):
    """Place a tree over so many devices, or all; every process has all of it."""
    mesh = Mesh(np.array(jax.devices()[:devices]), ("d",))

    def place(name, leaf):
        sharding = NamedSharding(mesh, P("d") if ahead else SPECS[name])
        return jax.make_array_from_callback(leaf.shape, sharding, lambda own: leaf[own])

    return {name: place(name, np.asarray(leaf)) for name, leaf in tree.items()}


def apart(one, other):
    """Largest difference of two trees; of what is spread, on the devices of this process."""
    worst = 0.0
    for name, leaf in other.items():
        for part in leaf.addressable_shards:
            gap = np.abs(np.asarray(one[name])[part.index] - np.asarray(part.data))
            worst = max(worst, float(gap.max(initial=0.0)))
    return worst


def kept(tree):
    return all(leaf.sharding.spec == SPECS[name] for name, leaf in tree.items())


def gathers(compiled):
    """List vectors that a compiled program would bring together: more than a few numbers.

    An all-reduce brings a vector together too, of which each device has a part, and zeros.
    """
    found = [
        (what, [int(n) for n in size.split(",") if n])
        for kinds, what in COLLECTIVE.findall(compiled.as_text())
        for size in re.findall(r"\w+\[([\d,]*)\]", kinds)
    ]
    return [[what, size] for what, size in found if _many(what, int(np.prod(size, initial=1)))]


def _many(what, count):
    """Say whether so many numbers are a vector, or several of them."""
    return count % PART == 0 if what in ("all-reduce", "reduce-scatter") else count > LARGEST


def minimised(method="auto", counts=(None,), **given):
    """One method, on one device and on several, for each number of them, or on all."""
    x, c = problem()
    one = jax.device_put(x, jax.local_devices()[0]), jax.device_put(c, jax.local_devices()[0])
    here = unsaddle.jax.minimize(fun, one[0], (one[1],), method, **given)
    solve = sys.modules["unsaddle.jax.minimize"]
    limit = given.pop("max_gradients", 2**31 - 1)
    parameters = solve._parameters(method, x, given, solve.minimize, {})
    jitted = jax.jit(solve._solve.__wrapped__, static_argnums=(0, 1, 2, 3))
    found = []
    for devices in counts:
        apart_all = spread(x, devices=devices), (spread(c, devices=devices),), 0, limit
        compiled = jitted.lower(fun, method, parameters, False, *apart_all).compile()
        found.append(compared(here, compiled(*apart_all)) | {"gathers": gathers(compiled)})
    return found


def compared(here, there):
    """What must be the same of two solutions, of which the second is spread."""
    return {
        "outcomes": [it.outcome.name for it in (here, there)],
        "gradients": [int(it.gradients) for it in (here, there)],
        "holds": [int(it.verdict.holds) for it in (here, there)],
        "apart": apart(here.x, there.x),
        "kept": kept(there.x) and kept(there.verdict.direction),
    }


def operations():
    """Each operation that needs all of a vector, or makes one, spread and not."""
    x, c = problem()
    block = ops.vectors(spread(x), 4)

    def work(x, c, block):
        block = ops.set_vector(ops.set_vector(block, 0, x), 1, c)
        drawn = ops.normal(x, 3, 5)
        row = ops.inner_products(block, 2, drawn)
        combined = ops.combine(block, 2, row)
        numbers = ops.dot(drawn, x), ops.norm(c), ops.finite(combined), row
        return numbers, ops.switch(numbers[1] > 0, combined, x), drawn

    compiled = jax.jit(work).lower(spread(x), spread(c), block).compile()
    numbers, vector, drawn = compiled(spread(x), spread(c), block)
    here = jax.tree.map(jnp.asarray, (x, c))
    one = jax.jit(work)(*here, ops.vectors(here[0], 4))
    close = [np.abs(np.asarray(a) * 1.0 - np.asarray(b)).max()
             for a, b in zip(one[0], numbers, strict=True)]  # fmt: skip
    return {
        "apart": max(float(max(close)), apart(one[1], vector)),
        "noise apart": apart(one[2], drawn),
        "kept": kept(vector) and kept(drawn),
        "whole": [
            str(it.sharding.spec) for it in block.values() if it.sharding.is_fully_replicated
        ],
        "gathers": gathers(compiled),
        "seen": seen(),
    }


def seen():
    """Programs that bring a vector together, in two ways."""
    rows, places = spread(problem()[0])["rows"], jnp.arange(16)
    ways = jax.jit(lambda u, i: jnp.sort(u.reshape(-1))), jax.jit(lambda u, i: u[i])
    return [gathers(way.lower(rows, places).compile()) for way in ways]


def cheapest():
    """To its certificate: on two, four and eight devices, or on those of all processes."""
    counts = (None,) if jax.process_count() > 1 else (2, 4, 8)
    return minimised("pgd+nc", counts, max_gradients=300, **CONSTANTS)


def called():
    """What users call, with x under a sharding."""
    x, c = problem()
    here, there = (
        unsaddle.jax.minimize(fun, place(x), (place(c),), "pgd+nc", max_gradients=300, **CONSTANTS)
        for place in (lambda tree: jax.tree.map(jnp.asarray, tree), spread)
    )
    return compared(here, there)


def one_method(name):
    """Some queries of a method, on two, four and eight devices.

    In a process of its own: XLA ends with a segmentation fault where one has compiled some forty.
    """
    given = {} if "auto" in name else CONSTANTS
    return minimised(name, (2, 4, 8), max_gradients=60, **given)


def many():
    """Starts over the devices, each run on one of them."""
    x, c = problem()
    count = len(jax.devices())
    starts = {
        name: np.stack([leaf * (1 + k / 9) for k in range(count)]) for name, leaf in x.items()
    }
    here, there = (
        unsaddle.jax.minimize_many(fun, each, (c,), "pgd+nc", max_gradients=300, **CONSTANTS)
        for each in (starts, spread(starts, ahead=True))
    )
    everywhere = multihost_utils.process_allgather(there.all.status, tiled=True)
    return {
        "status": [here.all.status.tolist(), everywhere.tolist()],
        "apart": apart(here.best.x, there.best.x),
    }


def _square(shape):
    """Whether these are inner products of kept vectors with each other, which every device has."""
    return len(shape) == 2 and shape[0] == shape[1]


def stepped():
    """Methods of optax with everything spread, and on one device: the state keeps it.

    Gamma is given: else it is made of rho, which over 2e-8 is all rounding, and with it goes the
    number of queries, 146 to 167 here.
    """
    escape = unsaddle.optax.escape(optax.adam(0.05), tol=1e-2, patience=3, curvature_tol=0.1)
    params, step = spread(problem()[0]), stepping(escape)
    compiled = step.lower(params, escape.init(params), spread(problem()[1])).compile()
    others = {
        "pgd+nc": unsaddle.optax.pgd_nc(**CONSTANTS),
        "psgd": unsaddle.optax.psgd(**CONSTANTS, stochastic_smoothness=8.0, variance=0.01),
    }
    return {
        "whole": kept_whole(unsaddle.optax.auto().init(params)),
        "gathers": gathers(compiled),
        "methods": {
            "escape": beside_unspread(escape, step, 300),
            **{name: beside_unspread(tx, stepping(tx), 60) for name, tx in others.items()},
        },
    }


def transformed(name):
    """What a step of a method of optax gathers, and its state has whole, on all devices."""
    samples = {"stochastic_smoothness": 8.0, "variance": 0.01} if name in STOCHASTIC else {}
    make = unsaddle.optax.sampled if samples else unsaddle.optax.method
    tx = make(name, **({} if "auto" in name else CONSTANTS), **samples)
    params, c = map(spread, problem())
    compiled = stepping(tx).lower(params, tx.init(params), c).compile()
    params, state = compiled(params, tx.init(params), c)
    return {"gathers": gathers(compiled), "kept": kept(params), "whole": kept_whole(state)}


def kept_whole(state):
    """Shapes of what a state has whole on every device, though some of x is spread."""
    shapes = [
        leaf.shape
        for leaf in jax.tree.leaves(state)
        if leaf.size > 200 and leaf.sharding.is_fully_replicated
    ]
    return [shape for shape in shapes if not (shape[-1:] == SHAPES["whole"] or _square(shape))]


def stepping(tx):
    @jax.jit
    def step(params, state, c):
        value, gradient = jax.value_and_grad(fun)(params, c)
        given = {"value": value} if isinstance(tx, EXTRA) else {}
        updates, state = tx.update(gradient, state, params, **given)
        return optax.apply_updates(params, updates), state

    return step


def beside_unspread(tx, step, most):
    """So many steps on one device, or to an outcome, and as many with everything spread."""
    here, found = jax.local_devices()[0], []
    for place in (lambda tree: jax.device_put(tree, here), spread):
        params, c = map(place, problem())
        state, steps = tx.init(params), 0
        while steps < most and unsaddle.optax.outcome(state) is None:
            params, state = step(params, state, c)
            steps += 1
        found.append((params, steps, str(unsaddle.optax.outcome(state))))
    (alone, *one), (there, *other) = found
    return {
        "ends": [one, other],
        "apart": apart(alone, there),
        "kept": kept(there),
        "away": float(jnp.abs(there["rows"][0, 0])),
    }


def error_of(work, *given, **named):
    try:
        work(*given, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def disagreeing():
    """What every process of some says where the others ask for something else."""
    own = jax.process_index()
    x, c = problem()
    given = fun, spread(x), (spread(c),)
    solve, constants = unsaddle.jax.minimize, {**CONSTANTS, "tol": 1e-2 * (1 + own)}
    stacked = {name: np.stack([leaf] * len(jax.devices())) for name, leaf in x.items()}
    starts = spread(stacked, ahead=True)
    adam = unsaddle.optax.escape(optax.adam(0.05), seed=own)
    return {
        "seed": error_of(solve, *given, seed=own),
        "tol": error_of(solve, *given, "pgd+nc", **constants),
        "max_gradients": error_of(solve, *given, max_gradients=20 + own),
        "method": error_of(solve, *given, ("pgd", "pgd+nc")[own], **CONSTANTS),
        "seeds": error_of(unsaddle.jax.minimize_many, fun, starts, given[2], seeds=[own] * 2),
        "certify": error_of(unsaddle.jax.certify, jax.grad(fun), *given[1:], 0.1 + own / 10),
        "optax": error_of(adam.init, given[1]),
        "none": error_of(agree, given[1:], fun, seed=jnp.array(3), settings=CONSTANTS),
    }


if __name__ == "__main__":
    tasks = {task: task.split(":") for task in sys.argv[1].split(",")}
    print(json.dumps({task: globals()[it](*of) for task, (it, *of) in tasks.items()}), flush=True)
