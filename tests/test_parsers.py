"""The built-in dialects: sound, apart from each other, and true to real boots."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from mamba_advisor.catalog import Catalog, builtin_files, load_catalog
from mamba_advisor.dialect import parse
from mamba_advisor.pattern import Pattern
from mamba_advisor.prefix import peel
from mamba_advisor.reader import LineReader, read_readings
from mamba_advisor.selftest import load
from mamba_advisor.shipped import _compile, sketch

FILES = dict(builtin_files())
SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
REAL = sorted((SHARED / "logs-real").glob("*.log"))
SAMPLES = [
    (dialect.name, pattern.name, sample.line)
    for where, text in FILES.items()
    for dialect in [parse(text, where)]
    for pattern in dialect.patterns
    for sample in pattern.samples
]

EVENTS = {
    *("server-args", "init-begin", "init-end", "memory-baseline", "weights-begin"),
    *("weights-end", "kv-dtype", "state-pool", "replayssm-rings", "checkpoint-pool"),
    *("kv-pool", "kv-noop", "swa-pool", "unified-buffer", "unified-subpool"),
    *("unified-banner", "unified-geometry", "unified-path", "pool-end"),
    *("graph-begin", "graph-end", "post-capture-tokens", "post-capture-limit"),
    *("capped", "reduced", "limit-finalized", "tokens-capped", "multimodal-reserve"),
    *("hybrid-backend", "tree-cache", "summary", "ready", "decode", "prefill"),
    *("retract", "runtime-exhausted", "mlx-pool", "foreign-engine"),
    *("notice-radix-disabled", "notice-overlap-disabled", "notice-speculation-48"),
    *("notice-page-size", "notice-decode-no-radix", "notice-extra-buffer-disabled"),
    *("notice-dcp", "notice-state-dtype", "notice-pd-slots", "notice-unbalanced"),
    *("notice-kv-below-context", "notice-chunk-small"),
    *("failure-state-cache", "failure-no-request", "failure-no-kv-memory"),
    *("failure-not-enough-memory", "failure-oom", "failure-graph-capture"),
    *("failure-limit-zero", "failure-capture-zero", "failure-strategy"),
    *("failure-unified-budget", "failure-swa", "failure-checkpoint-pool"),
    *("failure-exception", "failure-child", "failure-mlx"),
}
"""What the boot model builds on."""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """Return the built-in dialects."""
    return load_catalog(plugins=False)


@pytest.mark.parametrize("where", FILES)
def test_file_is_sound(where: str) -> None:
    """Each file passes its own samples and rejects, on the engine of users' files."""
    dialect = load(FILES[where], where)

    assert f"{dialect.name}.toml" == where
    assert dialect.title
    assert dialect.rejects


@pytest.mark.parametrize("where", FILES)
def test_sketch_is_what_the_file_says(where: str) -> None:
    """The quick way to read a built-in file gives what TOML gives."""
    sketched = sketch(FILES[where], where)
    parsed = parse(FILES[where], where)

    assert len(parsed.patterns) == len(sketched)
    for entry, pattern in zip(sketched, parsed.patterns, strict=True):
        assert replace(pattern, samples=()) == entry.pattern
        assert (pattern.event, pattern.anchor) == (entry.event, entry.anchor)
        assert (parsed.name, parsed.edited, parsed.rank) == (
            entry.dialect,
            entry.edited,
            entry.rank,
        )


def test_search_is_that_of_the_regex() -> None:
    """An anchor that a wording begins with is left out of what is compiled, no more."""
    shorter = 0
    lines = [line for _, _, line in SAMPLES]
    for where, text in FILES.items():
        for pattern in parse(text, where).patterns:
            search, last, ahead = _compile(pattern, where)
            regex = re.compile(pattern.regex)
            assert max(regex.groupindex.values(), default=0) == last
            shorter += ahead > 0
            near = [line for line in lines if pattern.anchor in line]
            for line in near:
                at = line.find(pattern.anchor)
                for tried in (
                    line,
                    line[at:],
                    f"x{line[at:]}",
                    f"_{line[at:]} {line[at:]}",
                    f"é{line[at:]} ·{line[at:]}",
                    line[:at] + pattern.anchor + line[at:],
                    line[: at + len(pattern.anchor)],
                    line[:-9],
                ):
                    expected, found = regex.search(tried), search(tried)
                    assert (expected is None) == (found is None), tried
                    if expected is not None and found is not None:
                        assert expected.start() == found.start() - ahead
                        assert expected.end() == found.end()
                        assert expected.groupdict() == found.groupdict()
    assert shorter > 50


