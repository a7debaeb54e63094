"""The command line: what it prints, and how it ends."""

import json
import pickle
import sys
from pathlib import Path

import pytest

from tests.docs import cli_demo
from tests.docs.cli_demo import DEMO, START, run, words
from unsaddle import METHODS, Outcome
from unsaddle.cli import main
from unsaddle.cli.inputs import function
from unsaddle.cli.report import written
from unsaddle.landscapes import LANDSCAPES
from unsaddle.methods.table import STOCHASTIC

demo = cli_demo.demo  # a fixture: the folder in which all of them are run


def test_the_table_of_methods_names_them_all_within_100_columns(capsys):
    code, out, err = run(capsys, "methods")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert max(map(len, lines)) <= 100
    assert {line.split()[0] for line in lines if not line.startswith(" ")} >= METHODS.keys()
    assert lines[0].split("  ")[0] == "method"


def test_the_table_of_methods_as_json_is_the_table(capsys):
    code, out, _ = run(capsys, "methods", "--json")
    rows = {row.pop("method"): row for row in json.loads(out)}
    assert code == 0
    assert rows == {
        name: {field: getattr(line, field) for field in ("parts", "oracle", "rate", "source")}
        for name, line in (METHODS | STOCHASTIC).items()
    }


@pytest.mark.parametrize(
    "text",
    [
        "demo:f --jac demo:gradient",
        "demo:f",
        "demo:both --jac true",
        "demo:both --jac True",
        "demo_for_cli.py:f --jac demo_for_cli.py:gradient",
        "demo:f --jac demo:gradient --method pgd --decrease-available 1 --tol 1e-2",
        "demo:f --jac demo:gradient --tol 1e-3 --curvature-tol 0.2 --failure-probability 0.01",
        "demo:f --jac demo:gradient --seed 3 --method ancgd --set window=900 radius=1e-6 enough=.4",
    ],
)
def test_minimize_leaves_the_saddle(capsys, text):
    code, out, err = run(capsys, "minimize", *words(text), *START, "--json")
    result = json.loads(out)
    assert (code, err, result["outcome"]) == (0, "", "CERTIFIED")
    assert result["sentence"] == Outcome.CERTIFIED.value
    assert result["certificate"]["holds"] is True
    assert abs(result["x"][1]) == pytest.approx(1, abs=0.02)
    assert result["value"] == pytest.approx(-0.25, abs=1e-3)
    assert result["gradient_norm"] <= 1e-2
    assert result["gradients"] > 0


@pytest.mark.parametrize("named", ["demo:TooFarError", "ArithmeticError"])
def test_what_is_raised_at_a_trial_need_not_end_the_run(capsys, named):
    """A first step of length one goes behind the wall."""
    walled = ("minimize", *words("demo:walled --jac true --x0 .3,.1 --json"))
    code, _, err = run(capsys, *walled)
    assert (code, err.splitlines()[-1]) == (2, "demo_for_cli.TooFarError: behind the wall")
    code, out, err = run(capsys, *walled, "--trial-errors", *words(named))
    assert (code, err, json.loads(out)["outcome"]) == (0, "", "CERTIFIED")
    code, _, err = run(capsys, *walled, "--trial-errors", "ValueError")
    assert (code, err.splitlines()[-1]) == (2, "demo_for_cli.TooFarError: behind the wall")


@pytest.mark.parametrize("name", LANDSCAPES)
def test_a_landscape_needs_no_more_than_its_name(capsys, name):
    argv = ("minimize", f"landscape:{name}", "--max-gradients", "4000", "--json")
    code, out, err = run(capsys, *argv)
    result, scene = json.loads(out), LANDSCAPES[name]()
    assert err == ""
    assert (code, result["outcome"]) in ((0, "CERTIFIED"), (1, "BUDGET"))
    assert result["value"] < scene.value(scene.saddles[0])


def test_a_start_at_the_minimum_and_a_negative_number_are_understood(capsys):
    code, out, _ = run(capsys, "minimize", "landscape:quartic", "--x0", "-2,0", "--json")
    assert (code, json.loads(out)["x"]) == (0, [-2, 0])


