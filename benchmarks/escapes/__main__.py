"""Run all optimisers on all problems, on torch and on JAX, and write docs/escapes.md."""

import argparse
from pathlib import Path

from benchmarks.escapes import deep_linear_network, matrix_factorisation, mlp_digits, race, race_jax
from benchmarks.escapes.problem import picture, table

PAGE = """# Leaving saddles

All optimisers start at the same saddle and may take the same number of gradients; a search or a
kick that has begun is finished. Those of unsaddle stop when they have certified a minimum, those of
pytorch-minimize when their own test says that they are done, which a marker shows. Some others
leave saddles too. psd-optimizer kicks at random and has no test for a minimum, so it may end on a
kick. trust-exact builds the whole Hessian at every step, which the count of gradients leaves out.
The last column is an independent certificate.
`pip install 'unsaddle[bench]' && python -m benchmarks.escapes` writes this page.

## torch

![Loss over gradients, torch](pictures/escapes.png)

{torch}

## JAX

![Loss over gradients, JAX](pictures/escapes-jax.png)

{jax}

`minimize_many`, with `ancgd` and {seeds} seeds from each of these saddles, in one call; each
may take as many gradients as the others, which on the digits is not enough for all:

| problem | certified | gradients at most | loss at most |
|---|---|---|---|
{many}
"""
SEEDS = 32


def main() -> None:
    """Write the page and its pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs"))
    output = parser.parse_args().output
    (output / "pictures").mkdir(parents=True, exist_ok=True)
    problems = [
        module.build() for module in (matrix_factorisation, deep_linear_network, mlp_digits)
    ]
    tables, many = {}, []
    for name, runs, file in (("torch", race, "escapes"), ("jax", race_jax, "escapes-jax")):
        courses = {problem.name: runs.show(problem) for problem in problems}
        picture(courses, str(output / "pictures" / f"{file}.png"))
        tables[name] = table(courses)
    for problem in problems:
        ends = race_jax.many(problem, SEEDS).all
        most, worst = ends.gradients.max(), ends.fun.max()
        many.append(f"| {problem.name} | {ends.success.sum()} | {most} | {worst:.3g} |")
    page = PAGE.format(**tables, seeds=SEEDS, many="\n".join(many))
    (output / "escapes.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
