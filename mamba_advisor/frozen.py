"""The ``dataclass`` of this package: frozen ones cost little until they are used a lot.

The standard library compiles six methods of a frozen data class when its module is
loaded.  There are more than a hundred of them here, which took longer than reading a
boot log; and compiling one method takes as long as a few dozen calls without.  Import
`dataclass` from here in place of `dataclasses`; type checkers see the standard one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any, TypeVar

Instance = TypeVar("Instance")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**wanted: bool) -> Any:
        """Return the decorator that the standard library has for *wanted*.

        Classes that are frozen and slotted, and no more, and are built on no other,
        get methods that are
        compiled when they have been called more than `SELDOM` times.
        """
        if wanted == {"frozen": True, "slots": True}:
            return _frozen
        return dataclasses.dataclass(**wanted)


__all__ = ["dataclass", "replace"]


def replace(instance: Instance, /, **changes: Any) -> Instance:
    """Return *instance* with *changes*, as `dataclasses.replace` does, only faster.

    Args:
        instance: Of a class that is frozen and slotted, and built on no other.
        changes: Field -> its other value.

    Raises:
        TypeError: A field is unknown.
    """
    changed: Instance = instance.__replace__(**changes)  # type: ignore[attr-defined]
    return changed


def _frozen(cls: type) -> type:
    """Make *cls* what ``dataclass(frozen=True, slots=True)`` makes of it."""
    if cls.__bases__ != (object,):
        # Fields of others come in: the library puts them together.
        return dataclasses.dataclass(frozen=True, slots=True)(cls)
    own = dict(vars(cls))
    declared = {
        name: _field(name, kind, own.pop(name, MISSING))
        for name, kind in cls.__annotations__.items()
        if not str(kind).startswith(("ClassVar", "typing.ClassVar"))
    }
    for name in ("__dict__", "__weakref__"):
        own.pop(name, None)
    names = tuple(declared)
    own |= {
        "__slots__": names,
        "__match_args__": names,
        "__dataclass_fields__": declared,
    }
    made: type = type(cls)(cls.__name__, cls.__bases__, _METHODS | own)
    made.__qualname__ = cls.__qualname__
    return made


def _field(name: str, kind: str, default: Any) -> dataclasses.Field[Any]:
    """Return the field of an annotation, as `dataclasses.fields` has them."""
    made: Any = default if isinstance(default, dataclasses.Field) else None
    if made is None:
        made = dataclasses.field(default=default)
    made.name, made.type, made.kw_only = name, kind, False
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
    result: dataclasses.Field[Any] = made
    return result


SELDOM = 40
"""Calls of a method of a class that are not worth compiling it."""

_calls: dict[tuple[type, str], int] = {}
"""(class, method) -> calls before it was compiled."""


class _WrongArgumentsError(Exception):
    """Arguments do not match the fields; the compiled method words the error."""


def _until_often(
    name: str, plain: Callable[..., Any], compiled: Callable[[type], str]
) -> Callable[..., Any]:
    """Return a method that takes the place of *name* while it is called seldom.

    Args:
        name: The method.
        plain: Does the same for any class, only slowly.
        compiled: Returns its text for a class.
    """

    def seldom(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls = type(self)
        calls = _calls[cls, name] = _calls.get((cls, name), 0) + 1
        if calls <= SELDOM:
            with suppress(_WrongArgumentsError):
                return plain(self, *args, **kwargs)
        known: dict[str, Any] = {
            "missing": MISSING,
            "turn": vars(object)["__class__"].__set__,
            "frozen": cls,
            "open": type(cls.__name__, (), {"__slots__": cls.__match_args__}),
        }
        for one in fields(cls):
            known[f"of_{one.name}"] = (
                one.default if one.default is not MISSING else one.default_factory
            )
        # The text is made of field names only, as in the standard library.
        exec(compiled(cls), known)
        setattr(cls, name, known[name])
        return getattr(self, name)(*args, **kwargs)

    return seldom


def _values(self: Any) -> tuple[Any, ...]:
    """Return the values of all fields."""
    return tuple([getattr(self, name) for name in self.__dataclass_fields__])


def _init_plainly(self: Any, *args: Any, **kwargs: Any) -> None:
    declared = self.__dataclass_fields__
    given = dict(zip(declared, args, strict=False))
    if len(args) > len(declared) or given.keys() & kwargs.keys():
        raise _WrongArgumentsError
    given |= kwargs
    for name, one in declared.items():
        if name in given:
            value = given.pop(name)
        elif one.default is not MISSING:
            value = one.default
        elif one.default_factory is not MISSING:
            value = one.default_factory()
        else:
            raise _WrongArgumentsError
        object.__setattr__(self, name, value)
    if given:
        raise _WrongArgumentsError
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _eq_plainly(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values(self) == _values(other)


def _hash_plainly(self: Any) -> int:
    return hash(_values(self))


def _reduce_plainly(self: Any) -> tuple[type, tuple[Any, ...]]:
    return self.__class__, _values(self)


def _replace_plainly(self: Any, **changes: Any) -> Any:
    values = {name: getattr(self, name) for name in self.__dataclass_fields__}
    return self.__class__(**values | changes)


def _init(cls: type) -> str:
    """Return the text of ``__init__``.

    The instance is one of a class with the same slots that is not frozen while its
    fields are set: a third of what it takes to get past ``__setattr__`` each time.
    """
    parameters, lines = ["self"], ["    turn(self, open)"]
    for one in fields(cls):
        parameter, value = one.name, one.name
        if one.default is not MISSING:
            parameter += f"=of_{one.name}"
        elif one.default_factory is not MISSING:
            parameter += "=missing"
            value = f"of_{one.name}() if {one.name} is missing else {one.name}"
        parameters.append(parameter)
        lines.append(f"    self.{one.name} = {value}")
    lines.append("    self.__class__ = frozen")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    body = "\n".join(lines)
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
    "__init__": _until_often("__init__", _init_plainly, _init),
    "__eq__": _until_often("__eq__", _eq_plainly, _eq),
    "__hash__": _until_often("__hash__", _hash_plainly, _hash),
    "__reduce__": _until_often("__reduce__", _reduce_plainly, _reduce),
    "__replace__": _until_often("__replace__", _replace_plainly, _replace),
    "__repr__": _repr,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
}
"""Methods of a frozen class that does not have its own."""
