"""Records behave as the standard library's frozen data classes do."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import pickle
import pkgutil
from typing import Any, ClassVar

import pytest

import mamba_advisor
from mamba_advisor.record import COMPILED, Record, field, replace


class Cheap(Record):
    """The class under test."""

    LIMIT: ClassVar[int] = 7
    first: int
    second: str = "two"
    third: tuple[int, ...] = ()
    fourth: dict[str, int] = field(default_factory=dict)

    @property
    def double(self) -> int:
        """Twice the first field."""
        return 2 * self.first


@dataclasses.dataclass(frozen=True)
class Costly:
    """The same, by the standard library."""

    LIMIT: ClassVar[int] = 7
    first: int
    second: str = "two"
    third: tuple[int, ...] = ()
    fourth: dict[str, int] = dataclasses.field(default_factory=dict)


class Hashable(Record):
    """A class of hashable fields, with a method of its own for one that is shared."""

    first: int
    second: str = "two"

    def __repr__(self) -> str:
        return "mine"


class Checked(Record):
    """A class that looks at its fields when it is made."""

    size: int

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.size < 0:
            raise ValueError("below 0")


class Short(Record):
    """A class whose last field may be left out."""

    size: int
    unit: str = "B"

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.size < 0:
            raise ValueError("below 0")


class Empty(Record):
    """A class without fields."""


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1,), {}),
        ((1, "x", (3,), {"a": 4}), {}),
        ((), {"first": 1, "third": (5, 6)}),
        ((1,), {"second": "y"}),
    ],
)
def test_same_as_the_standard_one(args: Any, kwargs: Any) -> None:
    """Fields, representation and `asdict` are those of the standard library."""
    cheap, costly = Cheap(*args, **kwargs), Costly(*args, **kwargs)

    assert dataclasses.asdict(costly) == dataclasses.asdict(cheap)
    assert repr(costly) == repr(cheap).replace("Cheap", "Costly")
    assert Cheap(*args, **kwargs) == cheap
    assert [one.name for one in dataclasses.fields(Costly)] == [
        one.name for one in dataclasses.fields(Cheap)
    ]


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2, 3, 4, 5), {}), ((1,), {"fifth": 5})]
)
def test_wrong_arguments(args: Any, kwargs: Any) -> None:
    """Missing, surplus and unknown arguments are a `TypeError`."""
    with pytest.raises(TypeError):
        Cheap(*args, **kwargs)


def test_values_in_their_order() -> None:
    """They are checked like others, and many make the constructor worth compiling."""
    with pytest.raises(ValueError, match="below 0"):
        Short(-1)
    assert Short(1) == Short(size=1, unit="B") == Short(1, "B")
    assert "__init__" not in vars(Short)
    for size in range(COMPILED):
        assert size == Short(size, "x").size
    assert "__init__" in vars(Short)
    with pytest.raises(ValueError, match="below 0"):
        Short(-1)


def test_default_factory_is_called_each_time() -> None:
    """Two instances do not share a default."""
    one, other = Cheap(1), Cheap(1)

    assert one.fourth is not other.fourth


def test_frozen() -> None:
    """Fields can neither be set nor deleted, and no other attribute be added."""
    cheap = Cheap(1)

    with pytest.raises(dataclasses.FrozenInstanceError):
        cheap.first = 2  # type: ignore[misc]  # that is the point
    with pytest.raises(dataclasses.FrozenInstanceError):
        del cheap.first
    with pytest.raises(AttributeError):
        cheap.other = 2  # type: ignore[attr-defined]  # likewise


def test_equality_needs_the_same_class() -> None:
    """Equal fields of another class are not equal; hashes go with the fields."""
    other: object = Costly(1)

    assert other != Cheap(1)
    assert Cheap(1) != Cheap(2)
    assert 2 == len({Hashable(1), Hashable(1), Hashable(2)})
    with pytest.raises(TypeError, match="unhashable"):
        hash(Cheap(1))


def test_copies() -> None:
    """`replace`, `copy` and pickle give equal instances, of every protocol."""
    cheap = Cheap(1, third=(2,), fourth={"a": 1})

    assert Cheap(9, third=(2,), fourth={"a": 1}) == replace(cheap, first=9)
    assert cheap == copy.copy(cheap) == copy.deepcopy(cheap)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert cheap == pickle.loads(pickle.dumps(cheap, protocol))


@pytest.mark.parametrize("changes", [{}, {"first": 9}, {"second": "x", "third": (1,)}])
def test_replace_as_the_standard_one(changes: dict[str, Any]) -> None:
    """The quick `replace` gives what the standard library's does."""
    cheap = Cheap(1, third=(2,), fourth={"a": 1})

    assert dataclasses.replace(cheap, **changes) == replace(cheap, **changes)
    assert Empty() == replace(Empty())


