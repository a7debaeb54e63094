"""Minima in ASE's own terms: fmax, force calls, and frequencies in 1/cm."""

try:
    import ase  # noqa: F401
except ImportError as error:
    words = "unsaddle.ase needs ASE: pip install 'unsaddle[ase]'"
    raise ImportError(words, name=error.name) from error

from unsaddle.ase.certify import certify
from unsaddle.ase.escape import Escape
from unsaddle.ase.inputs import Options, Words
from unsaddle.ase.minimum import Minimum
from unsaddle.ase.vibration import Mode, VibrationCertificate

__all__ = ["Escape", "Minimum", "Mode", "Options", "VibrationCertificate", "Words", "certify"]
