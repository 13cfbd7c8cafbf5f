"""Modules that are loaded when somebody uses them, not when somebody imports them.

click imports ``inspect`` for its help texts only, and with it the compiler's grammar,
the disassembler and the tokenizer: a twelfth of what a boot log takes.  It imports
``datetime`` and ``uuid`` for kinds of options that this program has not, and
``threading`` for a name of ``_thread``.  rich imports ``pickle`` and ``random`` for
links.  Both compile type hints that are text, which nobody evaluates; the first call of
`compile` makes all types of the syntax tree.
"""

from __future__ import annotations

import _thread
import sys
import typing
from importlib import import_module
from types import ModuleType
from typing import Any


class _Postponed(ModuleType):
    """Stands for a module until the first look at what is in it."""

    def __getattr__(self, name: str) -> Any:
        """Load the module, take over what it holds, and return its *name*."""
        if name == "__path__":  # every import asks whether this is a package
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def postpone(name: str, *functions: str, **known: Any) -> None:
    """Let ``import NAME`` load nothing yet, where it is not loaded already.

    Args:
        name: A module of the standard library, no package.
        *functions: Functions of it that may be imported by name without loading it:
            they load it when they are called.
        **known: What else of it can be had without loading it.
    """
    if name in sys.modules:
        return
    module = _Postponed(name)

    def later(function: str) -> Any:
        def call(*args: Any, **settings: Any) -> Any:
            return module.__getattr__(function)(*args, **settings)

        return call

    vars(module).update(known, **{function: later(function) for function in functions})
    sys.modules[name] = module


FOR_CLICK = ("datetime", "threading", "uuid")
"""Modules in which functions stand for classes: click alone is content with that."""


def postpone_all() -> None:
    """Postpone what the libraries of this program import and it does not use."""
    postpone("datetime", "datetime")
    postpone("uuid", "UUID")
    postpone("threading", local=_thread._local)
    postpone("inspect")
    postpone("copy")
    postpone("gettext", "gettext", "ngettext")
    postpone("pickle", "dumps", "loads")
    postpone("random", "getrandbits", "randint")
    postpone_hints()


def postpone_hints() -> None:
    """Let type hints that are text be compiled when somebody evaluates them.

    `typing` compiles them when they are written, and evaluates what came of it; it
    evaluates text as well.
    """
    vars(typing)["compile"] = lambda source, *_: source


def forget(*names: str) -> None:
    """Let the next import of modules load them, if they are postponed still."""
    for name in names:
        if isinstance(sys.modules.get(name), _Postponed):
            del sys.modules[name]
