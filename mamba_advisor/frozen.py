"""The ``dataclass`` of this package: frozen ones cost little until they are used.

The standard library compiles six methods of a frozen data class when its module is
loaded.  There are more than a hundred of them here, which took longer than reading a
boot log.  Import `dataclass` from here in place of `dataclasses`; type checkers see
the standard one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any, TypeVar

Instance = TypeVar("Instance")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**wanted: bool) -> Any:
        """Return the decorator that the standard library has for *wanted*.

        Classes that are frozen and slotted, and no more, get methods that are
        compiled when they are first called.
        """
        if wanted == {"frozen": True, "slots": True}:
            return _frozen
        return dataclasses.dataclass(**wanted)


__all__ = ["dataclass", "replace"]


def replace(instance: Instance, /, **changes: Any) -> Instance:
    """Return *instance* with *changes*, as `dataclasses.replace` does, only faster.

    Args:
        instance: Of a class that is frozen and slotted.
        changes: Field -> its other value.

    Raises:
        TypeError: A field is unknown.
    """
    changed: Instance = instance.__replace__(**changes)  # type: ignore[attr-defined]
    return changed


def _frozen(cls: type) -> type:
    """Make *cls* what ``dataclass(frozen=True, slots=True)`` makes of it."""
    made: Any = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    own = vars(cls)
    for name, method in _METHODS.items():
        if name not in own:
            setattr(made, name, method)
    result: type = made
    return result


def _at_first_call(name: str, compiled: Callable[[type], str]) -> Callable[..., Any]:
    """Return a method that takes the place of *name* until that is called.

    Args:
        name: The method.
        compiled: Returns its text for a class.
    """

    def first_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls = type(self)
        known: dict[str, Any] = {"missing": MISSING}
        for one in fields(cls):
            known[f"put_{one.name}"] = getattr(cls, one.name).__set__
            known[f"of_{one.name}"] = (
                one.default if one.default is not MISSING else one.default_factory
            )
        # The text is made of field names only, as in the standard library.
        exec(compiled(cls), known)
        setattr(cls, name, known[name])
        return getattr(self, name)(*args, **kwargs)

    return first_call


def _init(cls: type) -> str:
    """Return the text of ``__init__``."""
    parameters, lines = ["self"], []
    for one in fields(cls):
        parameter, value = one.name, one.name
        if one.default is not MISSING:
            parameter += f"=of_{one.name}"
        elif one.default_factory is not MISSING:
            parameter += "=missing"
            value = f"of_{one.name}() if {one.name} is missing else {one.name}"
        parameters.append(parameter)
        lines.append(f"    put_{one.name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    body = "\n".join(lines) or "    pass"
    return f"def __init__({', '.join(parameters)}):\n{body}"


def _eq(cls: type) -> str:
    """Return the text of ``__eq__``."""
    return (
        "def __eq__(self, other):\n"
        "    if other.__class__ is not self.__class__:\n"
        "        return NotImplemented\n"
        f"    return {_all(cls, 'self')} == {_all(cls, 'other')}"
    )


def _hash(cls: type) -> str:
    """Return the text of ``__hash__``."""
    return f"def __hash__(self):\n    return hash({_all(cls, 'self')})"


def _reduce(cls: type) -> str:
    """Return the text of ``__reduce__``, by which instances are copied and pickled."""
    return f"def __reduce__(self):\n    return self.__class__, {_all(cls, 'self')}"


def _replace(cls: type) -> str:
    """Return the text of ``__replace__``, which `copy.replace` knows from 3.13 on."""
    names = [one.name for one in fields(cls)]
    options = "".join(f", {name}=missing" for name in names)
    values = ", ".join(
        f"self.{name} if {name} is missing else {name}" for name in names
    )
    star = ", *" if names else ""
    return f"def __replace__(self{star}{options}):\n    return self.__class__({values})"


def _all(cls: type, name: str) -> str:
    """Return the text of a tuple of all fields of *name*."""
    return "(" + "".join(f"{name}.{one.name}, " for one in fields(cls)) + ")"


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, _: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS = {
    "__init__": _at_first_call("__init__", _init),
    "__eq__": _at_first_call("__eq__", _eq),
    "__hash__": _at_first_call("__hash__", _hash),
    "__reduce__": _at_first_call("__reduce__", _reduce),
    "__replace__": _at_first_call("__replace__", _replace),
    "__repr__": _repr,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
}
"""Methods of a frozen class that does not have its own."""
