"""Cheap frozen data classes behave as the standard library's do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterator
from dataclasses import field
from typing import Any, ClassVar

import pytest

from mamba_advisor import frozen
from mamba_advisor.frozen import dataclass, replace


@pytest.fixture(
    autouse=True, scope="module", params=[1 << 30, 0], ids=["plain", "compiled"]
)
def seldom(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test sees methods that were never compiled, and then those that were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frozen, "SELDOM", request.param)
        yield


@dataclass(frozen=True, slots=True)
class Cheap:
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


@dataclasses.dataclass(frozen=True, slots=True)
class Costly:
    """The same, by the standard library."""

    LIMIT: ClassVar[int] = 7
    first: int
    second: str = "two"
    third: tuple[int, ...] = ()
    fourth: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hashable:
    """A class of hashable fields, with a method of its own for one that is shared."""

    first: int
    second: str = "two"

    def __repr__(self) -> str:
        return "mine"


@dataclass(frozen=True, slots=True)
class Checked:
    """A class that looks at its fields when it is made."""

    size: int

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.size < 0:
            raise ValueError("below 0")


@dataclass(frozen=True, slots=True)
class Empty:
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
    assert not hasattr(cheap, "__dict__")


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
        replace(Cheap(1), fifth=5)


def test_pattern_matching() -> None:
    """Instances can be taken apart by position."""
    match Cheap(1, "x"):
        case Cheap(first, second):
            taken = (first, second)

    assert (1, "x") == taken


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


def test_a_class_on_another_has_the_fields_of_both() -> None:
    """A frozen class that is built on another one is the standard library's."""

    @dataclasses.dataclass(frozen=True, slots=True)
    class Base:
        """What comes first."""

        first: int

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        """What comes second."""

        second: int = 2

    assert (1, 2) == dataclasses.astuple(Derived(1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived(1).second = 3  # type: ignore[misc]  # that is the point


def test_other_kinds_are_the_standard_ones() -> None:
    """What is not both frozen and slotted, or is ordered, is left to the library."""

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        """An ordered class."""

        first: int

    @dataclass(slots=True)
    class Open:
        """A class whose fields can be set."""

        first: int

    opened = Open(1)
    opened.first = 2

    assert Ordered(1) < Ordered(2)
    assert 2 == opened.first
