"""Postponed modules are loaded at the first look, and by then are the real ones."""

from __future__ import annotations

import inspect
import platform
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from mamba_advisor.postponed import postpone


def run(script: str) -> str:
    """Run *script* in an interpreter of its own, and return what it prints."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


BOOT = Path(__file__).parent.parent / "fixtures" / "demo" / "boot.log"
HEAD = "import sys; from mamba_advisor.postponed import postpone; postpone('inspect');"


def test_nothing_is_loaded_before_it_is_used() -> None:
    """An import alone loads neither the module nor what it imports."""
    script = f"{HEAD} import inspect; print('tokenize' in sys.modules)"

    assert "False\n" == run(script)


@pytest.mark.parametrize(
    "use",
    [
        "import inspect; print(inspect.cleandoc(' a'), inspect.isclass(int))",
        "from inspect import cleandoc, isclass; print(cleandoc(' a'), isclass(int))",
        "import inspect as i; i.isclass; import inspect; print('a', i.isclass(int))",
    ],
)
def test_the_module_is_the_real_one(use: str) -> None:
    """Whoever uses it, and however, finds what is in it."""
    assert "a True\n" == run(f"{HEAD} {use}")


def test_the_real_one_takes_its_place() -> None:
    """After the first use, who imports it gets the module itself."""
    script = (
        f"{HEAD} import inspect; inspect.isclass(int);"
        "print(sys.modules['inspect'].__spec__.name, type(sys.modules['inspect']))"
    )

    assert "inspect <class 'module'>\n" == run(script)


def test_an_unknown_name() -> None:
    """A name that the module lacks is an `AttributeError`, as without it."""
    script = f"{HEAD} import inspect; print(hasattr(inspect, 'no_such_name'))"

    assert "False\n" == run(script)


def test_what_is_loaded_stays() -> None:
    """A module that is there already is not touched."""
    postpone("inspect")

    assert inspect is sys.modules["inspect"]


def test_the_program_loads_it_for_help_alone() -> None:
    """A boot log is read without; the texts of ``--help`` need it."""
    script = (
        "import os, sys; sys.argv = ['x', *{words!r}];"
        "os._exit = lambda status: print('tokenize' in sys.modules, file=sys.stderr);"
        "from mamba_advisor.__main__ import main; main()"
    )
    found = []
    for words in (["analyze", str(BOOT), "--format=json"], ["--help"]):
        command = [sys.executable, "-c", script.format(words=words)]
        ran = subprocess.run(command, check=False, capture_output=True, text=True)
        found.append(ran.stderr.split()[0])

    assert ["False", "True"] == found


def test_functions_imported_by_name() -> None:
    """They load the module when they are called, and do what its own do."""
    script = (
        "import sys; from mamba_advisor.postponed import postpone;"
        "postpone('pickle', 'dumps', 'loads'); from pickle import dumps, loads;"
        "print('_compat_pickle' in sys.modules, loads(dumps([1, {'a': 2}])));"
        "import pickle; print(pickle.dumps is dumps, type(pickle).__name__)"
    )

    assert "False [1, {'a': 2}]\nFalse module\n" == run(script)


def test_known_values() -> None:
    """They are had without loading the module, and are its own afterwards."""
    script = (
        "import sys; from mamba_advisor.postponed import postpone;"
        "postpone('platform', system=lambda: 'X'); import platform;"
        "print(platform.system()); platform.machine(); print(platform.system())"
    )
    known, real = run(script).split()

    assert "X" == known
    assert platform.system() == real


def test_forgotten_modules_are_loaded_anew() -> None:
    """Classes that functions stood for are the real ones behind `forget`."""
    script = (
        "import sys; from mamba_advisor.postponed import forget, postpone;"
        "postpone('uuid', 'UUID'); import uuid as early;"
        "forget('uuid', 'json'); from uuid import UUID;"
        "print(isinstance(UUID, type), early is sys.modules['uuid'], early.UUID(int=1))"
    )

    assert f"True False {uuid.UUID(int=1)}\n" == run(script)


def test_nothing_is_left_of_what_click_alone_is_content_with() -> None:
    """Once the program's own modules are loaded, every import gives classes."""
    script = (
        "import os, sys; sys.argv = ['x', '--version'];"
        "os._exit = lambda status: None;"
        "from mamba_advisor.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "from datetime import datetime; from threading import Thread, local\n"
        "from uuid import UUID\n"
        "print(all(isinstance(x, type) for x in (datetime, Thread, local, UUID)))"
    )

    assert "True" == run(script).split()[-1]


def test_hints_are_compiled_by_who_evaluates_them() -> None:
    """What a hint says is the same; a wrong one fails where it is evaluated."""
    script = (
        "import typing; from mamba_advisor.postponed import postpone_hints;"
        "postpone_hints();"
        "Row = typing.TypedDict('Row', {'a': 'list[int]', 'b': 'dict[str, int]'});"
        "print(typing.get_type_hints(Row));"
        "Odd = typing.TypedDict('Odd', {'a': 'no such'});"
        "exec('try: typing.get_type_hints(Odd)\\nexcept SyntaxError: print(1)')"
    )

    expected = "{'a': list[int], 'b': dict[str, int]}\n1\n"
    assert expected == run(script)


def test_no_hint_is_compiled_for_a_boot_log() -> None:
    """Of text only constructors are: named tuples of the library, and our own."""
    script = (
        "import os, sys; from mamba_advisor.__main__ import main;"
        f"sys.argv = ['x', 'analyze', {str(BOOT)!r}, '--format=json'];"
        "seen = []; os._exit = lambda _: print(*seen, sep='\\n', file=sys.stderr);"
        "is_text = lambda args: args[0] and args[1] == '<string>';"
        "hook = lambda event, args: event == 'compile' and is_text(args)"
        " and seen.append(bytes(args[0])[:12].decode());"
        "sys.addaudithook(hook); main()"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )

    assert {"lambda _cls,", "def __init__"} >= {*found.stderr.splitlines()}
