"""A scenario whose arrivals and lengths are generated: its fields, its streams, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from fairq import arrivals
from fairq.cli import main
from fairq.errors import InputError
from fairq.joint import JointLengths, lmsys_like
from fairq.lengths import LengthLaw
from fairq.scenario import Scenario
from fairq.streams import open_uniforms, stream

SCENARIO = """
name = "generated"
seed = 3
[workload]
requests = 200
arrivals = { kind = "poisson", rate = 0.5 }
tokens = { kind = "lmsys-like" }
[pool]
workers = 2
batch_size = 8
[[policies]]
name = "fcfs"
[[policies]]
name = "isjl"
alpha = [20, 80]
"""

KINDS = {
    "poisson": ("rate = 0.5", arrivals.Poisson(0.5)),
    "deterministic": ("rate = 0.5", arrivals.Deterministic(0.5)),
    "renewal": ("rate = 0.5, cv = 2", arrivals.Renewal(rate=0.5, cv=2)),
    "renewal ": (
        "dist = 'weibull_min', c = 0.7, scale = 3",
        arrivals.Renewal("weibull_min", {"c": 0.7, "scale": 3}),
    ),
    "batch-poisson": ("rate = 0.5, size = 4", arrivals.BatchPoisson(0.5, 4)),
    "mmpp": ("rates = [0, 2], switch = [0.1, 0.2]", arrivals.MarkovModulated([0, 2], [0.1, 0.2])),
    "mmpp ": (
        "rates = [0, 2], switch = [[0, 0.1], [0.2, -0.2]], rate = 7",
        arrivals.MarkovModulated([0, 2], [0.1, 0.2], 7),
    ),
    "nhpp": (
        "times = [0, 10, 20], rates = [1, 0]",
        arrivals.Nonhomogeneous([0, 10, 20], [1, 0]),
    ),
    "nhpp ": (
        "times = [0, 10, 20], rates = [1, 0, 3], shape = 'linear', repeat = false, rate = 2",
        arrivals.Nonhomogeneous([0, 10, 20], [1, 0, 3], "linear", False, 2),
    ),
    "sinusoid": (
        "rate = 0.5, amplitude = 1, period = 100",
        arrivals.Sinusoid(0.5, 1, 100),
    ),
}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "generated.toml"
    file.write_text(SCENARIO)
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_its_law_from_the_streams_of_the_replication(path: Path, kind: str) -> None:
    fields, law = KINDS[kind]
    scenario = Scenario.load(path, [f"workload.arrivals={{ kind = '{kind.strip()}', {fields} }}"])
    for replication in (0, 4):
        drawn = scenario.draw(replication)
        times = law.times(stream(3, replication, "arrivals"), count=200)
        assert drawn.arrival.tobytes() == times.tobytes()
        uniforms = open_uniforms(stream(3, replication, "lengths"), len(times))
        assert drawn.tokens.tolist() == lmsys_like().tokens(uniforms).tolist()
    assert scenario.draw(0).arrival.tobytes() == scenario.draw(0).arrival.tobytes()
    again = Scenario.from_dict(scenario.to_dict())
    assert again.draw(4).arrival.tobytes() == drawn.arrival.tobytes()


def test_another_rate_keeps_lengths_and_rescales_times(path: Path) -> None:
    slow, fast = (Scenario.load(path, [f"workload.arrivals.rate={rate}"]).draw(1) for rate in (0.25, 4.0))
    assert (slow.arrival == 16 * fast.arrival).all()
    assert (slow.tokens == fast.tokens).all()


@pytest.mark.parametrize(
    "change",
    [
        "pool.workers=7",
        "pool.batch_size=3",
        "pool.dispatch='round-robin'",
        "pool.dispatch='random'",
        "pool.dispatch='jsq'",
        "policies.1.alpha=5",
        "policies=[{ name = 'ljf' }]",
        "clock='cost'",
    ],
)
def test_nothing_but_the_workload_changes_the_requests(path: Path, change: str) -> None:
    plain, other = Scenario.load(path), Scenario.load(path, [change])
    drawn = plain.draw(2)
    for column in ("arrival", "tokens", "prompt_tokens"):
        assert getattr(other.draw(2), column).tobytes() == getattr(drawn, column).tobytes()
    for one in (plain, other):
        for cell in one.cells():
            requests = one.simulate(cell, 2).requests
            assert requests["arrival"].to_numpy().tobytes() == drawn.arrival.tobytes()
            assert (requests["tokens"].to_numpy() == drawn.tokens).all()


def test_requests_end_with_the_number_or_the_time_whichever_is_first(path: Path) -> None:
    everything = Scenario.load(path).draw(0).arrival
    until = float(everything[49])
    assert len(Scenario.load(path, [f"until={until!r}"]).draw(0)) == 50
    data = Scenario.load(path).to_dict()
    data["workload"]["requests"] = None
    data["until"] = until
    alone = Scenario.from_dict(data)
    assert alone.draw(0).arrival.tolist() == everything[:50].tolist()
    assert alone.simulate(alone.cells()[0], 0).summary["arrived"] == 50
    data["until"] = 0.0
    assert len(Scenario.from_dict(data).draw(0)) == 0


def test_prompt_and_output_are_drawn_jointly(path: Path) -> None:
    joint = (
        "workload.tokens={ prompt = { dist = 'lognorm', s = 1.2, scale = 300 }, "
        "output = { dist = 'gamma', a = 2, scale = 90 }, correlation = %s }"
    )
    drawn = {}
    for rho in (-1.0, -0.5, 0.0, 0.6, 1.0):
        w = Scenario.load(path, [joint % rho, "workload.requests=20000"]).draw(0)
        assert (w.tokens == w.prompt_tokens + w.output_tokens).all()
        found = scipy.stats.spearmanr(w.prompt_tokens, w.output_tokens).statistic
        assert abs(found - rho) <= 4 / np.sqrt(20_000) + 1e-4  # the error at 0, which is the largest
        drawn[rho] = w
    assert all((w.prompt_tokens == drawn[0.0].prompt_tokens).all() for w in drawn.values())
    uniforms = np.sort((np.arange(2000) + 0.5) / 2000)
    for w in drawn.values():  # each marginal law is the same, whatever the correlation
        median = float(np.median(LengthLaw("gamma", {"a": 2, "scale": 90}).tokens(uniforms)))
        below = (w.output_tokens <= median).mean()
        assert abs(below - 0.5) <= 4 * np.sqrt(0.25 / 20_000) + 0.005  # ties at the median


def test_a_correlation_out_of_range_is_no_joint_law() -> None:
    law = lmsys_like()
    for wrong in (1.01, -2, float("nan"), "x"):
        with pytest.raises(InputError, match=r"^correlation is "):
            JointLengths(law, law, wrong)  # type: ignore[arg-type]


REFUSED_ARRIVALS = {
    "kind = 'poisson'": "workload.arrivals.rate is missing",
    "kind = 'poison'": "it must be a table with kind = 'backlog', 'poisson'",
    "kind = 'nhpp', times = [0, 1], rates = []": "workload.arrivals.rates is []: it must be",
    "kind = 'nhpp', times = [], rates = [1]": "workload.arrivals.times is []: it must be",
    "kind = 'nhpp', times = [0, 1], rates = [nan]": "workload.arrivals.rates.0 is nan",
    "kind = 'nhpp', times = [0, 1], rates = [-1]": "workload.arrivals.rates.0 is -1",
    "kind = 'nhpp', times = [0, 1], rates = [0]": "rates is [0.0]: at least one must be > 0",
    "kind = 'nhpp', times = [0, 1, 1], rates = [1, 1]": "workload.arrivals.times.2 is 1.0",
    "kind = 'mmpp', rates = [1, 2], switch = [1, 0]": "phase 1 has no exit",
    "kind = 'mmpp', rates = [1, 2], switch = [[0, 0], [1, 0]]": "phase 0 has no exit",
    "kind = 'mmpp', rates = [], switch = []": "workload.arrivals.rates is []: it must",
    "kind = 'mmpp', rates = [1, 2]": "workload.arrivals.switch is missing",
    "kind = 'mmpp', rates = [1, 2], switch = [1, 2], rate = 0": "arrivals.rate is 0",
    "kind = 'mmpp', rates = [1, 2], switch = 'x'": "workload.arrivals.switch is 'x'",
    "kind = 'renewal', rate = 1": "dist is to be given, or rate and cv",
    "kind = 'renewal', rate = 1, cv = 0": "workload.arrivals.cv is 0: it must be",
    "kind = 'renewal', dist = 'gama', a = 1": "did you mean 'gamma'?",
    "kind = 'renewal', dist = 'norm', loc = 9": "its values can be negative",
    "kind = 'batch-poisson', rate = 1, size = 0": "workload.arrivals.size is 0: it must",
    "kind = 'batch-poisson', rate = 1, size = 1_000_000_000": "size is 1000000000: it must be <= 200000000",
    "kind = 'batch-poisson', rate = 1, size = { dist = 'geom', p = 2 }": "does not allow",
    "kind = 'batch-poisson', rate = 1, size = { dist = 'poisson', mu = 2 }": "values >= 1",
    "kind = 'batch-poisson', rate = 1, size = { p = 2 }": "arrivals.size.dist is missing",
    "kind = 'sinusoid', rate = 1, amplitude = 2, period = 1": "amplitude is 2.0: it must be <= 1.0",
    "kind = 'sinusoid', rate = 1, amplitude = 1, period = 0": "arrivals.period is 0",
}  # fmt: skip

REFUSED = {
    **{f"workload.arrivals={{ {table} }}": words for table, words in REFUSED_ARRIVALS.items()},
    "workload.arrivals.rate=0": "workload.arrivals.rate is 0: it must be a finite number > 0",
    "workload.arrivals.rate=-2.5": "workload.arrivals.rate is -2.5: it must be a finite number > 0",
    "workload.arrivals.rate=nan": "workload.arrivals.rate is nan: it must be a finite number > 0",
    "workload.arrivals.rate=inf": "workload.arrivals.rate is inf: it must be a finite number > 0",
    "workload.arrivals.rate='x'": "workload.arrivals.rate is 'x': it must be a finite number > 0",
    "policies.0={ name = 'window', window = nan }": "policies.0.window is nan: a number must be finite",
    "workload.arrivals.rat=1": "unknown field 'workload.arrivals.rat': did you mean 'rate'?",
    "workload.tokens={ prompt = { dist = 'expon' }, output = { dist = 'expon' }, correlation = 1.2 }": (
        "workload.tokens.correlation is 1.2: it must be a number from -1 to 1"
    ),
    "workload.tokens={ prompt = { dist = 'expon' } }": "workload.tokens.output is missing",
    "workload.tokens={ prompt = { dist = 'expn' }, output = { dist = 'expon' } }": "did you mean 'expon'?",
    "workload.tokens={ kind = 'lmsys' }": "workload.tokens is {'kind': 'lmsys'}: it must be a table with",
    "workload.tokens=5": "workload.tokens is 5: it must be a table with",
    "workload={ requests = 5, arrivals = { kind = 'poisson', rate = 1 } }": (
        "tokens is missing: arrivals of kind 'poisson'"
    ),
    "workload={ arrivals = { kind = 'poisson', rate = 1 }, tokens = { kind = 'lmsys-like' } }": (
        "workload.requests is missing: it must be given, or until, or both"
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", REFUSED)
def test_what_is_not_allowed_is_one_line_and_status_2(
    path: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(path), "--set", change]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert REFUSED[change] in said
    assert "Traceback" not in said


def test_a_scenario_that_could_not_be_drawn_is_refused_before_it_is(path: Path) -> None:
    data = Scenario.load(path).to_dict()
    data["workload"]["requests"] = None
    for law in ({"kind": "poisson", "rate": 1e4}, {"kind": "mmpp", "rates": [1e4, 0], "switch": [1.0, 1.0]}):
        data["workload"]["arrivals"] = law
        with pytest.raises(InputError, match="there must be at most 200,000,000"):
            Scenario.from_dict({**data, "until": 1e8})
        Scenario.from_dict({**data, "until": 1e4})
    data["workload"]["arrivals"] = {"kind": "mmpp", "rates": [1.0, 0.0], "switch": [1e6, 1e6]}
    with pytest.raises(InputError, match="or changes of phase"):
        Scenario.from_dict({**data, "until": 1e4})


def test_a_class_without_weight_and_an_interval_that_does_not_hold(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classes = "workload.classes=[{ label = 'a', weight = 1 }, { label = 'b' }]"
    assert main(["run", str(path), "--set", classes]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "workload.classes.1.weight is missing: a class without arrivals of its own needs one" in said
    Path("trace.csv").write_text("arrival,tokens,lower,upper\n0,5,7,6\n")
    trace = "workload={ arrivals = { kind = 'trace', path = 'trace.csv' } }"
    assert main(["run", str(path), "--set", trace]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "lower" in said
    assert "is 7: it must be at most tokens, which is 5" in said


def test_the_manifest_says_what_was_asked_for_and_what_was_drawn(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", str(path), "--set", "workload.requests=40", "--set", "replications=2"]
    assert main(arguments) == 0
    manifest = json.loads(Path("runs", "generated", "manifest.json").read_text())
    assert manifest["arrivals"]["configured"] == [
        {"label": "", "kind": "poisson", "rate": 0.5, "cv": 1.0, "dispersion": 1.0}
    ]
    assert manifest["arrivals"]["realised"]["requests"] == 40
    assert main(arguments) == 0
    assert "nothing was simulated" in capsys.readouterr().out