def test_a_whole_number_may_be_written_with_an_exponent(capsys):
    for budget, outcome in (("1e3", "CERTIFIED"), ("1000.", "CERTIFIED"), ("3e0", "BUDGET")):
        argv = ("minimize", "landscape:quartic", "--max-gradients", budget, "--seed", "1e0")
        assert json.loads(run(capsys, *argv, "--json")[1])["outcome"] == outcome


def test_what_a_reader_sees(capsys):
    argv = words("demo:bowl --jac demo:bowl_gradient --smoothness 1 --hessian-lipschitz 1 --x0")
    code, out, err = run(capsys, "minimize", *argv, ",".join("1" * 11))
    shown = dict(line.split(None, 1) for line in out.splitlines() if not line.startswith(" "))
    assert (code, err) == (0, "")
    assert [*shown] == [
        "outcome",
        "sentence",
        "certificate",
        "x",
        "value",
        "gradient_norm",
        "gradients",
        "values",
    ]
    assert shown["outcome"] == "CERTIFIED"
    assert "within --tol and" in shown["sentence"]
    assert shown["certificate"].startswith("certified: no curvature below -")
    assert " ... " in shown["x"]
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("text", "code", "outcome"),
    [
        ("demo:f --jac demo:gradient --max-gradients 3", 1, "BUDGET"),
        ("demo:infinite --jac demo:gradient", 1, "NOT_FINITE"),
        ("demo:f --jac demo:interrupted", 130, "INTERRUPTED"),
    ],
)
def test_an_end_without_a_certificate(capsys, text, code, outcome):
    argv = ["minimize", *words(text), *START]
    got, out, _ = run(capsys, *argv, "--json")
    result = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert (got, result["outcome"]) == (code, outcome)
    assert result["certificate"]["curvature"] is None
    got, out, _ = run(capsys, *argv)
    assert got == code
    assert "nan" not in out
    assert ("--max-gradients or --max-seconds was reached" in out) == (outcome == "BUDGET")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minimise", "invalid choice: 'minimise'"),
        ("minimise", "; did you mean 'minimize'? (see unsaddle --help)"),
        ("method", "invalid choice: 'method' (choose from"),
        ("method", "; did you mean 'methods'? (see"),
        ("tol", "invalid choice: 'tol' (choose from"),
        ("minimize landscape:seed", "there is no 'landscape:seed'; "),
        ("minimize tol:f", "there is no module 'tol'"),
        ("minimize landscape:quartic --method tol", "--method 'tol' is unknown"),
        (
            "minimize landscape:quartic method",
            "unrecognized arguments: method (see unsaddle minimi",
        ),
        (
            "minimize landscape:quartic --metod ancgd",
            "unrecognized arguments: --metod ancgd; did you mean '--method'? (see unsaddle minimiz",
        ),
        ("minimize landscape:quartic --metod=pgd", "--metod=pgd; did you mean '--method'?"),
        ("reproduce --agian", "unrecognized arguments: --agian; did you mean '--again'? (see"),
        ("--versoin", "did you mean '--version'?"),
        (
            "minimize landscape:quartic --max-gradients 1e-3",
            "--max-gradients: '1e-3' is not a whole number: type 1000, or 1e3",
        ),
        ("minimize landscape:quartic --max-gradients inf", "'inf' is not a whole number: type"),
        ("minimize landscape:quartic --seed one", "--seed: 'one' is not a whole number: type"),
        ("minimize", "required: FUNCTION"),
        ("certify", "required: GRADIENT"),
        ("minimize demo --x0 1", "'demo' is no place of a function: type MODULE:NAME, FILE.py:NA"),
        ("minimize demo_for_cli.py --x0 1", "is no place of a function: type MODULE:NAME"),
        ("minimize :f --x0 1", "':f' is no place of a function: type MODULE:NAME"),
        ("minimize demo: --x0 1", "is no place of a function: type MODULE:NAME"),
        ("minimize demo:grdient --x0 1", "no 'grdient' in demo_for_cli; did you mean 'gradient'?"),
        ("minimize absent_for_cli:f", "there is no module 'absent_for_cli'"),
        ("minimize absent/for_cli.py:f", "there is no file 'absent/for_cli.py'"),
        ("minimize broken-for-cli.py:f", "does not load: ValueError('on import')"),
        ("minimize needy-for-cli.py:f", "does not load: ModuleNotFoundError("),
        ("minimize landscape:quartc", "did you mean 'quartic'? The known ones are quartic, cubic"),
        ("minimize demo:f --jac demo:gradient", "--x0 is missing: type --x0 1,0"),
        ("certify demo:gradient", "--x0 is missing: type --x0 1,0"),
        ("certify demo:f --x0 0,0", "got shape (): is that the value, not the gradient?"),
        ("certify demo:gradient --x0 nan,0", "--x0 must be finite"),
        ("certify demo:constant --x0 0,0", "GRADIENT must be callable, got 1.0\n"),
        ("certify demo:gradient --x0 0,0 --curvature-tol 0", "--curvature-tol 0.0 was passed"),
        ("certify landscape:quartic --x0 0", "--x0 has 1 numbers, but quartic has 2 variables"),
        ("minimize demo:both --x0 1,0", "pass --jac True if FUNCTION returns (value, gradient)"),
        ("minimize demo:f --x0 1,0 --method sgd+nc", "call unsaddle.minimize_stochastic"),
        (
            "minimize demo:f --jac demo:gradient --x0 1,0 --method ancgd",
            "--smoothness, --hessian-lipschitz are missing: this method needs them; "
            "pass --smoothness <a bound>, --hessian-lipschitz <a bound>",
        ),
        (
            "minimize demo:constant --jac demo:gradient START",
            "FUNCTION must be callable, got float",
        ),
        ("minimize demo:f --jac demo:constant START", "--jac must be callable"),
        ("minimize demo:f --jac demo:short START", "--jac must return an array of shape (2,)"),
        ("minimize demo:f --jac true START", "FUNCTION must return (value, gradient)"),
        ("minimize landscape:quartic --x0 1,2,3", "--x0 has 3 numbers, but quartic has 2"),
        (
            "minimize landscape:quartic --x0 1;2",
            "--x0: '1;2' is not a list of numbers: type --x0 1,0",
        ),
        ("minimize landscape:quartic --x0", "--x0: '' is not a list of numbers: type --x0 1,0"),
        ("minimize landscape:quartic --method ancdg", "did you mean 'ancgd'"),
        ("minimize landscape:quartic --tol small", "--tol: invalid float value: 'small'"),
        ("minimize landscape:quartic --tol -1", "--tol -1.0 was passed"),
        ("minimize landscape:quartic --set window", "'window' is not NAME=VALUE with a number"),
        (
            "minimize landscape:quartic --method ancgd --set windo=5",
            "did you mean 'window'? --set with --method 'ancgd' takes",
        ),
        ("minimize landscape:quartic --set window=few", "type --set window=0.1"),
        ("minimize landscape:quartic --set maxiter=9", "pass --max-gradients <a whole number>"),
        ("minimize landscape:quartic --max-gradients -1", "--max-gradients must be a whole number"),
        ("minimize landscape:quartic --seed -1", "--seed must be a whole number"),
        ("minimize landscape:quartic --set unit=-1", "--set unit must be a finite number >= 0"),
        ("minimize landscape:quartic --set step=1", "neon+, neon2, cdhs, agd+lanczos; --set with"),
        ("minimize landscape:quartic --maxiter 9", "--maxiter is not known here: pass --max-grad"),
        ("minimize landscape:quartic --verbose", "here: the result is printed at the end, and"),
        ("minimize landscape:quartic --gtol 9", "--gtol is not known here: pass --tol <the"),
        ("minimize landscape:quartic --frob 9", "unrecognized arguments: --frob 9 (see unsaddle"),
    ],
)
def test_bad_input_is_one_line_and_the_exit_code_2(capsys, text, message):
    code, out, err = run(capsys, *words(text.replace("START", " ".join(START))))
    assert (code, out) == (2, "")
    assert err.startswith("unsaddle: error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "last"), [("broken", "ValueError: the user's mistake"), ("stopping", "StopIteration")]
)
def test_what_the_users_function_raises_is_shown_with_its_traceback(capsys, name, last):
    code, out, err = run(capsys, "minimize", *words(f"demo:f --jac demo:{name}"), *START)
    assert (code, out) == (2, "")
    assert err.startswith("Traceback")
    assert f"in {name}" in err
    assert err.splitlines()[-1] == last


