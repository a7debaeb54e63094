"""The code in docs/stochastic.md runs, in order, in one namespace."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "stochastic.md"


def test_the_code_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    namespace = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert "certified: lambda_min > -0.548" in capsys.readouterr().out
