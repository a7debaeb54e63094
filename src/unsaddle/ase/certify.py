"""``certify``: is this structure a minimum?"""

from collections.abc import Generator
from time import monotonic
from typing import Any, Unpack

from unsaddle.ase.drive import Drive
from unsaddle.ase.inputs import Options, asked_of, claim, structure
from unsaddle.ase.space import Space
from unsaddle.ase.vibration import VibrationCertificate, nothing_vibrates
from unsaddle.core.phases import PROVE
from unsaddle.methods.checks import whole
from unsaddle.methods.search import search
from unsaddle.numpy.inputs import seconds
from unsaddle.numpy.ops import ops


def certify(
    atoms: Any,
    frequency: float = 50.0,
    *,
    max_force_calls: int | None = None,
    max_seconds: float | None = None,
    **given: Unpack[Options],
) -> VibrationCertificate:
    """Certify that a relaxed structure has no imaginary frequency above this, or find one.

    Args:
        atoms: Atoms with a calculator, or one of ASE's filters; they are put back where they were.
        frequency: The claim, in 1/cm.
        max_force_calls: The search stops before it takes more force calls than this.
        max_seconds: The search stops at the first force call after so many seconds.
        **given: The words of ``unsaddle.ase.Options``.

    Returns:
        The certificate; ``holds`` is True, False, or None where nothing was decided. ``mode`` is
        the imaginary mode that was found, if any.
    """
    search = searched(atoms, frequency, max_force_calls, max_seconds, **given)
    while True:
        try:
            next(search)
        except StopIteration as end:
            return end.value


def searched(
    atoms: Any,
    frequency: float,
    max_force_calls: int | None,
    max_seconds: float | None = None,
    **given: Unpack[Options],
) -> Generator[Drive, None, VibrationCertificate]:
    """Search as ``certify`` does, one force call at a time.

    Yields:
        How far it has come.

    Returns:
        The certificate.
    """
    asked = asked_of({**given, "frequency": frequency})
    limit = whole("max_force_calls", max_force_calls, none=True)
    end = monotonic() + seconds("max_seconds", max_seconds)
    space = Space(structure(atoms), asked["mass_weighted"])
    words, x = claim(space, asked), space.optimizable.get_x()
    if not space.dimension(space.start):
        return nothing_vibrates(words["curvature_tol"])
    solver, parameters = search("lanczos", space.scale.size, **words)
    state = solver.start(ops, parameters, space.start, asked["seed"])._replace(phase=PROVE)
    drive = Drive(space, solver, parameters, state)
    try:
        while (query := drive.next()) is not None and drive.calls < limit and monotonic() < end:
            drive.answer(query)
            yield drive
    finally:
        space.optimizable.set_x(x)
    return drive.certificate()
