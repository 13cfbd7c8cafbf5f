"""Modules that are loaded when somebody uses them, not when somebody imports them.

click imports ``inspect`` for its help texts only, and with it the compiler's grammar,
the disassembler and the tokenizer: a twelfth of what a boot log takes.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Postponed(ModuleType):
    """Stands for a module until the first look at what is in it."""

    def __getattr__(self, name: str) -> Any:
        """Load the module, take over what it holds, and return its *name*."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def postpone(name: str) -> None:
    """Let ``import NAME`` load nothing yet, where it is not loaded already.

    Args:
        name: A module of the standard library, without a dot.
    """
    sys.modules.setdefault(name, _Postponed(name))
