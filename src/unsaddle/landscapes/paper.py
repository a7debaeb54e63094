"""The five landscapes on which Zhang & Li (2021) run their experiments, saddle at the origin."""

import math
from typing import Any

import numpy as np

from unsaddle.landscapes.landscape import Landscape, namespace, refine


def _double_well(name: str, n: int, eps: float, stiffness: float) -> Landscape:
    # x1^4/16 - eps x1^2/2 + stiffness (x2^2 + ... + xn^2)/2
    width = 3 * math.sqrt(eps)
    minimum = np.zeros(n)
    minimum[0] = 2 * math.sqrt(eps)

    def value(x: Any) -> Any:
        square, rest = x[..., 0] ** 2, x[..., 1:]
        return square**2 / 16 - eps * square / 2 + stiffness * namespace(x).sum(rest**2, -1) / 2

    def gradient(x: Any) -> Any:
        first, rest = x[..., :1], x[..., 1:]
        return namespace(x).concatenate([(first**2 / 4 - eps) * first, stiffness * rest], -1)

    def hessian(x: np.ndarray) -> np.ndarray:
        return np.diag([3 * x[0] ** 2 / 4 - eps] + [stiffness] * (n - 1))

    return Landscape(
        name=name,
        n=n,
        value=value,
        gradient=gradient,
        hessian=hessian,
        saddles=(np.zeros(n),),
        minima=(minimum, -minimum),
        infimum=-(eps**2),
        smoothness=max(stiffness, 23 * eps / 4),
        hessian_lipschitz=1.5 * width,
        region=f"The slab |x1| <= {width:.6g}; the other coordinates are free.",
        radius=width,
    )


def quartic() -> Landscape:
    """Build x1^4/16 - x1^2/2 + 9 x2^2/8: two wells at (+-2, 0) and a saddle between them."""
    # f <= 0 forces x1^2 <= 8. On |x1| <= 3 the Hessian, diag(3 x1^2/4 - 1, 9/4), gives l = 23/4 and
    # rho = 9/2, both attained.
    return _double_well("quartic", n=2, eps=1.0, stiffness=9 / 4)


def h(n: int = 10, eps: float = 1.0) -> Landscape:
    """Build x^T diag(-eps, 1, ..., 1) x/2 + x1^4/16: one direction to find among n."""
    # f <= 0 forces x1^2 <= 8 eps. On x1^2 <= 9 eps the Hessian, diag(3 x1^2/4 - eps, 1, ..., 1),
    # gives l = max(1, 23 eps/4) and rho = 9 sqrt(eps)/2, both attained.
    if n < 2:
        raise ValueError(f"n must be at least 2 for a saddle, got {n}: try h(n=10)")
    if not 0 < eps < math.inf:
        raise ValueError(f"eps must be positive and finite, got {eps}: try h(eps=1.0)")
    return _double_well("h", n=n, eps=float(eps), stiffness=1.0)


def cubic() -> Landscape:
    """Build (x1^3 - x2^3)/2 - 3 x1 x2 + (x1^2 + x2^2)^2/2, symmetric under x -> (-x2, -x1)."""
    # f <= 0 forces |x| <= 1.9. On the ball |x| <= R = 2 the curvature along a unit v with p = v1 v2
    # is at least -3 R - 3 and at most 6 R^2 + 3 R sqrt(1 - 2 p^2) + 6 |p| <= 24 + 3 sqrt(6) = l
    # (the true supremum is 31.26). The third derivative along v is 12 x.v + 3 (v1^3 - v2^3), at
    # most 12 R + 3 = rho, attained.

    def value(x: Any) -> Any:
        a, b = x[..., 0], x[..., 1]
        return (a**2 * a - b**2 * b) / 2 - 3 * a * b + (a**2 + b**2) ** 2 / 2

    def gradient(x: Any) -> Any:
        a, b = x[..., 0], x[..., 1]
        square = 2 * (a**2 + b**2)
        first = 1.5 * a**2 - 3 * b + square * a
        second = -1.5 * b**2 - 3 * a + square * b
        return namespace(x).stack([first, second], -1)

    def hessian(x: np.ndarray) -> np.ndarray:
        cubic_part = np.array([[3 * x[0], -3.0], [-3.0, -3 * x[1]]])
        return cubic_part + 2 * (x @ x) * np.eye(2) + 4 * np.outer(x, x)

    minimum = refine(gradient, hessian, [0.723, 1.133])
    return Landscape(
        name="cubic",
        n=2,
        value=value,
        gradient=gradient,
        hessian=hessian,
        saddles=(np.zeros(2),),
        minima=(minimum, -minimum[::-1]),
        infimum=float(value(minimum)),
        smoothness=24 + 3 * math.sqrt(6),
        hessian_lipschitz=27.0,
        region="The ball |x| <= 2.",
        radius=2.0,
    )


