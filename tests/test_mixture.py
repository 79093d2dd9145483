"""Classes of requests: superposed streams, shares of one stream, terms, and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import fairq
from fairq.arrivals import Poisson, Renewal
from fairq.errors import InputError
from fairq.lengths import LengthLaw
from fairq.realised import realised
from fairq.scenario import Scenario
from fairq.streams import open_uniforms, stream

SHORT = {"dist": "randint", "low": 1, "high": 50}
LONG = {"dist": "randint", "low": 100, "high": 400}
OWN: dict[str, Any] = {
    "requests": 3000,
    "classes": [
        {
            "label": "chat",
            "arrivals": {"kind": "poisson", "rate": 3.0},
            "tokens": SHORT,
            "price": 0.01,
            "sla": {"latency": 90.0},
        },
        {"label": "code", "arrivals": {"kind": "renewal", "rate": 1.0, "cv": 2.0}, "tokens": LONG},
    ],
}
SHARED: dict[str, Any] = {
    "requests": 3000,
    "arrivals": {"kind": "poisson", "rate": 4.0},
    "tokens": LONG,
    "classes": [{"label": "chat", "weight": 3, "tokens": SHORT}, {"label": "code", "weight": 1}],
}


def scenario(workload: dict[str, Any], **fields: Any) -> Scenario:
    rest = {"pool": {"batch_size": 16}, "policies": [{"name": "fcfs"}], "seed": 8}
    return Scenario.from_dict({"name": "mixed", "workload": workload, **rest, **fields})


def test_classes_with_their_own_arrivals_are_superposed() -> None:
    w = scenario(OWN).draw(2)
    assert len(w) == 3000
    assert (np.diff(w.arrival) >= 0).all()
    laws = {"chat": (Poisson(3.0), SHORT), "code": (Renewal(rate=1.0, cv=2.0), LONG)}
    for part, (label, (law, lengths)) in enumerate(laws.items()):
        mine = w.subset(w.label == label)
        times = law.times(stream(8, 2, "arrivals", part), count=3000)
        assert mine.arrival.tolist() == times[: len(mine)].tolist()
        uniforms = open_uniforms(stream(8, 2, "lengths", part), 3000)
        found = LengthLaw("randint", {"low": lengths["low"], "high": lengths["high"]}).tokens(uniforms)
        assert mine.tokens.tolist() == found[: len(mine)].tolist()
    assert realised(w).rate == pytest.approx(4.0, rel=0.2)


def test_a_class_changed_leaves_the_others_as_they_are() -> None:
    changed = copy.deepcopy(OWN)
    changed["classes"][1]["arrivals"] = {"kind": "batch-poisson", "rate": 9.0, "size": 3}
    changed["requests"] = 9000
    first, second = scenario(OWN).draw(0), scenario(changed).draw(0)
    mine, theirs = (w.subset(w.label == "chat") for w in (first, second))
    count = min(len(mine), len(theirs))
    assert count > 1000
    assert mine.arrival[:count].tobytes() == theirs.arrival[:count].tobytes()
    assert mine.tokens[:count].tobytes() == theirs.tokens[:count].tobytes()


def test_ties_come_in_the_order_of_the_classes() -> None:
    even = {"kind": "deterministic", "rate": 1.0}
    classes = [{"label": name, "arrivals": even, "tokens": SHORT} for name in "bac"]
    w = scenario({"classes": classes}, until=4.0).draw(0)
    assert w.label.tolist() == list("bac") * 4
    assert w.arrival.tolist() == [t for t in (1.0, 2.0, 3.0, 4.0) for _ in range(3)]


def test_a_class_may_be_a_backlog_or_have_a_number_of_its_own() -> None:
    classes = [
        {"label": "night", "arrivals": {"kind": "backlog"}, "requests": 20, "tokens": LONG},
        {"label": "day", "arrivals": {"kind": "poisson", "rate": 1.0}, "tokens": SHORT},
    ]
    w = scenario({"classes": classes}, until=50.0).draw(0)
    assert w.label[:20].tolist() == ["night"] * 20
    assert set(w.label[20:]) == {"day"}


def test_weights_share_one_stream() -> None:
    w = scenario(SHARED).draw(1)
    assert w.arrival.tolist() == Poisson(4.0).times(stream(8, 1, "arrivals"), count=3000).tolist()
    share = (w.label == "chat").mean()
    assert abs(share - 0.75) <= 4 * np.sqrt(0.75 * 0.25 / 3000)
    assert w.tokens[w.label == "chat"].max() < 50
    assert w.tokens[w.label == "code"].min() >= 100
    other = copy.deepcopy(SHARED)
    other["classes"][0]["tokens"] = LONG
    again = scenario(other).draw(1)
    assert (again.label == w.label).all()
    assert (again.tokens == w.tokens)[w.label == "code"].all()


def test_predictions_and_chunks_of_a_mixture() -> None:
    mixed = copy.deepcopy(SHARED)
    mixed["predictions"] = {"kind": "noise", "spread": 0.5}
    mixed["classes"][1]["predictions"] = {"kind": "global", "upper": 500}
    w = scenario(mixed).draw(0)
    assert set(w.upper[w.label == "code"]) == {500}
    assert w.upper[w.label == "chat"].max() <= 75
    assert w.widened is not None
    assert not w.widened.any()
    mixed["classes"][1]["predictions"] = {"kind": "quantile", "level": 0.7, "error": 0.5}
    del mixed["predictions"]
    w = scenario(mixed).draw(0)
    assert w.widened is not None
    assert w.widened[w.label == "code"].mean() > 0.4
    assert not w.widened[w.label == "chat"].any()


def test_terms_go_with_the_workload() -> None:
    w = scenario(OWN).draw(0)
    assert w.terms["chat"] == fairq.Terms(price=0.01, sla={"latency": 90.0})
    assert w.terms["code"] == fairq.Terms()
    assert pickle.loads(pickle.dumps(w)).terms == w.terms  # noqa: S301 -- our own
    assert w.subset(w.label == "chat").terms == w.terms
    assert w.chunk_prompt(4).terms == w.terms
    plain = fairq.Workload.from_arrays([3, 4], label=["a", "b"])
    with pytest.raises(InputError, match="unknown label 'c'"):
        plain.with_terms({"c": fairq.Terms()})
    with pytest.raises(InputError, match=r"terms\.a is 5: it must be fairq\.Terms"):
        plain.with_terms({"a": 5})  # type: ignore[dict-item]
    for wrong in ({}, {"latncy": 3}, {"latency": 0}, {"latency": float("nan")}):
        with pytest.raises(InputError, match=r"sla|latency"):
            fairq.Terms(sla=wrong)
    with pytest.raises(InputError, match="price is -1: it must be a finite number >= 0"):
        fairq.Terms(price=-1)


def test_the_figures_of_each_law_stand_beside_what_was_drawn() -> None:
    one = scenario(OWN)
    found = one.simulate(one.cells()[0], 0).summary.attrs["arrivals"]
    assert [entry["label"] for entry in found["configured"]] == ["chat", "code"]
    assert found["configured"][1] == {
        "label": "code",
        "kind": "renewal",
        "rate": 1.0,
        "cv": 2.0,
        "dispersion": 4.0,
    }
    assert found["realised"]["requests"] == 3000
    assert found["realised"]["rate"] == pytest.approx(4.0, rel=0.2)
    backlog = Scenario.load("table1")
    found = backlog.drawn_figures(backlog.draw(0))
    assert found["configured"] == [
        {"label": "", "kind": "backlog", "rate": None, "cv": None, "dispersion": None}
    ]
    assert found["realised"]["rate"] is None
    assert found["widened"] is None


@pytest.mark.parametrize(("cv", "rate"), [(0.5, 2.0), (1.0, 0.01), (3.0, 50.0)])
def test_realised_figures_are_near_the_laws(cv: float, rate: float) -> None:
    times = Renewal(rate=rate, cv=cv).times(stream(4, 0, "arrivals"), count=40_000)
    found = realised(fairq.Workload.from_arrays(np.ones(len(times), dtype=np.int64), times[::-1]))
    assert abs(found.rate / rate - 1) <= 4 * cv / np.sqrt(40_000)
    # The error of the variance of gamma gaps: kurtosis 3 + 6·cv².
    assert abs(found.cv / cv - 1) <= 4 * np.sqrt((2 + 6 * cv**2) / 40_000)
    assert abs(found.dispersion / cv**2 - 1) <= 4 * np.sqrt(2 / 199) + 0.05  # windows of 200 are not infinite
    assert found.window == pytest.approx(200 / rate, rel=0.1)


def test_few_arrivals_have_no_figures() -> None:
    assert np.isnan(realised(fairq.Workload.from_arrays([1, 1])).rate)
    assert np.isnan(realised(fairq.Workload.empty()).rate)
    assert np.isnan(realised(fairq.Workload.from_arrays([1, 1], arrival=[0, 1])).cv)
    assert np.isnan(realised(fairq.Workload.from_arrays([1, 1, 1], arrival=[0, 1, 9]), period=3.0).dispersion)


def changed(workload: dict[str, Any], index: int, **fields: Any) -> dict[str, Any]:
    other = copy.deepcopy(workload)
    other["classes"][index] = {
        name: value for name, value in (other["classes"][index] | fields).items() if value is not None
    }
    return other


POISSON = {"kind": "poisson", "rate": 1.0}
REFUSED: list[tuple[dict[str, Any], str]] = [
    (changed(SHARED, 1, weight=None), "workload.classes.1.weight is missing: a class without arrivals"),
    (changed(SHARED, 1, weight=0), "workload.classes.1.weight is 0: it must be a finite number > 0"),
    (changed(SHARED, 1, weight=float("nan")), "workload.classes.1.weight is nan: it must be a finite"),
    (changed(SHARED, 0, arrivals=POISSON), "workload.classes.0.arrivals is given, but the workload has"),
    (changed(SHARED, 0, requests=5), "workload.classes.0.requests is 5: the workload has the arrivals"),
    (changed(SHARED, 1, label="chat"), "workload.classes.1.label is 'chat': it must be another than"),
    (changed(SHARED, 1, label="all"), "workload.classes.1.label is 'all': it must be another"),
    (changed(SHARED, 1, sla={}), "workload.classes.1.sla is {}: it must be a table of at least one limit"),
    (changed(SHARED, 1, label=""), "workload.classes.1.label is '': it must be text, not empty"),
    (changed(OWN, 1, arrivals=None), "workload.classes.1.arrivals is missing: every class needs its own"),
    (changed(OWN, 1, weight=2), "workload.classes.1.weight is 2.0: the class has its own arrivals"),
    (changed(OWN, 1, tokens=None), "workload.classes.1.tokens is missing: the class needs it"),
    (changed(OWN, 1, arrivals={"kind": "backlog"}), "workload.classes.1.requests is missing"),
    (changed(OWN, 1, arrivals=POISSON | {"rate": 0}), "workload.classes.1.arrivals.rate is 0: it must be"),
    (changed(OWN, 0, price=-1), "workload.classes.0.price is -1: it must be a finite number >= 0"),
    (changed(OWN, 0, sla={"latncy": 3.0}), "did you mean 'latency'?"),
    (changed(OWN, 0, sla={"latency": 0}), "workload.classes.0.sla.latency is 0: it must be"),
    (changed(OWN, 0, sla={}), "sla is {}: it must be a table of at least one limit"),
    (changed(OWN, 0, pric=1), "unknown field 'workload.classes.0.pric': did you mean 'price'?"),
    (OWN | {"classes": []}, "workload.classes is []: it must be a list of at least 1"),
    (OWN | {"requests": None}, "workload.classes.0.requests is missing: it must be given, or until, or both"),
    (SHARED | {"predictions": {"kind": "noise", "spread": -1}}, "workload.predictions.spread is -1"),
    (SHARED | {"predictions": {"kind": "nose"}}, "workload.predictions is {'kind': 'nose'}"),
    (SHARED | {"predictions": {"kind": "quantile", "level": 1.5, "error": 1}}, "level is 1.5"),
    (SHARED | {"predictions": {"kind": "classes", "edges": []}}, "workload.predictions.edges is []"),
    (SHARED | {"predictions": {"kind": "classes", "edges": [9, 3]}}, "workload.predictions.edges.1 is 3"),
]  # fmt: skip


@pytest.mark.parametrize(("workload", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_not_allowed_is_one_line(workload: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        scenario(workload)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_a_class_is_named_when_it_is_drawn() -> None:
    with pytest.raises(InputError, match=r"workload\.classes\.1\.predictions: upper is 9: it must"):
        scenario(changed(SHARED, 1, predictions={"kind": "global", "upper": 9})).draw(0)
    with pytest.raises(InputError, match=r"workload\.predictions: edges\.0 is 60: it must be at least"):
        scenario(SHARED | {"predictions": {"kind": "classes", "edges": [60]}}).draw(0)
