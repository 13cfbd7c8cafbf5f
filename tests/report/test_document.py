"""The JSON object: complete, strict, and as the schema says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mamba_advisor.advice.comparison import compare
from mamba_advisor.advice.document import SETTINGS
from mamba_advisor.advice.model import Advice, Interval
from mamba_advisor.report import render, render_comparison
from mamba_advisor.report.jsondoc import schema

PROMISED = """schema_version source sglang model outcome failure settings ranks
state_pool kv_pool draft_kv_pool budget_bytes token_equivalent balanced_context
concurrency self_check workload recommendation levers sweep residency runtime
findings"""
"""The keys that the interface promises for every document."""


def errors(document: object, name: str) -> list[str]:
    """Return what the schema's definition *name* has against *document*."""
    whole = schema()
    part = {"$defs": whole["$defs"], "$ref": f"#/$defs/{name}"}
    return [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(part).iter_errors(document)
    ]


def objects(node: object) -> Iterator[dict[str, Any]]:
    """Yield every object schema below *node*."""
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for child in node.values():
            yield from objects(child)
    elif isinstance(node, list):
        for child in node:
            yield from objects(child)


def test_every_document_keeps_to_the_schema(advice: Advice) -> None:
    """Whatever the kind of advice, the schema has nothing against it."""
    document = json.loads(render([advice], "json"))

    assert [] == errors(document, "advice")
    assert set(PROMISED.split()) <= document.keys()


def test_schema_is_a_schema_and_strict() -> None:
    """Every object is closed and requires all of its keys; settings are the one map."""
    whole = schema()

    Draft202012Validator.check_schema(whole)
    described = [node for node in objects(whole) if "properties" in node]
    assert len(described) > 20
    for node in described:
        assert node["additionalProperties"] is False
        assert list(node["properties"]) == node["required"]
    maps = [node for node in objects(whole) if "properties" not in node]
    assert [list(SETTINGS)] == [node["required"] for node in maps]


def test_schema_refuses_what_is_not_in_it(advices: dict[str, Advice]) -> None:
    """A key too many, a key too few and a wrong word are all errors."""
    document = advices["state-bound"].to_dict()
    fewer = {key: document[key] for key in document if key != "findings"}
    wrong = document | {"outcome": "fine"}

    assert [] == errors(document, "advice")
    assert ["$: Additional properties are not allowed ('more' was unexpected)"] == (
        errors(document | {"more": 1}, "advice")
    )
    assert ["$: 'findings' is a required property"] == errors(fewer, "advice")
    assert 1 == len(errors(wrong, "advice"))


def test_figures_are_those_of_the_advice(advices: dict[str, Advice]) -> None:
    """132 rows of 76,972,032 bytes: the log's 9.46 GB is good to ± 0.005 GiB."""
    document = json.loads(render([advices["state-bound"]], "json"))

    assert 131 == document["state_pool"]["slots"]
    assert {
        "value": 10_157_597_655,
        "low": 10_152_228_945,
        "high": 10_162_966_365,
        "lines": [31],
    } == document["state_pool"]["bytes"]
    assert "warning" == document["findings"][1]["severity"]
    assert {"value": 0.9, "origin": "log:12"} == (
        document["settings"]["mamba_full_memory_ratio"]
    )
    assert {"value": None, "origin": None} == document["settings"]["page_size"]
    assert ["--mamba-full-memory-ratio", "2.84"] == document["recommendation"]["flags"]


def test_a_plan_has_no_boot_to_tell_of(advices: dict[str, Advice]) -> None:
    """Outcome, failure, run and self-check of a plan are null, ranks empty."""
    document = advices["plan"].to_dict()

    assert [None] * 4 == [
        document[key] for key in ("outcome", "failure", "runtime", "self_check")
    ]
    assert [] == document["ranks"]


@pytest.mark.parametrize(("number", "kind"), [(0, list), (1, dict), (2, list)])
def test_one_object_or_an_array(
    number: int, kind: type, advices: dict[str, Advice]
) -> None:
    """Exactly one boot is an object; any other number an array, in order."""
    chosen = [advices["state-bound"], advices["failed"]][:number]

    document: Any = json.loads(render(chosen, "json"))

    shape = type(document)
    assert shape is kind
    names = [part["source"]["name"] for part in (document if number != 1 else [])]
    assert ["server.log", "crash.log"][: len(names)] == names
    assert Draft202012Validator(schema()).is_valid(document)


def test_no_number_is_not_a_number(advices: dict[str, Advice]) -> None:
    """Infinity and NaN are no JSON: they become null."""
    endless = Interval(2349.0, 2300.0, float("inf"))
    advice = replace(advices["state-bound"], token_equivalent=endless)
    point = replace(advice.curves, ratio_now=float("nan"))

    text = render([replace(advice, curves=point)], "json")

    document = json.loads(text, parse_constant=pytest.fail)
    assert document["token_equivalent"] is None
    assert document["curves"]["ratio_now"] is None
    assert [] == errors(document, "advice")


def test_text_cannot_break_out(advices: dict[str, Advice]) -> None:
    """Control characters of a name are escaped, the document stays ASCII."""
    hostile = 'a"b\x1b[31m\x7f\u202e\udc80'
    base = advices["state-bound"]
    advice = replace(base, boot=replace(base.boot, architecture=hostile))

    text = render([advice], "json")

    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert hostile == json.loads(text)["model"]["architecture"]


def test_comparison_keeps_to_the_schema(advices: dict[str, Advice]) -> None:
    """``compare`` holds two documents, the changes and the verdict."""
    comparison = compare(advices["failed"], advices["kv-bound"])

    document = json.loads(render_comparison(comparison, "json"))

    assert [] == errors(document, "comparison")
    assert "crash.log" == document["before"]["source"]["name"]
    slots = {"path": "state_pool.slots", "before": None, "after": 131}
    assert slots in document["changes"]
