"""Landscapes from elsewhere: coupled double wells, matrix factorisation, Rosenbrock's valley."""

import math
from typing import Any

import numpy as np

from unsaddle.landscapes.landscape import Landscape, namespace, refine


def wells(n: int = 10, coupling: float = 1.0) -> Landscape:
    """Build a ring of double wells: sum (x_i^2 - 1)^2/4 + coupling/2 sum (x_i - x_{i+1})^2."""
    # The Hessian at the origin is -1 + coupling L with L the Laplacian of the ring, of eigenvalues
    # 2 - 2 cos(2 pi k/n); the origin is a maximum unless coupling times the largest exceeds 1. The
    # global minima are +-(1, ..., 1); weak coupling or a long ring adds local ones, not listed,
    # that are -1 on one arc and 1 on the rest.
    # f <= f(0) = n/4 forces (x_i^2 - 1)^2 <= n. On the box |x_i| <= B = sqrt(1 + sqrt(n)) then
    # l = 3 B^2 - 1 + coupling max(L), and rho = 6 B is attained.
    if n < 2:
        raise ValueError(f"n must be at least 2 for a ring, got {n}: try wells(n=10)")
    coupling, stiffest = float(coupling), 2 - 2 * math.cos(2 * math.pi * (n // 2) / n)
    if not 1 < coupling * stiffest < math.inf:
        raise ValueError(
            f"coupling must be finite and above {1 / stiffest:.3g} for n={n}, got {coupling}: "
            f"otherwise the origin is no saddle but a maximum; try wells(n={n}, coupling=1.0)"
        )
    width = math.sqrt(1 + math.sqrt(n))
    eye = np.eye(n)
    laplacian = 2 * eye - np.roll(eye, 1, 0) - np.roll(eye, -1, 0)

    def value(x: Any) -> Any:
        xp = namespace(x)
        gap = x - xp.roll(x, -1, -1)
        return xp.sum((x**2 - 1) ** 2 / 4 + coupling * gap**2 / 2, -1)

    def gradient(x: Any) -> Any:
        roll = namespace(x).roll
        return x**3 - x + coupling * (2 * x - roll(x, 1, -1) - roll(x, -1, -1))

    def hessian(x: np.ndarray) -> np.ndarray:
        return np.diag(3 * x**2 - 1) + coupling * laplacian

    return Landscape(
        name="wells",
        n=n,
        value=value,
        gradient=gradient,
        hessian=hessian,
        saddles=(np.zeros(n),),
        minima=(np.ones(n), -np.ones(n)),
        infimum=0.0,
        smoothness=3 * width**2 - 1 + coupling * stiffest,
        hessian_lipschitz=6 * width,
        region=f"The box |x_i| <= {width:.6g}.",
        radius=width,
    )


def matrix_factorisation(rows: int = 6, rank: int = 2, seed: int = 0) -> Landscape:
    """Build |U U^T - M|_F^2/4 with M = A A^T, A Gaussian of shape (rows, rank), |M| = 1."""
    # x is U row by row. With M = sum of s_k^2 p_k p_k^T, the matrix whose first k columns are
    # s_1 p_1, ..., s_k p_k and whose others are zero is stationary: a strict saddle with smallest
    # eigenvalue -s_{k+1}^2 for k < rank (the origin for k = 0), a global minimum for k = rank. Each
    # stands for its orbit U -> U Q with Q orthogonal.
    # f <= f(0) forces |U|^2 <= |M| + |M|_F, spectral norms unless marked. On the spectral ball
    # |U| <= R, R^2 = 1.1 (|M| + |M|_F), the curvature along V, |V|_F = 1, is
    # |U^T V|_F^2 - <M, V V^T> + |U V^T + V U^T|_F^2/2, hence between -|M| and l = 3 R^2; the third
    # derivative is 6 <U, V V^T V> <= 6 R = rho, attained.
    if not 1 <= rank < rows:
        raise ValueError(
            f"rank must be between 1 and rows - 1 = {rows - 1}, got {rank}: at full rank the "
            f"origin is a maximum; try matrix_factorisation(rows={max(rank, 1) + 4}, "
            f"rank={max(rank, 1)})"
        )
    a = np.random.default_rng(seed).standard_normal((rows, rank))
    left, scales, _ = np.linalg.svd(a, full_matrices=False)
    root = left * (scales / scales[0])
    target = root @ root.T
    radius = math.sqrt(1.1 * (1 + float(np.linalg.norm(target))))
    stationary = [np.where(np.arange(rank) < k, root, 0.0).ravel() for k in range(rank + 1)]

    def unpack(x: Any) -> tuple[Any, Any]:
        u = x.reshape(*x.shape[:-1], rows, rank)
        return u, u @ u.mT - namespace(x).asarray(target, dtype=x.dtype)

    def value(x: Any) -> Any:
        return namespace(x).sum(unpack(x)[1] ** 2, (-2, -1)) / 4

    def gradient(x: Any) -> Any:
        u, error = unpack(x)
        return (error @ u).reshape(x.shape)

    def hessian(x: np.ndarray) -> np.ndarray:
        u, error = unpack(x)
        swap = np.einsum("ib,ja->iajb", u, u).reshape(x.size, x.size)
        return np.kron(error, np.eye(rank)) + np.kron(np.eye(rows), u.T @ u) + swap

    return Landscape(
        name="matrix_factorisation",
        n=rows * rank,
        value=value,
        gradient=gradient,
        hessian=hessian,
        saddles=tuple(stationary[:-1]),
        minima=(stationary[-1],),
        infimum=0.0,
        smoothness=3 * radius**2,
        hessian_lipschitz=6 * radius,
        region=f"The matrices U of spectral norm at most {radius:.6g}.",
        radius=radius,
    )


def rosenbrock(n: int = 4) -> Landscape:
    """Build the chained valley: sum over i < n of 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2."""
    # For n >= 4 there is a local minimum near (-1, 1, ..., 1) and a strict saddle between it and
    # the global minimum (1, ..., 1); both are found by Newton steps. For n = 2 and 3 there is
    # neither.
    # The saddle's value is below n, and f <= n forces |x_i| <= a = 1 + sqrt(n) for i < n and
    # -a <= x_n <= 2 a^2. On that box the row sums of the Hessian give l = 202 + 1200 (a^2 + a). Its
    # third derivative along a unit v is sum 2400 x_i v_i^3 - 1200 v_i^2 v_{i+1}, at most
    # 1200 sqrt(1 + 4 a^2) = rho by Cauchy's inequality.
    if n < 2:
        raise ValueError(f"n must be at least 2, got {n}: try rosenbrock(n=4)")
    width = 1 + math.sqrt(n)

    def value(x: Any) -> Any:
        head, tail = x[..., :-1], x[..., 1:]
        return namespace(x).sum(100 * (tail - head**2) ** 2 + (1 - head) ** 2, -1)

    def gradient(x: Any) -> Any:
        head, tail = x[..., :-1], x[..., 1:]
        right = 200 * (tail - head**2)
        left = 2 * (head - 1) - 2 * head * right
        inner = left[..., 1:] + right[..., :-1]
        return namespace(x).concatenate([left[..., :1], inner, right[..., -1:]], -1)

    def hessian(x: np.ndarray) -> np.ndarray:
        head, tail = x[:-1], x[1:]
        main = np.append(1200 * head**2 - 400 * tail + 2, 0.0)
        main[1:] += 200
        return np.diag(main) + np.diag(-400 * head, 1) + np.diag(-400 * head, -1)

    saddles, minima = (), (np.ones(n),)
    if n >= 4:
        start = [-0.555, 0.322, 0.115, 0.0235] + [0.0102] * (n - 4)
        saddles = (refine(gradient, hessian, start),)
        start = [-0.78, 0.61, 0.38, 0.15] if n == 4 else [-1.0] + [1.0] * (n - 1)
        minima += (refine(gradient, hessian, start),)
    return Landscape(
        name="rosenbrock",
        n=n,
        value=value,
        gradient=gradient,
        hessian=hessian,
        saddles=saddles,
        minima=minima,
        infimum=0.0,
        smoothness=202 + 1200 * (width**2 + width),
        hessian_lipschitz=1200 * math.sqrt(1 + 4 * width**2),
        region=f"The box |x_i| <= a for i < n and -a <= x_n <= 2 a^2, with a = {width:.6g}.",
        radius=width,
    )