@pytest.mark.parametrize("rest", ["+d", "?d", "*d", "{2}d", "(?P<x>d)?"])
def test_what_repeats_an_anchors_end_stays_with_it(rest: str) -> None:
    """There the anchor is not text that stands by itself."""
    regex = rf"(?<!\w)abc{rest}"
    pattern = Pattern("p", "e", regex, "abc", ("", ""), "", (), {}, ())
    search, _, ahead = _compile(pattern, "here")
    for line in ("abccd", "abc", "abcd", "xabcd abd", "ab abcc"):
        expected, found = re.search(regex, line), search(line)
        assert (expected is None) == (found is None)
        if expected is not None and found is not None:
            assert expected.start() == found.start() - ahead
            assert expected.end() == found.end()


@pytest.mark.parametrize("where", FILES)
def test_file_keeps_the_house_form(where: str) -> None:
    """Under 400 lines; an event, an anchor and a source for each pattern."""
    tables = tomllib.loads(FILES[where])["pattern"]

    assert FILES[where].count("\n") <= 400
    for table in tables:
        assert {"event", "anchor", "source"} <= table.keys(), table["name"]
        assert 1 <= len(table["sample"]) <= 3, table["name"]


def test_every_event_of_the_boot_model_has_a_wording(catalog: Catalog) -> None:
    """Nothing that a boot is built from is without a pattern."""
    assert set() == EVENTS - {entry.event for entry in catalog.entries}


@pytest.mark.parametrize(
    ("dialect", "name", "line"), SAMPLES, ids=[f"{d}-{n}" for d, n, _ in SAMPLES]
)
def test_no_other_file_takes_the_sample(
    dialect: str, name: str, line: str, catalog: Catalog
) -> None:
    """A line belongs to one pattern of one file, whatever file comes first."""
    reader = LineReader(catalog)
    readings = reader.feed(1, line) + reader.finish()
    patterns = {
        reading.pattern
        for reading in readings
        if reading.event != "failure-cause" or dialect == "sglang-traceback"
    }

    assert {f"{dialect}/{name}"} == patterns or (
        dialect == "sglang-edited" and {f"{dialect}/{name}"} <= patterns
    )
    assert not any(reading.doubtful for reading in readings)


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_release_of_a_real_boot_fits_every_wording(
    path: Path, catalog: Catalog
) -> None:
    """The range of each pattern that reads a real boot holds its release."""
    found = re.match(r"\d+\.\d+\.\d+", path.stem)
    assert found is not None
    release = key(found.group())
    outside = [
        (reading.line, reading.pattern)
        for reading in read_readings(path, catalog)
        if not key(reading.versions[0] or "0.0.0")
        <= release
        <= key(reading.versions[1] or "9.9.9")
    ]

    assert [] == outside


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_real_boot_is_read_exactly(path: Path, catalog: Catalog) -> None:
    """No line of a real boot needs the tolerant dialect, or is doubtful or unknown."""
    odd = [
        reading
        for reading in read_readings(path, catalog)
        if reading.edited or reading.doubtful or reading.event == "unknown-wording"
    ]

    assert [] == odd


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_no_pool_line_of_a_real_boot_is_lost(path: Path, catalog: Catalog) -> None:
    """Every line that starts with a known announcement gives a reading."""
    starts = (
        *("Mamba Cache is", "KV Cache is", "Memory pool end", "Load weight "),
        *("max_total_num_tokens=", "max_running_requests", "server_args="),
        *("Decode batch", "Prefill batch", "Capture target", "Capture draft"),
        *("Init ", "Memory baseline", "Tree cache", "Scheduler hit"),
    )
    read = {reading.line for reading in read_readings(path, catalog)}
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    announced = {
        number
        for number, line in enumerate(lines, 1)
        for spoken in peel(line)
        if spoken.message.startswith(starts)
        and not spoken.message.startswith("Init Unified Radix Cache")
    }

    assert set() == announced - read


def test_real_boots_are_there() -> None:
    """The recorded boots beside the checkout are used where they exist."""
    if not REAL:
        pytest.skip("no recorded boots beside this checkout")
    assert len(REAL) > 50


def key(release: str) -> tuple[int, ...]:
    """Return a release as numbers."""
    return tuple(int(part) for part in release.split("."))


def test_example_of_the_readme_is_sound() -> None:
    """The file that the README shows passes its own check."""
    readme = Path(__file__).resolve().parent.parent / "parsers" / "README.md"
    found = re.search(
        r"```toml\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None

    assert "my-build" == load(found.group(1), "README.md").name
