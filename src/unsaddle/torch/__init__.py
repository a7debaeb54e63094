"""Every method as a torch optimiser, ``Escape`` around any other, and ``certify``.

The parameters hold the point at which the method wants the next gradient; ``with opt.iterate():``
puts the iterate there to validate or to save. A method may overwrite ``.grad``.
"""

from unsaddle.torch.certify import certify
from unsaddle.torch.escape import Escape
from unsaddle.torch.methods import (
    ANCGD,
    CDHS,
    NEON,
    PAGD,
    PGD,
    PGDNC,
    PSGD,
    SGDNC,
    AdaNCG,
    AGDAuto,
    AGDLanczos,
    Auto,
    FastCubic,
    Neon2,
    Neon2Online,
    NEONPlus,
    SharpSGD,
    SpiderPlus,
)
from unsaddle.torch.methods import OPTIMISERS as OPTIMISERS

__all__ = [
    "ANCGD",
    "CDHS",
    "NEON",
    "PAGD",
    "PGD",
    "PGDNC",
    "PSGD",
    "SGDNC",
    "AGDAuto",
    "AGDLanczos",
    "AdaNCG",
    "Auto",
    "Escape",
    "FastCubic",
    "NEONPlus",
    "Neon2",
    "Neon2Online",
    "SharpSGD",
    "SpiderPlus",
    "certify",
]  # fmt: skip
