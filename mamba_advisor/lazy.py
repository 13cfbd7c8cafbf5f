"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
"""For type checkers True.  Every call begins here: nothing is imported that it might
be interrupted in.
"""

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: Its ``__name__``.
        modules: Public name -> the module inside the package that defines it.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