@pytest.mark.parametrize("x0", ["[1,0]", "(1, 0)", "1 0", "1e0,0.0"])
def test_a_point_can_be_written_as_one_likes(capsys, x0):
    code, out, _ = run(capsys, "certify", "demo_for_cli:gradient", "--x0", x0, "--json")
    assert (code, json.loads(out)["x"]) == (1, [1, 0])


@pytest.mark.parametrize(
    ("text", "code", "holds"),
    [
        ("demo:gradient --x0 0,1", 0, True),
        ("demo:gradient --x0 0,0", 1, False),
        ("demo:gradient --x0 0,1 --max-gradients 2 --seed 3 --failure-probability 0.1", 1, None),
        ("landscape:quartic", 1, False),
        ("landscape:quartic --x0 -2,0 --curvature-tol 0.1", 0, True),
    ],
)
def test_a_point_is_certified(capsys, text, code, holds):
    got, out, err = run(capsys, "certify", *words(text), "--json")
    result = json.loads(out)
    assert (got, err) == (code, "")
    assert result["certificate"]["holds"] is holds
    assert (result["certificate"]["direction"] is None) == (holds is not False)
    assert result["gradient_norm"] == pytest.approx(0, abs=1e-9)
    got, out, err = run(capsys, "certify", *words(text))
    shown = dict(line.split(None, 1) for line in out.splitlines() if not line.startswith(" "))
    assert (got, err) == (code, "")
    assert [*shown][:4] == ["certificate", "x", "gradient_norm", "curvature"]
    assert ("direction" in shown) == (holds is False)
    assert "nan" not in out


