"""Policies that others wrote: how they are found, and what the conformance suite sees in them."""

from __future__ import annotations

import json
import random
import sys
import textwrap
from pathlib import Path

import pytest

import fairq
from fairq import loading
from fairq.cli import main
from fairq.conformance import RULES, check_conformance
from fairq.loading import own_options
from fairq.probe import Probe


class Greedy:
    def decide(self, view):
        return fairq.Decision(admit=view.queue)


class Static:
    guarded = True

    def decide(self, view):
        whole = view.free == view.batch_size
        return fairq.Decision(admit=view.queue[: view.free] if whole else ())


class FirstCome:
    guarded = False

    def decide(self, view):
        return fairq.Decision(admit=view.queue[: view.free])


class Liar(FirstCome):
    guarded = True


class Deaf(FirstCome):
    def heeds(self, view):
        return False


class Shy(FirstCome):
    def decide(self, view):
        return super().decide(view) if len(view.queue) > 1 else fairq.Decision()


class Impatient:
    """Names what has not arrived."""

    def decide(self, view):
        started = view._worker.ledger.worker
        left = [request for request in range(len(started)) if started[request] < 0]
        return fairq.Decision(admit=left[: view.free])


class Prophet(FirstCome):
    """Looks behind the view: it waits for a request that comes later."""

    def decide(self, view):
        if view._worker.arrival[-1] > view.now:
            return fairq.Decision(wake=view.now + 1)
        return super().decide(view)


class Gambler:
    def decide(self, view):
        mixed = random.sample(view.queue, len(view.queue))
        return fairq.Decision(admit=mixed[: view.free])


class Fragile:
    def decide(self, view):
        return fairq.Decision(admit=[view.queue[0]] if view.free else [])


class Mute:
    def decide(self, view):
        return None


class Sleepy(FirstCome):
    def decide(self, view):
        return fairq.Decision(admit=super().decide(view).admit, wake=view.now)


class Twice(FirstCome):
    def decide(self, view):
        return fairq.Decision(admit=[view.queue[0]] * 2 if view.queue and view.free > 1 else [])


class Keeper:
    """Keeps a request for later, and counts on its still being there."""

    def __init__(self):
        self.kept = []

    def decide(self, view):
        if view.queue and not self.kept:
            self.kept = list(view.queue[:1])
            return fairq.Decision(reserve=self.kept, wake_steps=2, wake=view.now + 2)
        admit, self.kept = self.kept[: view.free], self.kept[view.free :]
        return fairq.Decision(admit=admit, wake=view.now + 1 if view.queue else None)


SMALLEST = {
    Greedy: ("capacity", Probe((1, 1), (0.0, 0.0))),
    Liar: ("fairness", Probe((2, 1), (0.0, 1.0), batch_size=2)),
    Deaf: ("hints", Probe((2, 1), (0.0, 1.0), batch_size=2)),
    Shy: ("service", Probe((1,), (0.0,))),
    Impatient: ("release", Probe((1, 1), (0.0, 2.0))),
    Prophet: ("foresight", Probe((1, 1), (0.0, 1.0))),
    Mute: ("answer", Probe((1,), (0.0,))),
    Sleepy: ("wake", Probe((1,), (0.0,))),
    Twice: ("uniqueness", Probe((1, 1), (0.0, 0.0), batch_size=2)),
}


@pytest.mark.parametrize("policy", SMALLEST)
def test_what_breaks_a_rule_is_shown_in_the_smallest_run(policy):
    rule, smallest = SMALLEST[policy]
    verdict = check_conformance(policy, runs=40)
    assert not verdict.passed
    failure = {failure.rule: failure for failure in verdict.failures}[rule]
    assert failure.probe == smallest
    assert rule in RULES
    assert f"BROKEN  {rule}" in str(verdict)


def test_chance_is_found():
    verdict = check_conformance(Gambler, runs=40)
    assert [failure.rule for failure in verdict.failures] == ["determinism"]


def test_an_error_of_its_own_is_its_author_s_to_mend():
    verdict = check_conformance(Fragile, runs=40)
    assert [failure.rule for failure in verdict.failures] == ["error"]
    assert "IndexError" in verdict.failures[0].detail


def test_who_counts_on_a_reserve_does_not_survive_abandonment():
    verdict = check_conformance(Keeper, runs=60)
    assert [failure.rule for failure in verdict.failures] == ["reservation"]
    assert verdict.failures[0].probe == Probe((1,), (0.0,), abandon_after=1.0)
    assert "it has left unserved" in verdict.failures[0].detail


