"""`Record`: data classes that cost little until instances are made.

The standard library looks at every field and compiles six methods when the module of
a data class is loaded.  There are more than a hundred of them here, which took longer
than reading a boot log.  A subclass of `Record` is a frozen data class to type
checkers, and ``fields``, ``replace`` and ``asdict`` of the standard library take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import Field, field, replace
else:

    def field(*, default_factory: Callable[[], Any]) -> Any:
        """Declare a field whose default is made anew for every instance."""
        return _Factory(default_factory)

    def replace(record: Record, /, **changes: Any) -> Record:
        """Return *record* with *changes*, as the standard library's does, but faster.

        Raises:
            TypeError: A field is unknown.
        """
        cls = type(record)
        shape = _shape(cls)
        if not shape.known.issuperset(changes):
            return cls(**{**vars(record), **changes})  # which raises
        copy = object.__new__(cls)
        copy.__dict__.update(record.__dict__)
        copy.__dict__.update(changes)
        if shape.checks:
            copy.__post_init__()
        return copy


__all__ = ["Record", "field", "replace"]

COMPILED = 160
"""Instances of a class from which on its constructor is worth compiling."""


_MISSING: Any = object()
"""In place of a value that was not given."""


class _Factory:
    """What `field` declares."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class _Shape:
    """The fields of a class, as the methods of `Record` need them."""

    __slots__ = (
        "_fitting",
        "_read",
        "checks",
        "defaults",
        "factories",
        "known",
        "least",
        "made",
        "names",
    )

    def __init__(self, cls: type) -> None:
        self.made = 0
        self.checks = hasattr(cls, "__post_init__")
        self.defaults: dict[str, Any] = {}
        self.factories: dict[str, Callable[[], Any]] = {}
        notes = cls.__annotations__  # its own only, from Python 3.10 on
        self.names = [
            name for name, note in notes.items() if "ClassVar[" not in str(note)
        ]
        self.known = frozenset(self.names)
        held = vars(cls)
        for name in self.names:
            if name not in held:
                continue
            default = held[name]
            kind = type(default)
            if kind is _Factory:
                self.factories[name] = default.make
            elif kind.__name__ == "Field":
                raise TypeError(f"{name}: takes the field function of this module")
            else:
                self.defaults[name] = default
        self.least = len(self.names)
        """Values that are enough, given in the order of the fields."""

        while self.least and self.names[self.least - 1] in self.defaults:
            self.least -= 1
        self._fitting: set[tuple[str, ...]] = set()
        self._read: Callable[[object], tuple[Any, ...]] | None = None

    def fits(self, given: tuple[str, ...]) -> bool:
        """Return whether the names *given* are fields, and all that are needed."""
        if given in self._fitting:
            return True
        optional = {*self.defaults, *self.factories}
        fits = {*given} <= self.known <= {*given, *optional}
        if fits:  # a call of the source code, of which there are not many
            self._fitting.add(given)
        return fits

    def values(self, record: Record) -> tuple[Any, ...]:
        """Return the values of all fields of *record*."""
        if self._read is None:
            # Of a single name it would return the value itself.
            self._read = attrgetter("__class__", "__class__", *self.names)
        return self._read(record)[2:]

    def constructor(self) -> Callable[..., None]:
        """Return the compiled ``__init__``."""
        known: dict[str, Any] = {"_missing": _MISSING}
        parameters, lines = ["self"], ["    _put = self.__dict__"]
        for name in self.names:
            parameter, value = name, name
            if name in self.defaults:
                parameter += f"=_of_{name}"
                known[f"_of_{name}"] = self.defaults[name]
            elif name in self.factories:
                parameter += "=_missing"
                value = f"_of_{name}() if {name} is _missing else {name}"
                known[f"_of_{name}"] = self.factories[name]
            parameters.append(parameter)
            lines.append(f"    _put[{name!r}] = {value}")
        if self.checks:
            lines.append("    self.__post_init__()")
        # The text is made of field names only, as in the standard library.
        exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines), known)
        made: Callable[..., None] = known["__init__"]
        return made


_SHAPES: dict[type, _Shape] = {}


def _shape(cls: type) -> _Shape:
    """Return the shape of *cls*."""
    shape = _SHAPES.get(cls)
    if shape is None:
        shape = _SHAPES[cls] = _Shape(cls)
    return shape


class _Fields:
    """The ``__dataclass_fields__`` of classes that nobody has asked for them yet."""

    def __get__(self, _: object, cls: type) -> Any:
        """Let the standard library look at the fields of *cls*, once."""
        import dataclasses

        if cls is Record:
            raise AttributeError("__dataclass_fields__")
        for name, make in _shape(cls).factories.items():
            setattr(cls, name, dataclasses.field(default_factory=make))
        cls.__doc__ = cls.__doc__ or cls.__name__  # it would compose one, at a cost
        dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
        return vars(cls)["__dataclass_fields__"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """A frozen data class: give fields as in one, without a decorator.

    ``class Cell(Record, frozen=False)`` may be changed.  Subclasses of subclasses are
    not supported, and of `field` only ``default_factory``.
    """

    def __init_subclass__(cls, *, frozen: bool = True) -> None:
        if not frozen:
            cls.__setattr__ = object.__setattr__  # type: ignore[method-assign]
            cls.__delattr__ = object.__delattr__  # type: ignore[method-assign]
            cls.__hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _Fields()

        def __init__(self, *args: Any, **given: Any) -> None:
            cls = type(self)
            shape = _SHAPES.get(cls) or _shape(cls)
            shape.made += 1
            if (
                not given
                and shape.least <= len(args) <= len(shape.names)
                and shape.made < COMPILED
            ):
                # Pairs, one by one, would make a dict of a kind that is slow to copy.
                self.__dict__.update(dict(zip(shape.names, args)))  # noqa: B905
                if shape.checks:
                    self.__post_init__()
                return
            values = given
            if args:
                values = given.copy()
                values.update(zip(shape.names, args))  # noqa: B905
            is_whole = len(values) == len(args) + len(given)
            if is_whole and shape.made < COMPILED and shape.fits(tuple(values)):
                if shape.factories:
                    for name, factory in shape.factories.items():
                        if name not in values:
                            values[name] = factory()
                # Defaults are found in the class.
                self.__dict__.update(values)
                if shape.checks:
                    self.__post_init__()
            else:
                # Where arguments do not fit, it raises what Python raises.
                cls.__init__ = shape.constructor()
                cls.__init__(self, *args, **given)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return name and value of every field, in their order."""
        shape = _shape(type(self))
        return zip(shape.names, shape.values(self), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(other) is not type(self):
            return NotImplemented
        if self.__dict__ == other.__dict__:
            return True  # otherwise a default may stand in the class
        shape = _shape(type(self))
        return shape.values(self) == shape.values(other)

    def __hash__(self) -> int:
        return hash(_shape(type(self)).values(self))

    def __reduce__(self) -> Any:
        return type(self), _shape(type(self)).values(self)

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in _shape(type(self)).names)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            raise _frozen(f"cannot assign to field {name!r}")

        def __delattr__(self, name: str) -> None:
            raise _frozen(f"cannot delete field {name!r}")


def _frozen(message: str) -> AttributeError:
    """Return the standard library's error; nobody else pays for its import."""
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(message)
