"""The forward model against what SGLang releases really decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.errors import InputError
from mamba_advisor.sizing import PoolSizes, SizingInputs, size_pools

RECORDS = json.loads(
    (Path(__file__).resolve().parent.parent / "fixtures/sizing/records.json").read_text(
        encoding="utf-8"
    )
)["records"]


def differences(sizes: PoolSizes, expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs that are not as *expected*, where absent means None."""
    every = {field.name: None for field in fields(PoolSizes) if field.name != "note"}
    wanted = every | dict(expected)
    found = {name: getattr(sizes, name) for name in wanted}
    return {name: found[name] for name in wanted if found[name] != wanted[name]}


@pytest.mark.parametrize(
    "record", RECORDS, ids=[f"{r['version']}-{r['scenario']}" for r in RECORDS]
)
def test_releases_decide_so(record: Mapping[str, Any]) -> None:
    """Every figure, warning and refusal of a release comes out, to the last bit."""
    inputs = SizingInputs.from_record(record["inputs"])

    assert {} == differences(size_pools(record["version"], inputs), record["outputs"])


def test_records_cover_every_refusal() -> None:
    """The records hold each release and each kind of refusal at least once."""
    kinds = {record["outputs"]["error"] for record in RECORDS}

    assert 15 == len({record["version"] for record in RECORDS})
    assert 7 == len(kinds), "six refusals, and none"


def test_whole_oracle(shared: Path) -> None:
    """All records of the oracle come out, with the floats as they are written."""
    path = shared / "oracle" / "sizing-cases.json"
    if not path.is_file():
        pytest.skip("needs the sizing oracle in ../shared")
    wrong = {}
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    for case in cases:
        outputs = dict(case["outputs"])
        outputs["error"] = outputs["error"] and outputs["error"]["kind"]
        sizes = size_pools(case["version"], SizingInputs.from_record(case["inputs"]))
        if found := differences(sizes, outputs):
            wrong[case["id"]] = found

    assert {} == wrong
    assert 420 == len(cases)


@pytest.mark.parametrize(
    ("first", "twin"), [(4, 5), (4, 6), (12, 11), (14, 15), (16, 15), (18, 19)]
)
def test_unrecorded_releases_do_as_their_neighbours(first: int, twin: int) -> None:
    """Releases without a record decide as the neighbour that has the same rules."""
    for record in RECORDS:
        if record["version"] != f"0.5.{first}":
            continue
        inputs = SizingInputs.from_record(record["inputs"])

        assert {} == differences(size_pools(f"0.5.{twin}", inputs), record["outputs"])


def test_rest_follows_from_memory() -> None:
    """Without the budget: 40 after weights − 80 × (1 − 0.85) = 28 GiB.

    K is then 28 × 0.9 ÷ 1.9 × 2³⁰ ÷ 100,000,000 = 142.4, less the padding slot.
    """
    inputs = SizingInputs(
        state_bytes_per_slot=100_000_000,
        num_hidden_layers=4,
        linear_layer_ids=[0, 1, 2],
        attention_layer_ids=[3],
        kv_heads_total=2,
        head_dim=128,
        v_head_dim=128,
        kv_dtype_bytes=2,
        context_len=4096,
        free_before_weights_gib=80.0,
        free_after_weights_gib=40.0,
        mem_fraction_static=0.85,
    )

    assert 141 == size_pools("0.5.20", inputs).max_mamba_cache_size


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"page": 1}, "unknown sizing input: page"),
        ({"head_dim": MISSING}, "missing sizing input: head_dim"),
    ],
)
def test_broken_record_is_refused(edit: dict[str, Any], message: str) -> None:
    """A name that is unknown or missing is named."""
    record = RECORDS[0]["inputs"] | edit
    record = {name: value for name, value in record.items() if value is not MISSING}

    with pytest.raises(InputError, match=message):
        SizingInputs.from_record(record)


@pytest.mark.parametrize("edit", [{"rest_memory_gib": None}, {"attention_kind": "mla"}])
def test_missing_figures_are_refused(edit: dict[str, Any]) -> None:
    """Neither the budget nor the width of an MLA token is ever guessed."""
    inputs = SizingInputs.from_record(RECORDS[0]["inputs"] | edit)

    with pytest.raises(InputError):
        size_pools("0.5.20", inputs)
