"""The ``dataclass`` of this package: frozen ones cost little until they are used.

The standard library compiles six methods of a frozen data class when its module is
loaded.  There are more than a hundred of them here, which took longer than reading a
boot log.  Import `dataclass` from here in place of `dataclasses`; type checkers see
the standard one.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**wanted: bool) -> Any:
        """Return the decorator that the standard library has for *wanted*.

        Classes that are frozen and slotted, and no more, share all methods but
        ``__init__``, and that one is compiled for the first instance.
        """
        if wanted == {"frozen": True, "slots": True}:
            return _frozen
        return dataclasses.dataclass(**wanted)


__all__ = ["dataclass"]


def _frozen(cls: type) -> type:
    """Make *cls* what ``dataclass(frozen=True, slots=True)`` makes of it."""
    made: Any = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    own = vars(cls)
    for name, method in _SHARED.items():
        if name not in own:
            setattr(made, name, method)
    made_type: type = made
    return made_type


def _first_init(self: Any, *args: Any, **kwargs: Any) -> None:
    """Compile the class's ``__init__``, and use it from now on."""
    cls = type(self)
    cls.__init__ = _init_of(cls)
    cls.__init__(self, *args, **kwargs)


def _init_of(cls: type) -> Any:
    """Return the ``__init__`` that takes a class's fields in their order."""
    names: dict[str, Any] = {"_put": object.__setattr__, "_missing": MISSING}
    parameters, lines = ["self"], []
    for one in fields(cls):
        parameter, value = one.name, one.name
        if one.default is not MISSING:
            names[f"_of_{one.name}"] = one.default
            parameter += f"=_of_{one.name}"
        elif one.default_factory is not MISSING:
            names[f"_of_{one.name}"] = one.default_factory
            parameter += "=_missing"
            value = f"_of_{one.name}() if {one.name} is _missing else {one.name}"
        parameters.append(parameter)
        lines.append(f"    _put(self, {one.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    body = "\n".join(lines) or "    pass"
    # The text is made of field names only, as in the standard library.
    exec(f"def __init__({', '.join(parameters)}):\n{body}", names)
    return names["__init__"]


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _refuse_to_set(self: Any, name: str, _: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), _values(self)


_SHARED = {
    "__init__": _first_init,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _repr,
    "__reduce__": _reduce,
}
"""Methods of every frozen class that does not have its own."""
