"""The core stands without torch and JAX, and says what to install for the rest."""

import subprocess
import sys

import pytest

WITHOUT = "from tests.conftest import hide; hide()"


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_importing_the_package_imports_neither():
    done = python("import sys, unsaddle; print(sorted({'torch', 'jax', 'optax'} & {*sys.modules}))")
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("module", "extra"), [("torch", "torch"), ("jax", "jax"), ("optax", "jax")]
)
def test_a_missing_extra_says_what_to_type(module, extra):
    done = python(f"{WITHOUT}\nimport unsaddle\nimport unsaddle.{module}")
    assert f"ImportError: unsaddle.{module} needs" in done.stderr
    assert f"pip install 'unsaddle[{extra}]'" in done.stderr


@pytest.mark.slow
def test_missing_ase_says_what_to_type():
    done = python("import sys; sys.modules['ase'] = None\nimport unsaddle\nunsaddle.ase.Minimum")
    assert "unsaddle.ase needs ASE: pip install 'unsaddle[ase]'" in done.stderr


@pytest.mark.slow
def test_the_command_line_names_ase_where_it_is_missing():
    words = "['atoms', 'x.xyz', '--calculator', 'emt']"
    done = python(f"import sys; sys.modules['ase'] = None\nfrom unsaddle.cli.commands import main\n"
                  f"sys.exit(main({words}))")  # fmt: skip
    assert "ase is missing: atoms needs the extra `ase`; type pip install" in done.stderr


@pytest.mark.slow
def test_a_front_end_is_loaded_when_it_is_first_used():
    done = python(f"{WITHOUT}\nimport unsaddle\nprint(unsaddle.torch)")
    assert "pip install 'unsaddle[torch]'" in done.stderr
    done = python("import unsaddle\nprint(unsaddle.keras)")
    assert "AttributeError: module 'unsaddle' has no attribute 'keras'" in done.stderr


@pytest.mark.slow
def test_the_core_minimises_without_them():
    done = python(
        f"{WITHOUT}\nimport unsaddle\n"
        "r = unsaddle.minimize(lambda x: float(x @ x), [1.0, 2.0], jac=lambda x: 2 * x, "
        "method='ancgd', smoothness=2.0, hessian_lipschitz=1.0, tol=1e-3)\nprint(r.success)"
    )
    assert done.stdout.strip() == "True", done.stderr