def test_replace_refuses_an_unknown_field() -> None:
    """A change to no field is a `TypeError`."""
    with pytest.raises(TypeError):
        replace(Cheap(1), fifth=5)  # type: ignore[call-arg]  # that is the point


def test_own_methods_stay() -> None:
    """A method of the class itself is not replaced, and properties work."""
    assert "mine" == repr(Hashable(1))
    assert 4 == Cheap(2).double
    assert 7 == Cheap.LIMIT


def test_check_after_the_fields_are_set() -> None:
    """``__post_init__`` is called, for `replace` too."""
    assert 3 == Checked(3).size
    with pytest.raises(ValueError, match="below 0"):
        replace(Checked(3), size=-1)


def test_no_fields() -> None:
    """A class without fields is one value."""
    assert Empty() == Empty()


class Open(Record, frozen=False):
    """A record whose fields can be set."""

    first: int
    second: list[int] = field(default_factory=list)


def test_not_frozen() -> None:
    """A record that is not frozen can be changed, and has no hash."""
    opened = Open(1)
    opened.first = 2
    opened.second.append(3)

    assert Open(2, [3]) == opened
    assert Open(2) != opened
    with pytest.raises(TypeError, match="unhashable"):
        hash(opened)


def test_compiled_constructor() -> None:
    """After some instances the constructor is compiled, and does the same."""
    made = [Compiled(1, missing=[number]) for number in range(2 * COMPILED)]

    assert "__init__" in vars(Compiled)
    assert [Compiled(1, "two", [number]) for number in range(len(made))] == made
    assert Compiled(1).missing is not Compiled(1).missing
    with pytest.raises(ValueError, match="below 0"):
        Compiled(-1)
    with pytest.raises(TypeError, match="missing 1 required"):
        Compiled()  # type: ignore[call-arg]  # that is the point
    with pytest.raises(TypeError, match="unexpected keyword"):
        Compiled(1, fourth=4)  # type: ignore[call-arg]  # likewise


class Compiled(Record):
    """A record of which many are made."""

    first: int
    values: str = "two"
    missing: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.first < 0:
            raise ValueError("below 0")


def test_fields_known_to_the_library_first() -> None:
    """Instances have their defaults also where the library was asked before."""
    names = [one.name for one in dataclasses.fields(Asked)]

    assert ["first", "second"] == names
    assert [] == Asked(1).second


class Asked(Record):
    """A record whose fields are asked for before any is made."""

    first: int
    second: list[int] = field(default_factory=list)


def test_unsupported_field() -> None:
    """Of `field` only a factory is understood; the rest is refused, not ignored."""
    with pytest.raises(TypeError, match="default"):
        field(default=1, init=False)

    class Odd(Record):
        """A record with a field of the standard library's."""

        first: int = dataclasses.field(default=1, init=False)

    with pytest.raises(TypeError, match="first"):
        Odd()


def test_replace_looks_at_what_it_changed() -> None:
    """A copy is checked as a new instance is, and defaults stay defaults."""
    assert Checked(2) == replace(Checked(1), size=2)
    assert Cheap(9) == replace(Cheap(1), first=9)
    with pytest.raises(ValueError, match="below 0"):
        replace(Checked(1), size=-1)


def test_records_cache_nothing() -> None:
    """A cached property would be copied to where it is wrong."""
    for module in pkgutil.walk_packages(mamba_advisor.__path__, "mamba_advisor."):
        if module.name != "mamba_advisor.__main__":
            importlib.import_module(module.name)
    kept = {
        (record.__name__, name)
        for record in Record.__subclasses__()
        for name, value in vars(record).items()
        if isinstance(value, functools.cached_property)
    }

    assert len(Record.__subclasses__()) > 100
    assert set() == kept
