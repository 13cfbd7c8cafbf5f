"""Many logs: pure work on one log, spread over cores, a cluster, and URLs."""

from __future__ import annotations

import gzip
import pickle
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mamba_advisor.advice.model import Workload
from mamba_advisor.cli.sources import expand
from mamba_advisor.errors import InputError
from mamba_advisor.fleet import (
    Engine,
    Outcome,
    Task,
    analyze_fleet,
    analyze_one,
    over_cluster,
    over_cores,
)

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
TASK = Task(Workload(16384, "option"))


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    """Return three logs, the middle one without a boot, and one that is missing."""
    for name in ("a.log", "c.log"):
        shutil.copy(DEMO, tmp_path / name)
    (tmp_path / "b.log").write_text("nothing of a server\n")
    return [str(tmp_path / name) for name in ("a.log", "b.log", "c.log", "d.log")]


def statuses(found: Iterator[tuple[Outcome, ...]]) -> list[int]:
    """Return the exit status of every outcome."""
    return [outcome.status for outcomes in found for outcome in outcomes]


def test_one_log() -> None:
    """The demo's boot: 51 slots at 3 per request are 17 requests at a time."""
    (outcome,) = analyze_one(str(DEMO), TASK)

    assert (0, "", ()) == (outcome.status, outcome.error, outcome.notes)
    assert outcome.advice is not None
    assert 17 == outcome.advice.concurrency.effective


def test_work_and_outcome_can_be_sent_elsewhere() -> None:
    """Work pickles, and so does what comes of it, unchanged."""
    work = pickle.loads(pickle.dumps(partial(analyze_one, task=TASK)))
    outcomes = work(str(DEMO))

    assert outcomes == pickle.loads(pickle.dumps(outcomes))


@pytest.mark.parametrize("engine", [map, over_cores], ids=["here", "cores"])
def test_order_and_errors_are_kept(engine: Engine, logs: list[str]) -> None:
    """Outcomes come in the order of the logs; what fails is an outcome, too."""
    found = list(analyze_fleet(logs, TASK, engine))

    assert logs == [outcomes[0].source for outcomes in found]
    assert [0, 3, 0, 2] == statuses(iter(found))
    assert all(("d.log" in one[0].error) == (one[0].status == 2) for one in found)


def test_cluster(logs: list[str]) -> None:
    """A Dask cluster gives the same as this process."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        protocol="tcp",
        host="127.0.0.1",
    ) as cluster:
        found = list(analyze_fleet(logs, TASK, over_cluster(cluster.scheduler_address)))

    assert list(analyze_fleet(logs, TASK)) == found


def test_no_cluster() -> None:
    """A wrong address is an error of the call, in words."""
    pytest.importorskip("distributed", reason="Dask is not installed")

    with pytest.raises(InputError, match="no Dask scheduler at 'nowhere'"):
        list(over_cluster("nowhere")(partial(analyze_one, task=TASK), ["a"]))


def test_urls() -> None:
    """A pattern in a URL is expanded, the files are unpacked, and named by URL."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    store = fsspec.filesystem("memory")
    store.pipe("/boots/one.log.gz", gzip.compress(DEMO.read_bytes()))
    store.pipe("/boots/two.log", DEMO.read_bytes())

    urls = expand(["memory://boots/*"])
    found = [outcome for url in urls for outcome in analyze_one(url, TASK)]

    assert ["memory:///boots/one.log.gz", "memory:///boots/two.log"] == urls
    assert [0, 0] == [outcome.status for outcome in found]
    names = [one.advice.boot.source.name for one in found if one.advice is not None]
    assert urls == names


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("memory://none/*", "no file matches"),
        ("gopher://host/boot.log", "gopher"),
    ],
)
def test_url_that_leads_nowhere(url: str, reason: str) -> None:
    """The message names the URL and what is wrong with it."""
    pytest.importorskip("fsspec", reason="fsspec is not installed")

    with pytest.raises(InputError, match=reason):
        expand([url])


def test_missing_remote_file() -> None:
    """A file that is not there is an outcome with exit status 2."""
    pytest.importorskip("fsspec", reason="fsspec is not installed")

    (outcome,) = analyze_one("memory://none.log", TASK)

    assert 2 == outcome.status
    assert "memory://none.log" in outcome.error


def test_boot_that_is_not_there() -> None:
    """Asking for the second start of a log with one is exit status 3."""
    (outcome,) = analyze_one(str(DEMO), Task(boot=2))

    assert 3 == outcome.status
    assert "no server start 2" in outcome.error


def test_log_cut_in_mid_stream(tmp_path: Path) -> None:
    """A compressed log that is cut is advised on as far as it goes; that is said."""
    cut = tmp_path / "cut.log.gz"
    packed = gzip.compress(DEMO.read_bytes(), compresslevel=1)
    cut.write_bytes(packed[: len(packed) - 200])

    (outcome,) = analyze_one(str(cut), TASK)

    assert outcome.advice is not None
    assert 1 == len(outcome.notes)
