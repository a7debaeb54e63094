"""What a kernel may do with vectors and scalars, once per backend.

A vector is whatever the backend calls one (an ndarray, a pytree, a list of parameters); a scalar
is what ``dot`` returns. Every backend is a module with the same functions:

========================  ==========================================================================
``dot(x, y)``             the inner product, the only thing that is global
``norm(x)``               sqrt(dot(x, x))
``axpy(a, x, y)``         y + a x; *consumes* y, whose storage may become the result
``scale(a, x)``           a x; consumes x
``times(a, x)``           a x, as a new vector
``add(x, a, y)``          x + a y, as a new vector
``keep(x)``               x, safe from whatever is done to x later
``hold(g)``               the gradient that an update was lent, to be kept
``switch(c, x, y)``       the vector x where the scalar c is true, else y; consumes both
``where(c, a, b)``        the scalar a where c is true, else b
``sqrt, log, maximum``    of scalars
``noise(like, seed, i)``  standard normal vector, a pure function of (seed, i)
``uniform(like, seed, i)``  a scalar in (0, 1), a pure function of (seed, i)
``size(x)``               how many numbers x has
``roundoff(x)``           the unit roundoff of x's precision
``tiny(x)``               the smallest normal number of that precision
``shelf(x, k)``           room for k vectors like x; ``put(shelf, i, x)``, ``pick(shelf, i)``
``against(shelf, k, x)``  inner products of x with the first k vectors of a shelf
``mix(shelf, k, c)``      their sum, weighted by c
``blank(x, k)``           room for k scalars; ``record(row, i, a)``, ``read(row, i)``
``repeat(k, f, c)``       c <- f(j, c) for j = 0, ..., k - 1
``ritz(a, b, k)``         lowest eigenpair of the leading k x k part of a tridiagonal matrix
========================  ==========================================================================

*Consumed* means: after the call the kernel does not look at that argument again. That one promise
lets the same kernel update arrays in place on NumPy and PyTorch and stay pure under JAX.
"""
