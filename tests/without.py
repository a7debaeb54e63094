"""Makes torch, JAX and optax as good as not installed: ``python -m pytest -p tests.without``."""

import sys


class Absent:
    """Finds none of them."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "jax", "optax"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