def triangle() -> Landscape:
    """Build cos(pi x1)/2 + (x2 + (cos(2 pi x1) - 1)/2)^2/2 - 1/2, of period 2 in x1."""
    # The saddles are (even, 0), the minima (odd, 0); those nearest the origin are listed. f <= 0
    # forces -1.42 <= x2 <= 2.06. The second and third derivatives are affine in x2 and their norms
    # convex, so that over a slab in x2 both are largest on its two sides: l and rho are the maxima
    # over x1 there, on a grid of spacing 1e-6, rounded up (49.387 and 336.11).

    def bend(x: Any) -> Any:
        return x[..., 1] + (namespace(x).cos(2 * math.pi * x[..., 0]) - 1) / 2

    def value(x: Any) -> Any:
        return namespace(x).cos(math.pi * x[..., 0]) / 2 + bend(x) ** 2 / 2 - 0.5

    def gradient(x: Any) -> Any:
        xp, a, y = namespace(x), math.pi * x[..., 0], bend(x)
        return xp.stack([-math.pi * (xp.sin(a) / 2 + xp.sin(2 * a) * y), y], -1)

    def hessian(x: np.ndarray) -> np.ndarray:
        a, y = math.pi * x[0], bend(x)
        slope = -math.pi * np.sin(2 * a)
        first = slope**2 - math.pi**2 * (np.cos(a) / 2 + 2 * np.cos(2 * a) * y)
        return np.array([[first, slope], [slope, 1.0]])

    return Landscape(
        name="triangle",
        n=2,
        value=value,
        gradient=gradient,
        hessian=hessian,
        saddles=(np.zeros(2),),
        minima=(np.array([1.0, 0.0]), np.array([-1.0, 0.0])),
        infimum=-1.0,
        smoothness=49.4,
        hessian_lipschitz=336.2,
        region="The slab -1.5 <= x2 <= 2.2; x1 is free.",
        radius=1.5,
    )


def exponential() -> Landscape:
    """Build 1/(1 + exp(x1^2)) + (x2 - x1^2 exp(-x1^2))^2/2 - 1, which has no minimum."""
    # The value at the saddle is -1/2 and the infimum, -1, is approached as |x1| grows. f <= -1/2
    # forces |x2| <= 1.15. As for `triangle`, l and rho are maxima over x1 on the two sides of the
    # slab, on a grid of spacing 1e-5, rounded up (3, attained at x1 = 0, and 8.8093).

    def parts(x: Any) -> tuple[Any, Any, Any]:
        square = x[..., 0] ** 2
        decay = namespace(x).exp(-square)
        return square, decay, x[..., 1] - square * decay

    def value(x: Any) -> Any:
        _, decay, y = parts(x)
        return decay / (1 + decay) + y**2 / 2 - 1

    def gradient(x: Any) -> Any:
        square, decay, y = parts(x)
        first = -2 * x[..., 0] * decay * (1 / (1 + decay) ** 2 + (1 - square) * y)
        return namespace(x).stack([first, y], -1)

    def hessian(x: np.ndarray) -> np.ndarray:
        square, decay, y = parts(x)
        slope = 2 * x[0] * (1 - square) * decay
        bump = (2 - 10 * square + 4 * square**2) * decay
        tail = 4 * square * decay * (1 - decay) / (1 + decay) ** 3 - 2 * decay / (1 + decay) ** 2
        return np.array([[tail + slope**2 - y * bump, -slope], [-slope, 1.0]])

    return Landscape(
        name="exponential",
        n=2,
        value=value,
        gradient=gradient,
        hessian=hessian,
        saddles=(np.zeros(2),),
        minima=(),
        infimum=-1.0,
        smoothness=3.0,
        hessian_lipschitz=8.81,
        region="The slab |x2| <= 1.25; x1 is free.",
        radius=1.25,
    )
