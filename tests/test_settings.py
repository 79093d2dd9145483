"""The TOML file, the gallery and the overrides of a scenario, before the schema sees them."""

from __future__ import annotations

import pytest

from fairq.errors import InputError
from fairq.settings import find_scenario, gallery, override, read_toml


def test_the_gallery_holds_the_scenarios_of_the_repository():
    assert {"table1", "replay"} <= set(gallery())
    assert all(path.name == f"{name}.toml" for name, path in gallery().items())


def test_a_bare_name_is_looked_up_and_a_path_is_left_alone(tmp_path):
    assert find_scenario("table1") == gallery()["table1"]
    assert str(find_scenario("table1.toml")) == "table1.toml"
    assert find_scenario(tmp_path / "table1") == tmp_path / "table1"
    assert str(find_scenario("./table1/x")) == "table1/x"


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(InputError, match=r"^unknown scenario 'tabel1': did you mean 'table1'\?"):
        find_scenario("tabel1")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", " is empty: it must be a scenario in TOML"),
        (b" \n", " is empty: it must be a scenario in TOML"),
        (b"name = 'x'\nseed = = 3\n", ": line 2, column 8 is not TOML: Invalid value"),
        (b"name = 'x'\nseed =", ": line 2"),
        (b"name = 'x'\nname = 'y'\n", ": line 2"),
        (b"[pool\nworkers = 3\n", ": line 1"),
        (b"name = '\0'\n", ": line 1 holds a NUL byte"),
        (b"name = '\xff'\n", ": line 1 holds the byte 0xff: it must be UTF-8 text"),
        (b"seed = " + b"[" * 100_000, " is not TOML"),
    ],
)
def test_a_file_that_is_not_toml_is_named_with_its_line(tmp_path, content, words):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_toml(path)
    assert str(caught.value).startswith(f"{path}{words}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path, tmp_path / "study.toml"):
        with pytest.raises(InputError, match=r"cannot be read: .*; it must be a readable file$"):
            read_toml(path)


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("field=3", 3),
        ("field = 1e-3", 0.001),
        ("field=true", True),
        ("field=[50, 100]", [50, 100]),
        ("field={ kind = 'backlog' }", {"kind": "backlog"}),
        ("field='3'", "3"),
        ("field=data/trace.csv", "data/trace.csv"),
        ("field=a=b", "a=b"),
        (r"field=C:\data\new.csv", r"C:\data\new.csv"),
        ("field=1\nother = 2", "1\nother = 2"),
    ],
)
def test_a_value_is_toml_or_else_text(assignment, value):
    settings: dict[str, object] = {}
    assert override(settings, [assignment]) == {"field": assignment}
    assert settings == {"field": value}


def test_dotted_fields_reach_into_tables_and_lists():
    settings = {"pool": {"workers": 1}, "policies": [{"name": "fcfs"}, {"name": "isjl", "alpha": 50}]}
    override(settings, ["pool.workers=8", "policies.1.alpha=[5, 6]", "policies.0=ljf", "cost.worker=0.5"])
    assert settings == {
        "pool": {"workers": 8},
        "policies": ["ljf", {"name": "isjl", "alpha": [5, 6]}],
        "cost": {"worker": 0.5},
    }


def test_the_last_assignment_of_a_field_holds():
    settings: dict[str, object] = {}
    override(settings, ["seed=1", "seed=2"])
    assert settings == {"seed": 2}


@pytest.mark.parametrize("assignment", ["seed", "=3", "seed=", "", "a..b=3", ".a=3", "a.=3", "seed:3"])
def test_a_malformed_assignment(assignment):
    with pytest.raises(InputError, match=r"^--set .*: it must be FIELD=VALUE, as in pool\.workers=8$"):
        override({"seed": 1}, [assignment])


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("seed.x=3", "seed is 1, which has no field 'x'"),
        ("policies.2.alpha=3", "'2' is no entry of policies: it must be a number from 0 to 1"),
        ("policies.-1.alpha=3", "'-1' is no entry of policies"),
        ("policies.first=3", "'first' is no entry of policies"),
    ],
)
def test_an_assignment_below_what_has_no_such_place(assignment, words):
    with pytest.raises(InputError) as caught:
        override({"seed": 1, "policies": [{}, {}]}, [assignment])
    assert str(caught.value).startswith(f"--set {assignment!r}: {words}")
