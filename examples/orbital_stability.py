"""Is this wave function a minimum? Orbital gradients tell, beside PySCF's ``mf.stability()``.

    mf = pyscf.scf.RHF(mol).run()
    mf, result = relaxed(mf)
    print(result.certificate)

Orbitals are C exp(K), with K antisymmetric between occupied and virtual orbitals. The variables are
the entries of K for both spins, each times the root of 2 (e_a - e_i): so scaled, most curvatures
are about one. A query is one Fock matrix: one build of Coulomb and exchange.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, expm_frechet

import unsaddle

LEAST_GAP = 0.1  # Hartree: a smaller one, or none, does not scale a variable

Vector = NDArray[np.float64]


class Orbitals:
    """The energy of UHF or UKS over rotations of the orbitals of ``mf``, which are at zero."""

    def __init__(self, mf: Any) -> None:
        """Take a wave function; that of RHF or RKS becomes one of UHF or UKS."""
        self.mf = mf = mf.to_uhf()
        self.at_zero, self.core = np.asarray(mf.mo_coeff), mf.get_hcore()
        filled = np.asarray(mf.mo_occ) > 0
        self.turns = ~filled[:, :, None] & filled[:, None, :]  # virtual by occupied
        gaps = np.asarray(mf.mo_energy)[:, :, None] - np.asarray(mf.mo_energy)[:, None, :]
        self.scale = np.sqrt(2 * np.maximum(gaps[self.turns], LEAST_GAP))
        self.start = np.zeros(self.scale.size)

    def turned(self, x: Vector) -> tuple[Vector, Vector]:
        """Give K and the orbitals of both spins."""
        turns = np.zeros(self.turns.shape)
        turns[self.turns] = x / self.scale
        turns -= turns.transpose(0, 2, 1)
        return turns, self.at_zero @ expm(turns)

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        """Give the energy and its gradient: dE = 2 tr(C'F dC), of the occupied orbitals."""
        mf, (turns, orbitals) = self.mf, self.turned(x)
        density = mf.make_rdm1(orbitals, mf.mo_occ)
        field = mf.get_veff(mf.mol, density)
        fock = self.core + np.asarray(field)
        slope = 2 * fock @ orbitals * np.asarray(mf.mo_occ)[:, None, :]
        back = self.at_zero.transpose(0, 2, 1) @ slope
        pairs = zip(turns, back, strict=True)
        whole = np.array([expm_frechet(k.T, b, compute_expm=False) for k, b in pairs])
        gradient = (whole - whole.transpose(0, 2, 1))[self.turns] / self.scale
        return float(mf.energy_tot(density, self.core, field)), gradient

    def settle(self, x: Vector) -> Any:
        """Put the orbitals at x into the wave function, and give it."""
        mf, (_, orbitals) = self.mf, self.turned(x)
        density = mf.make_rdm1(orbitals, mf.mo_occ)
        fock = mf.get_fock(self.core, dm=density)
        mf.mo_energy, mf.mo_coeff = mf.canonicalize(orbitals, mf.mo_occ, fock)
        mf.e_tot, mf.converged = mf.energy_tot(density, self.core), True
        return mf


def relaxed(mf: Any, tol: float = 1e-5, **given: Any) -> tuple[Any, Any]:
    """Go down to a minimum of UHF or UKS, from wherever the orbitals are.

    Args:
        mf: A mean field of PySCF with orbitals: RHF, RKS, UHF or UKS.
        tol: The norm of the scaled gradient to reach, about the root of Hartree.
        **given: Other arguments of ``unsaddle.minimize``.

    Returns:
        The wave function at the minimum, and the result with its certificate.
    """
    over = Orbitals(mf)
    result = unsaddle.minimize(over, over.start, jac=True, tol=tol, **given)
    return over.settle(result.x), result
