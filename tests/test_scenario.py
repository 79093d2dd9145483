"""A scenario: what its file may say, how its cells and workloads come of it, and how errors read."""

from __future__ import annotations

import json
import pickle
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from fixtures_data import data_folder
from pydantic import ValidationError

from fairq.cost import StepTime
from fairq.errors import InputError
from fairq.lengths import LengthLaw
from fairq.scenario import Cell, Scenario
from fairq.streams import open_uniforms, stream
from fairq.workload import Workload

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
TABLE1 = SCENARIOS / "table1.toml"
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n"


def problem(*overrides: str, scenario: str | Path = TABLE1) -> str:
    """The message that loading gives, without the file's folder: one line."""
    with pytest.raises(InputError) as caught:
        Scenario.load(scenario, overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith((str(scenario), "--set"))
    return message.replace(f"{SCENARIOS}/", "")


def test_table1_says_what_the_paper_says():
    scenario = Scenario.load("table1")
    assert scenario.to_dict() == Scenario.load(TABLE1).to_dict()
    assert (scenario.name, scenario.seed, scenario.replications, scenario.clock) == (
        "table1",
        2026,
        20,
        "token",
    )
    assert (scenario.pool.workers, scenario.pool.batch_size) == (1, 50)
    assert scenario.cost.model_dump() == {"c": 0.0005, "tau": 1e-6, "price": 0.002, "worker": 0.0}
    alphas = [50, 100, 150, 250, 300, 400, 500]
    assert [(cell.policy, cell.parameters) for cell in scenario.cells()] == [
        ("fcfs", {}),
        ("ljf", {}),
        *((name, {"alpha": alpha}) for name in ("isjl", "free-ride", "ljf-fair") for alpha in alphas),
    ]
    assert [cell.index for cell in scenario.cells()] == list(range(23))


def test_a_grid_has_names_outermost_then_alpha_then_options_in_the_files_order():
    scenario = Scenario.load(
        TABLE1, ["policies=[{ name = ['isjl', 'robust-isjl'], size = ['tokens', 'upper'], alpha = [5, 7] }]"]
    )
    assert scenario.cells() == [
        Cell(index, name, {"alpha": alpha, "size": size})
        for index, (name, alpha, size) in enumerate(
            (name, alpha, size)
            for name in ("isjl", "robust-isjl")
            for alpha in (5.0, 7.0)
            for size in ("tokens", "upper")
        )
    ]


def test_a_drawn_workload_is_the_same_for_a_replication_and_differs_between_them():
    scenario = Scenario.load("table1")
    first, again, second = scenario.draw(0), scenario.draw(0), scenario.draw(1)
    assert first.tokens.tolist() == again.tokens.tolist()
    assert first.tokens.tolist() != second.tokens.tolist()
    assert first.time_unit is None
    assert not first.arrival.any()


def test_a_draw_takes_one_uniform_a_potential_request_from_each_stream():
    lengths = LengthLaw("randint", {"low": 1, "high": 1001}).tokens(
        open_uniforms(stream(2026, 3, "lengths"), 400)
    )
    uniforms = open_uniforms(stream(2026, 3, "acceptance"), 400)
    bucket = np.ceil(lengths / 100)
    accepted = uniforms < np.maximum(0, 1 - lengths / ((2 * bucket - 1) * 100))
    assert Scenario.load("table1").draw(3).tokens.tolist() == lengths[accepted].tolist()


def test_acceptance_leaves_the_lengths_as_they_are():
    """Other laws, seeds of acceptance or batch sizes meet the same potential requests."""
    data = Scenario.load("table1").to_dict()
    data["workload"]["acceptance"] = None
    everyone = Scenario.from_dict(data).draw(0)
    assert len(everyone) == 400
    assert set(Scenario.load("table1").draw(0).tokens) <= set(everyone.tokens)


def test_a_drawn_workload_may_be_empty():
    overrides = ["workload.requests=3", "workload.tokens={ dist = 'randint', low = 100, high = 101 }"]
    assert len(Scenario.load("table1", overrides).draw(0)) == 0


def test_a_trace_is_the_same_in_every_replication_and_read_as_it_is(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(VIDUR)
    scenario = Scenario.load("replay", [f"workload.arrivals.path={path}"])
    assert scenario.trace_path() == path
    for replication in (0, 1):
        w = scenario.draw(replication)
        assert w.arrival.tolist() == [0.0, 4.314579]
        assert w.tokens.tolist() == [418, 505]
        assert w.time_unit == "s"


def test_replay_is_what_the_documentation_promises():
    path = data_folder() / "vidur" / "splitwise_conv.csv"
    scenario = Scenario.load("replay", [f"workload.arrivals.path={path}"])
    assert len(scenario.draw(0)) == 19_366
    assert (scenario.pool.workers, scenario.pool.batch_size, scenario.clock) == (8, 32, "cost")
    assert (scenario.cost.c, scenario.cost.tau, scenario.replications) == (0.02, 1e-7, 1)
    assert [(cell.policy, cell.parameters) for cell in scenario.cells()] == [
        ("fcfs", {}),
        ("isjl", {"alpha": 500.0}),
        ("ljf-fair", {"alpha": 500.0}),
    ]


def test_a_relative_path_is_looked_for_beside_the_scenario_then_in_the_working_folder(tmp_path, monkeypatch):
    study, working = tmp_path / "study", tmp_path / "working"
    study.mkdir()
    working.mkdir()
    shutil.copy(SCENARIOS / "replay.toml", study / "replay.toml")
    monkeypatch.chdir(working)
    scenario = Scenario.load(study / "replay.toml", ["workload.arrivals.path=trace.csv"])
    with pytest.raises(
        InputError, match=r"workload\.arrivals\.path is 'trace.csv': it must be a file that exists$"
    ):
        scenario.draw(0)
    (working / "trace.csv").write_text(VIDUR)
    assert scenario.trace_path() == Path("trace.csv")
    (study / "trace.csv").write_text(VIDUR)
    assert scenario.trace_path() == study / "trace.csv"
    assert Scenario.from_dict(scenario.to_dict()).trace_path() == Path("trace.csv")


def test_acceptance_thins_a_trace_too(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival,tokens\n" + "".join(f"{i},50\n" for i in range(400)))
    overrides = [
        f"workload.arrivals={{ kind = 'trace', path = '{path}' }}",
        "workload.acceptance={ kind = 'bucketed-linear', width = 100 }",
    ]
    thinned = Scenario.load("replay", overrides).draw(0)
    assert 140 < len(thinned) < 260  # 400 fair coins: mean 200, six standard deviations 60
    assert (np.diff(thinned.arrival) > 0).all()


@pytest.mark.parametrize("name", ["table1", "replay"])
def test_a_scenario_survives_its_own_dictionary(name):
    scenario = Scenario.load(name, ["workload.arrivals.path=trace.csv"] if name == "replay" else [])
    said = scenario.to_dict()
    assert Scenario.from_dict(json.loads(json.dumps(said))).to_dict() == said
    assert pickle.loads(pickle.dumps(scenario)).to_dict() == said  # noqa: S301 -- our own bytes


def test_to_dict_is_complete_with_defaults():
    said = Scenario.load(TABLE1, ["cost={}"]).to_dict()
    assert said["cost"] == {"c": 5e-4, "tau": 1e-6, "price": 2e-3, "worker": 0.0}
    assert said["until"] is None
    assert said["record"] == "requests"
    assert said["workload"]["tokens"] == {"dist": "randint", "truncate": None, "low": 1, "high": 1001}


def test_a_scenario_is_frozen():
    scenario = Scenario.load("table1")
    with pytest.raises(ValidationError, match="frozen"):
        scenario.seed = 3  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        scenario.pool.workers = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("clock", "step_time"),
    [
        ("token", "token"),
        ("cost", "cost"),
        ("{ c = 0.5, b = 0.25, tau = 0.125 }", StepTime(0.5, 0.25, 0.125)),
        ("{ law = 'max', c = 1 }", StepTime(1.0)),
    ],
)
def test_the_clock_is_a_name_or_a_law(clock, step_time):
    assert Scenario.load("table1", [f"clock={clock}"]).step_time() == step_time


def test_simulate_runs_a_cell_on_the_drawn_requests():
    scenario = Scenario.load("table1", ["workload.requests=40", "pool.batch_size=4"])
    workload = scenario.draw(1)
    for cell in (scenario.cells()[0], scenario.cells()[2]):
        result = scenario.simulate(cell, 1)
        assert result.policy == cell.policy
        assert result.summary["completed"] == len(workload)
        assert result.summary["tokens"] == workload.tokens.sum()
        assert scenario.simulate(cell, 1, workload).requests.equals(result.requests)


def test_every_setting_reaches_the_run():
    overrides = [
        "clock={ c = 2 }",
        "until=50",
        "record=summary",
        "pool.workers=3",
        "pool.batch_size=7",
        "cost.price=0.25",
        "policies=[{ name = 'isjl', alpha = 9, pack_order = 'descending' }]",
    ]
    scenario = Scenario.load("table1", overrides)
    result = scenario.simulate(scenario.cells()[0], 0)
    assert (result.workers, result.batch_size, result.alpha, result.until) == (3, 7, 9, 50)
    assert result.clock == StepTime(2.0)
    assert result.cost.price == 0.25
    assert result.options == {"pack_order": "descending"}


REFUSED = [
    (
        "pool.worker=3",
        "unknown field 'pool.worker': did you mean 'workers'? Known: batch_size, dispatch, max_queued",
    ),
    ("sed=3", "unknown field 'sed': did you mean 'seed'?"),
    ("workload.arrivals.path=x", "unknown field 'workload.arrivals.path': known: kind"),
    ("clock={ d = 1 }", "unknown field 'clock.d': known: b, c, law, tau"),
    ("seed=-1", "seed is -1: it must be a whole number >= 0"),
    ("replications=0", "replications is 0: it must be a whole number >= 1"),
    ("replications=2.5", "replications is 2.5: it must be a whole number >= 1"),
    ("replications=many", "replications is 'many': it must be a whole number >= 1"),
    ("replications=true", "replications is True: it must be a whole number >= 1"),
    ("pool=3", "pool is 3: it must be a table"),
    ("pool.workers=0", "pool.workers is 0: it must be a whole number >= 1"),
    ("pool.workers=1000000", "pool.workers is 1000000: it must be <= 100000"),
    ("pool.batch_size='50'", "pool.batch_size is '50': it must be a whole number >= 1"),
    ("pool.dispatch=jsk", "pool.dispatch: unknown dispatch 'jsk': did you mean 'jsq'?"),
    ("pool.dispatch=[]", "pool.dispatch: unknown dispatch []"),
    ("pool.workers=[]", "pool.workers is []: it must be a list of at least 1"),
    ("pool.workers=[{ count = 0 }]", "pool.workers.0.count is 0: it must be a whole number >= 1"),
    ("pool.workers=[{ count = 1, slots = 3 }]", "unknown field 'pool.workers.0.slots'"),
    ("pool.queue_limit=0", "pool.queue_limit is 0: it must be a whole number >= 1"),
    ("pool.patience=-1", "pool.patience is -1: it must be a finite number >= 0"),
    ("pool.patience=nan", "pool.patience is nan: it must be a finite number >= 0"),
    ("pool.max_queued=0", "pool.max_queued is 0: it must be a whole number >= 1"),
    (
        "clock=tokens",
        "clock is 'tokens': it must be 'token', 'cost', 'short-chat', 'long-context', ",
    ),
    ("clock=[]", "clock is []: it must be 'token', 'cost', 'short-chat'"),
    ("clock={ c = -1 }", "clock.c is -1: it must be a finite number >= 0"),
    ("clock={ law = 'sum', c = 1 }", "clock.law is 'sum': it must be 'max'"),
    ("clock={ c = 0 }", "clock: StepTime has c = b = tau = 0"),
    ("cost.c=nan", "cost.c is nan: it must be a finite number >= 0"),
    ("cost.c=inf", "cost.c is inf: it must be a finite number >= 0"),
    ("cost.tau=-1e-9", "cost.tau is -1e-09: it must be a finite number >= 0"),
    ("cost={ c = 0, tau = 0 }", "cost: Cost has c = tau = 0"),
    ("until=-1", "until is -1: it must be a finite number >= 0"),
    ("until=nan", "until is nan: it must be a finite number >= 0"),
    ("record=all", "record is 'all': it must be 'summary', 'requests' or 'segments'"),
    ("name=a/b", "name is 'a/b': it must be text of letters"),
    ("name=..", "name is '..': it must be text of letters"),
    ("name=''", "name is '': it must be text, not empty"),
    ("name=3", "name is 3: it must be text"),
    ("workload={}", "workload.requests is missing"),
    ("workload.requests=0", "workload.requests is 0: it must be a whole number >= 1"),
    ("workload.requests=100000000", "workload.requests is 100000000: it must be <= 10000000"),
    (
        "workload.arrivals.kind=poison",
        "workload.arrivals is {'kind': 'poison'}: it must be a table with kind =",
    ),
    ("workload.arrivals=[1]", "workload.arrivals is [1]: it must be a table with kind ="),
    ("workload.arrivals={ kind = 'trace' }", "workload.arrivals.path is missing: it must be given"),
    ("workload.arrivals={ kind = 'trace', path = 'x' }", "workload.requests is given, but a trace"),
    ("workload.tokens=3", "workload.tokens is 3: it must be a table"),
    ("workload.tokens={ low = 1 }", "workload.tokens.dist is missing: it must be given"),
    ("workload.tokens.dist=gama", "workload.tokens.dist is 'gama': did you mean 'gamma'?"),
    ("workload.tokens.hihg=3", "workload.tokens: unknown parameter 'hihg' of randint: did you mean 'high'?"),
    ("workload.tokens.high='x'", "workload.tokens.high is 'x': it must be a finite number"),
    ("workload.tokens.truncate=[5, 1]", "workload.tokens.truncate is [5, 1]: it must be [lo, hi]"),
    ("workload.tokens.truncate=[1, inf]", "workload.tokens.truncate.1 is inf: it must be a finite number"),
    ("workload.acceptance.width=0", "workload.acceptance.width is 0: it must be a whole number >= 1"),
    ("workload.acceptance.kind=none", "workload.acceptance.kind is 'none': it must be 'bucketed-linear'"),
    ("policies=[]", "policies is []: it must be a list of at least 1"),
    ("policies=fcfs", "policies is 'fcfs': it must be a list"),
    ("policies=['fcfs']", "policies.0 is 'fcfs': it must be a table"),
    ("policies=[{ alpha = 3 }]", "policies.0.name is missing"),
    ("policies.2.name=[]", "policies.2.name is []: it must be a list of at least 1"),
    ("policies.2.name=['isjl', 3]", "policies.2.name.1 is 3: it must be text"),
    ("policies.2.name=isjk", "policies.2: unknown policy 'isjk': did you mean 'isjl'?"),
    ("policies.0.name=isjl", "policies.0: policy 'isjl' needs alpha"),
    ("policies.2.alpha=[]", "policies.2.alpha is []: it must be a list of at least 1"),
    ("policies.2.alpha=[50, -1]", "policies.2.alpha.1 is -1: it must be a finite number >= 0"),
    ("policies.2.alpha=[50, nan]", "policies.2.alpha.1 is nan: it must be a finite number >= 0"),
    ("policies.2.alpha=wide", "policies.2.alpha is 'wide': it must be a finite number >= 0"),
    ("policies.2.alpha=[50, 50]", "policies: 'isjl' with {'alpha': 50.0} is there twice"),
    (
        "policies.0.pack_order=descending",
        "policies.0: unknown option 'pack_order' of policy 'fcfs': known: alpha, size",
    ),
    ("policies.0.size=[]", "policies.0.size is []: it must be a number, text, a truth value, or a list"),
    ("policies.0.size={ a = 1 }", "policies.0.size is {'a': 1}: it must be a number, text"),
    ("policies.0.size=[nan]", "policies.0.size is nan: a number must be finite"),
    ("policies.0.size=middle", "policies.0.size is 'middle': it must be one of 'tokens', 'upper'"),
]


@pytest.mark.parametrize(("override", "words"), REFUSED, ids=[override for override, _ in REFUSED])
def test_what_is_refused_and_how_it_is_put(override, words):
    message = problem(override)
    source, _, said = message.partition("): ")
    assert source in (f"table1.toml (--set {override}", f"table1.toml (with --set {override}")
    assert said.startswith(words)


def test_the_file_itself_is_named_without_overrides(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TABLE1.read_text().replace("workers = 1", "workers = 0"))
    assert problem(scenario=path) == f"{path}: pool.workers is 0: it must be a whole number >= 1"


def test_several_errors_are_counted():
    said = problem("seed=x", "replications=0", "pool.workers=0")
    assert said == "table1.toml (--set seed=x): seed is 'x': it must be a whole number >= 0 (and 2 more)"


def test_a_trace_without_its_path_says_how_to_give_it():
    said = problem(scenario=SCENARIOS / "replay.toml")
    assert said == (
        "replay.toml: workload.arrivals.path is missing: it must be given "
        "(at the command: --set workload.arrivals.path=VALUE)"
    )


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("workload.arrivals.columns={ arival = 'x' }", "workload.arrivals.columns: unknown column 'arival'"),
        ("workload.arrivals.columns.arrival=3", "workload.arrivals.columns.arrival is 3: it must be text"),
        ("workload.arrivals.columns=3", "workload.arrivals.columns is 3: it must be a table"),
        ("workload.arrivals.time_unit=ms", "workload.arrivals.time_unit is 'ms': it must be 's' or 'steps'"),
        ("workload.arrivals.path=3", "workload.arrivals.path is 3: it must be text"),
        ("workload.requests=5", "workload.requests is given, but a trace (arrivals.kind) has its own"),
    ],
)
def test_what_a_trace_refuses(override, words):
    said = problem("workload.arrivals.path=x", override, scenario=SCENARIOS / "replay.toml")
    assert said.partition("): ")[2].startswith(words)