@pytest.mark.parametrize("policy", [Static, Static(), FirstCome])
def test_those_that_keep_the_rules_pass(policy):
    verdict = check_conformance(policy, runs=60)
    assert verdict.passed
    assert str(verdict).count("\n") == len(RULES)


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("fcfs", {}),
        ("ljf", {"max_wait": 3}),
        ("isjl", {"max_wait": 3}),
        ("free-ride", {}),
        ("matched", {}),
        ("cluster", {"patience": 2}),
        ("window", {"window": 2, "base": "robust-isjl"}),
    ],
)
def test_ours_pass(policy, options):
    assert check_conformance(policy, options, runs=25).passed


def test_the_call_shown_is_python():
    probe = Probe(
        (3, 1), (0.0, 2.0), alpha=1, workers=2, slack=1, dispatch="jsq", abandon_after=4.0, slow=True
    )
    result = eval(probe.call("fcfs"), {"fairq": fairq})  # noqa: S307 -- our own text
    assert result.requests.equals(probe.run("fcfs", {}).requests)


ODD = """\
import fairq


class Odd:
    def decide(self, view):
        return fairq.Decision(admit=view.queue[: view.free])


class InitRaises(Odd):
    def __init__(self):
        raise RuntimeError("no GPU\\nhere")


class InitLeaves(Odd):
    def __init__(self):
        raise SystemExit(4)


class InitErrs(Odd):
    def __init__(self):
        len(3)


class NeedArg(Odd):
    def __init__(self, limit):
        self.limit = limit


class Promise(Odd):
    @property
    def guarded(self):
        raise KeyError("promise")


class Hint(Odd):
    @property
    def heeds(self):
        raise ValueError("hint")


class Copy(Odd):
    def __deepcopy__(self, memo):
        raise OSError("copy")


class Mute(Odd):
    def __init__(self):
        class Silent(Exception):
            def __str__(self):
                raise ValueError

        raise Silent


class Stopped(Odd):
    def __init__(self):
        raise KeyboardInterrupt


class Undecided(Odd):
    def __init__(self):
        self.decide = None
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder with modules of policies, which later tests do not see."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    for name in ("mine_ok", "mine_missing", "mine_wrong", "mine_leaves"):
        monkeypatch.delitem(sys.modules, name, raising=False)  # else it would stay that of an earlier folder
    (tmp_path / "mine_ok.py").write_text(
        textwrap.dedent(
            '''
            import fairq

            class FirstCome:
                """First come, first served."""
                def __init__(self, limit=3):
                    self.limit = limit
                def decide(self, view):
                    return fairq.Decision(admit=view.queue[:view.free])

            class Greedy:
                def decide(self, view):
                    return fairq.Decision(admit=view.queue)

            class Other:
                pass
            '''
        )
    )
    (tmp_path / "mine_odd.py").write_text(ODD)
    (tmp_path / "mine_missing.py").write_text("import no_such_module_anywhere\n")
    (tmp_path / "mine_wrong.py").write_text("x = = 1\n")
    (tmp_path / "mine_leaves.py").write_text("raise SystemExit(3)\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_policy_at_a_place_runs_by_its_name():
    workload = fairq.Workload.from_arrays(tokens=[3, 2])
    result = fairq.simulate(workload, "mine_ok:FirstCome", limit=2, batch_size=1)
    assert result.policy == "mine_ok:FirstCome"
    assert result.requests["start"].tolist() == [0, 3]


@pytest.mark.usefixtures("folder")
def test_check_says_what_broke_and_exits_with_1(capsys):
    assert main(["policies", "--check", "mine_ok:FirstCome", "--set", "limit=4", "--runs", "25"]) == 0
    assert "0 of" in capsys.readouterr().out
    assert main(["policies", "--check", "mine_ok:Greedy", "--runs", "25"]) == 1
    assert "tokens=[1, 1]), 'mine_ok:Greedy', alpha=0, batch_size=1)" in capsys.readouterr().out
    assert main(["policies", "--check", "mine_ok:Greedy", "--json", "--runs", "30"]) == 1
    assert json.loads(capsys.readouterr().out)["failures"][0]["rule"] == "capacity"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["mine_missing:X"],
            "module 'mine_missing' cannot be imported: ModuleNotFoundError: No module named",
        ),
        (["mine_wrong:X"], "cannot be imported: SyntaxError: invalid syntax"),
        (["mine_leaves:X"], "cannot be imported: SystemExit: 3"),
        (["no_such:X"], "module 'no_such' cannot be imported"),
        (["mine_ok:FirstCom"], "unknown class 'FirstCom' of module 'mine_ok': did you mean 'FirstCome'"),
        (["mine_ok:Other"], "is a class without a method decide(view)"),
        (["mine_ok:"], "it must be a name, or module:Class"),
        (["a-b:C"], "it must be a name, or module:Class"),
        (["isjk"], "unknown policy 'isjk': did you mean 'isjl'"),
        (["mine_ok:FirstCome", "--set", "limt=3"], "unknown option 'limt'"),
        (["window"], "needs the option 'window'"),
        (["fcfs", "--runs", "0"], "--runs is 0"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_had_is_one_line_and_status_2(arguments, told, capsys):
    assert main(["policies", "--check", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_scenario_names_a_module(folder, capsys):
    (folder / "s.toml").write_text(
        'name = "own"\n[workload]\nrequests = 5\narrivals = { kind = "backlog" }\n'
        'tokens = { dist = "randint", low = 1, high = 9 }\n[pool]\nbatch_size = 2\n'
        '[[policies]]\nmodule = "mine_ok:FirstCome"\nlimit = [1, 2]\n'
    )
    assert main(["run", "s.toml"]) == 0
    assert "mine_ok:FirstCome (limit 2)" in capsys.readouterr().out
    assert main(["run", "s.toml"]) == 0
    assert "nothing was simulated" in capsys.readouterr().out
    text = (folder / "mine_ok.py").read_text()
    (folder / "mine_ok.py").write_text(text + "# another policy now\n")
    assert main(["run", "s.toml"]) == 2
    capsys.readouterr()
    for value, told in (
        ("mine_ok:Other", "without a method decide"),
        ("mine_wrong:X", "cannot be imported"),
        ("plain", "policies.0.module is 'plain': it must be 'package:Class'"),
    ):
        assert main(["run", "s.toml", "--set", f"policies.0.module={value}"]) == 2
        assert told in capsys.readouterr().err
    assert main(["run", "s.toml", "--set", "policies.0.name=fcfs"]) == 2
    assert "a name or a module, not both" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_package_offers_policies_by_name(monkeypatch, capsys):
    from importlib.metadata import EntryPoint

    offers = {
        "patient": EntryPoint("patient", "mine_ok:FirstCome", loading.GROUP),
        "broken": EntryPoint("broken", "mine_wrong:X", loading.GROUP),
    }
    monkeypatch.setattr("sys.path", [".", *sys.path])
    monkeypatch.setattr(loading, "offered", lambda: offers)
    monkeypatch.setattr("fairq.policies_command.offered", lambda: offers)
    workload = fairq.Workload.from_arrays(tokens=[3])
    assert fairq.simulate(workload, "patient", batch_size=1).policy == "patient"
    with pytest.raises(fairq.InputError, match="policy 'broken' at 'mine_wrong:X' cannot be loaded"):
        fairq.simulate(workload, "broken", batch_size=1)
    with pytest.raises(fairq.InputError, match="did you mean 'patient'"):
        fairq.simulate(workload, "patiant", batch_size=1)
    assert main(["policies"]) == 0
    listed = capsys.readouterr().out
    assert "First come, first served. (own)" in listed
    assert "cannot be loaded" in listed


def test_options_of_a_class():
    class Any:
        def __init__(self, limit, **more): ...

    assert own_options(Any) == ("limit", "*")
    assert own_options(Any(1)) == ()


class Dreamer:
    """Serves nobody, and asks to be woken for ever."""

    def decide(self, view):
        return fairq.Decision(wake=view.now + 1)


def test_slow_runs_of_a_broken_policy_end_the_suite(monkeypatch):
    """With no time left after the first failure, one run is made, and its search begins none."""
    monkeypatch.setattr("fairq.pool._PATIENCE", 50)
    monkeypatch.setattr("fairq.conformance._AFTER", -1.0)
    monkeypatch.setattr("fairq.conformance._SEARCH", -1.0)
    asked = []
    verdict = check_conformance(Dreamer, runs=100, on_run=asked.append)
    assert [failure.rule for failure in verdict.failures] == ["service"]
    assert asked == [0] * len(asked)
    assert (verdict.runs, verdict.stopped, len(asked)) == (1, True, 1)
    assert "1 runs (stopped early: they are slow), 1 of" in str(verdict)


def test_the_suite_tells_how_far_it_is():
    asked = []
    verdict = check_conformance("fcfs", runs=5, on_run=asked.append)
    assert asked == [0, 1, 2, 3, 4]
    assert not verdict.stopped


class Whole(Liar):
    """Another liar, with an option."""

    def __init__(self, limit=3):
        self.limit = limit


@pytest.mark.parametrize(
    ("policy", "rule", "options"), [(Whole, "fairness", {"limit": 4}), (Gambler, "determinism", {})]
)
def test_the_smallest_run_as_printed_breaks_the_rule(policy, rule, options):
    verdict = check_conformance(policy, options, runs=40)
    failure = {failure.rule: failure for failure in verdict.failures}[rule]
    text = failure.call("Policy", options).replace("'Policy'", "Policy")
    assert text in str(verdict).replace(f"'{policy.__name__}'", "Policy")
    run = lambda: eval(text, {"fairq": fairq, "Policy": policy})  # noqa: E731, S307 -- our own text
    if rule == "fairness":
        with pytest.raises(fairq.CheckError, match="fairness"):
            run()
    else:
        pairs = [run() for _ in range(60)]  # each pair differs with probability 1/2 or more
        assert any(not one.equals(other) for one, other in pairs)


@pytest.mark.parametrize("option", ["alpha", "workers", "until"])
def test_what_the_suite_chooses_itself_is_no_option(option, capsys):
    assert main(["policies", "--check", "isjl", "--set", f"{option}=3", "--runs", "2"]) == 2
    assert f"{option} is 3: the suite chooses it itself, so leave it out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("InitRaises", "making it raised RuntimeError: no GPU here (mine_odd.py, line 11)"),
        ("InitLeaves", "making it raised SystemExit: 4 (mine_odd.py, line 16)"),
        ("InitErrs", "making it raised TypeError: object of type 'int' has no len() (mine_odd.py, line 21)"),
        ("NeedArg", "it cannot be made with the options {}: NeedArg.__init__() missing 1 required"),
        ("Promise", "its attribute 'guarded' raised KeyError: 'promise' (mine_odd.py, line 32)"),
        ("Hint", "its attribute 'heeds' raised ValueError: hint (mine_odd.py, line 38)"),
        ("Mute", "making it raised Silent (mine_odd.py, line 52)"),
    ],
)
def test_a_policy_that_raises_before_it_is_asked(folder, name, told, capsys):
    """One line with policy, exception, file and line; in a scenario the field too."""
    module = loading._import("mine_odd")
    for policy, who in ((f"mine_odd:{name}",) * 2, (getattr(module, name), name)):
        with pytest.raises(fairq.InputError) as caught:
            fairq.simulate(fairq.Workload.from_arrays(tokens=[3]), policy, batch_size=1)
        assert str(caught.value).startswith(f"policy {who!r}: {told}")
    (folder / "s.toml").write_text(
        'name = "own"\n[workload]\nrequests = 5\narrivals = { kind = "backlog" }\n'
        'tokens = { dist = "randint", low = 1, high = 9 }\n[pool]\nbatch_size = 2\n'
        f'[[policies]]\nname = "mine_odd:{name}"\n'
    )
    for command in (["run", "s.toml"], ["policies", "--check", f"mine_odd:{name}"]):
        assert main(command) == 2
        line = capsys.readouterr().err
        assert told in line
        assert line.count("\n") == 1
        assert command[0] == "policies" or f"s.toml: policies.0.name is 'mine_odd:{name}': {told}" in line


@pytest.mark.usefixtures("folder")
def test_an_object_that_cannot_be_had_for_each_worker():
    module, workload = loading._import("mine_odd"), fairq.Workload.from_arrays(tokens=[3])
    with pytest.raises(fairq.InputError, match=r"'Copy': copying it for each worker raised OSError: copy \("):
        fairq.simulate(workload, module.Copy(), batch_size=1)
    with pytest.raises(fairq.InputError, match="'Undecided' has no method decide"):
        fairq.simulate(workload, module.Undecided, batch_size=1)
    with pytest.raises(
        fairq.InputError, match=r"attribute 'heeds' or 'needs_requests' raised ValueError: hint"
    ):
        check_conformance(module.Hint(), runs=1)
    with pytest.raises(KeyboardInterrupt):
        fairq.simulate(workload, module.Stopped, batch_size=1)


def test_what_a_module_raises(tmp_path, monkeypatch):
    """Anything, with its line; an interrupt from the keyboard goes on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for number, (text, told) in enumerate(
        [
            ("1 / 0", r"ZeroDivisionError: division by zero \(raises0.py, line 1\)"),
            ("raise GeneratorExit", r"GeneratorExit \(raises1.py, line 1\)"),
            (
                "def __getattr__(name):\n    raise OSError(name)",
                r"'X' of 'raises2' raised OSError: X \(raises2.py",
            ),
        ]
    ):
        (tmp_path / f"raises{number}.py").write_text(f"{text}\n")
        with pytest.raises(fairq.InputError, match=told):
            loading.load(f"raises{number}:X")
    (tmp_path / "interrupted.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        loading.load("interrupted:X")
