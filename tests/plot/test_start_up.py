"""Nobody pays for pictures who asks for none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", ["json", "table", "flags"])
def test_reports_do_not_import_pictures(form: str) -> None:
    """Only ``--plot`` imports what draws."""
    program = (
        "import sys\n"
        "from mamba_advisor.fleet import Task, analyze_one\n"
        "from mamba_advisor.advice.model import Workload\n"
        "from mamba_advisor.report import render\n"
        "task = Task(Workload(16384, 'option'), curves=True)\n"
        "(outcome,) = analyze_one('fixtures/demo/boot.log', task)\n"
        f"render([outcome.advice], {form!r})\n"
        "print([name for name in sys.modules if 'plot' in name or 'vl_' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert "[]" == done.stdout.strip()