def test_a_length_that_is_none_is_an_error_of_its_field():
    scenario = Scenario.load(TABLE1, ["workload.tokens={ dist = 'norm', loc = 1, scale = 50 }"])
    with pytest.raises(
        InputError, match=r"table1\.toml: workload\.tokens: the law norm\(loc=1, scale=50\) drew -"
    ):
        scenario.draw(0)


def test_from_dict_names_the_field_without_a_file():
    with pytest.raises(InputError, match=r"^scenario: the scenario is 3: it must be a table$"):
        Scenario.from_dict(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^scenario: name is missing: .* \(and 2 more\)$"):
        Scenario.from_dict({"pool": {"batch_size": 3}})


def leaves(node, schema, path=""):
    """Every property of a JSON Schema, at every depth, with its dotted path."""
    for name, field in node.get("properties", {}).items():
        yield f"{path}{name}", field
        yield from leaves(field, schema, f"{path}{name}.")
    for key in ("anyOf", "oneOf", "allOf"):
        for member in node.get(key, []):
            yield from leaves(member, schema, path)
    for inner in (node.get("items"), node.get("$ref") and schema["$defs"][node["$ref"].split("/")[-1]]):
        if inner:
            yield from leaves(inner, schema, path)


def test_the_schema_describes_every_field_and_gives_bounds_and_defaults():
    schema = Scenario.json_schema()
    fields = dict(leaves(schema, schema))
    assert {"pool.batch_size", "workload.tokens.dist", "policies.alpha", "workload.arrivals.columns"} <= set(
        fields
    )
    assert not [path for path, field in fields.items() if not field.get("description")]
    assert fields["replications"]["minimum"] == 1
    assert fields["replications"]["default"] == 1
    assert fields["pool.workers.count"]["maximum"] == 100_000
    assert fields["cost.tau"]["default"] == 1e-6
    assert not [path for path, field in fields.items() if {"ge", "le"} & set(json.dumps(field).split('"'))]
    optional = {path for path in fields if "default" in fields[path]}
    assert {
        "seed",
        "clock",
        "until",
        "record",
        "cost",
        "cost.price",
        "pool.dispatch",
        "clock.law",
    } <= optional
    assert schema["additionalProperties"] is False
    assert json.loads(json.dumps(schema)) == schema


def test_the_scenarios_of_the_repository_hold_only_known_fields():
    for path in SCENARIOS.glob("*.toml"):
        settings = tomllib.loads(path.read_text())
        arrivals = settings["workload"]["arrivals"]
        if arrivals["kind"] == "trace":
            arrivals.setdefault("path", "trace.csv")
        assert Scenario.from_dict(settings).name == path.stem


def test_a_workload_of_ones_own_can_be_run_in_a_cell():
    scenario = Scenario.load("table1")
    workload = Workload.from_arrays([12, 8, 2])
    assert scenario.simulate(scenario.cells()[1], 0, workload).summary["arrived"] == 3


def test_length_classes_need_a_width_under_every_policy():
    with pytest.raises(InputError, match=r"table1\.toml: dispatch 'length-class' needs alpha"):
        Scenario.load("table1", ["pool.dispatch=length-class"])


def test_workers_may_differ_and_each_limit_reaches_the_run():
    scenario = Scenario.load(
        "table1",
        [
            "pool.workers=[{ count = 1, batch_size = 8 }, { count = 2, clock = { c = 2 } }]",
            "pool.queue_limit=100",
            "pool.patience=900",
            "pool.dispatch=jsq",
            "replications=1",
        ],
    )
    assert scenario.pool.count == 3
    assert scenario.pool.slots == 50
    result = scenario.simulate(scenario.cells()[0], 0)
    result.check()
    assert [(group.count, group.batch_size, group.clock.c) for group in result.groups] == [
        (1, 8, 1),
        (2, 50, 2),
    ]
    assert result.summary["rejected"] == result.summary["arrived"] - 100
    assert result.summary["completed"] + result.summary["abandoned"] == 100
    assert result.requests["wait"].max() <= 900 < result.summary["makespan"]
    assert result.dispatch == "jsq"