def test_ctrl_c_while_certifying_is_quiet(capsys):
    got, out, err = run(capsys, "certify", "demo_for_cli:interrupted", "--x0", "0,0")
    assert (got, out, err) == (130, "", "")


@pytest.mark.parametrize("text", ["demo:f --jac demo:gradient", "demo:both --jac true", "demo:f"])
def test_a_terminal_sees_progress_and_then_only_the_result(capsys, monkeypatch, text):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = run(capsys, "minimize", *words(text), *START)
    assert code == 0
    assert out.startswith("outcome")
    assert ("every gradient takes 4 values of fun" in err) == ("--jac" not in text)
    assert "\r\033[K1 gradient, 0 s, f " in err
    assert "|g| 1, descending" in err
    assert err.endswith("\r\033[K")


@pytest.mark.parametrize("command", [(), ("methods",), ("minimize",), ("certify",)])
@pytest.mark.parametrize("word", [("--help",), ()])
def test_help_is_there(capsys, command, word):
    """Without any word too."""
    if command and not word:
        pytest.skip("a command has its own to say")
    with pytest.raises(SystemExit, match="0"):
        main([*command, *word])
    assert "usage: " + " ".join(("unsaddle", *command)) in capsys.readouterr().out


@pytest.mark.parametrize("name", ["json.py", "a.b.py", "folder/json.py", "./demo for cli.py"])
def test_a_path_is_a_path_whatever_it_is_called(capsys, demo: Path, name):
    """Not the standard library's json, though that is imported, and no package a."""
    (demo / name).parent.mkdir(exist_ok=True)
    (demo / name).write_text(f"{DEMO}\nseen = []\n")
    argv = ["minimize", f"{name}:f", "--jac", f"{demo / name}:gradient", *START, "--json"]
    code, out, err = run(capsys, *argv)
    assert (code, err, json.loads(out)["outcome"]) == (0, "", "CERTIFIED")
    assert function(f"{name}:seen") is function(f"{demo / name}:seen")  # loaded once
    assert pickle.loads(pickle.dumps(function(f"{name}:f"))) is function(f"{name}:f")
    assert sys.modules["json"] is json


def test_ctrl_c_while_the_users_file_loads_is_quiet(capsys, demo: Path):
    (demo / "slow.py").write_text("raise KeyboardInterrupt")
    assert run(capsys, "minimize", "slow.py:f", "--x0", "1,0") == (130, "", "")


def test_what_would_show_more_is_named_as_flags() -> None:
    shown = written({"sentence": Outcome.COARSER.value}, as_json=False)
    assert "see also --gradient-noise and --probe-radius." in " ".join(shown.split())
