"""Gradients in, a minimum out, and the proof with it."""

import importlib
from typing import Any

from unsaddle import _quiet  # noqa: F401  before what takes long to import
from unsaddle.certificate import Certificate
from unsaddle.core.outcome import Outcome
from unsaddle.methods.constants import Constants, SampledConstants
from unsaddle.methods.table import METHODS
from unsaddle.numpy.certify import certify, find_negative_curvature
from unsaddle.numpy.checkpoint import load, save
from unsaddle.numpy.minimize import minimize
from unsaddle.numpy.sampling import FiniteSum
from unsaddle.numpy.scipy_method import scipy_method
from unsaddle.numpy.stochastic import minimize_stochastic

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Certificate",
    "Constants",
    "FiniteSum",
    "Outcome",
    "SampledConstants",
    "certify",
    "find_negative_curvature",
    "load",
    "minimize",
    "minimize_stochastic",
    "save",
    "scipy_method",
]


def __getattr__(name: str) -> Any:
    """Load ``torch``, ``jax``, ``optax``, ``ase`` and ``plot`` when they are first used."""
    if name in ("torch", "jax", "optax", "ase"):
        return importlib.import_module(f"unsaddle.{name}")
    if name == "plot":
        return importlib.import_module("unsaddle.numpy.plot").plot
    raise AttributeError(f"module 'unsaddle' has no attribute {name!r}")
