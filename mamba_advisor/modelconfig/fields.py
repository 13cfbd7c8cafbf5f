"""Read single fields of a ``config.json`` that nobody vouches for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mamba_advisor.errors import ConfigError

LARGEST = 1 << 31
"""Largest number that a field of a model's geometry may hold."""

MOST_LAYERS = 4096
"""Most layers that a model may have; published ones have up to 128."""

LONGEST_QUOTE = 60
"""Characters of a value that a message quotes."""


class Fields:
    """A JSON object whose fields are checked when they are read.

    Every reader refuses a value of another type or out of range with a
    `ConfigError` that names the field; ``null`` counts as absent, as it does for
    SGLang's configuration classes.
    """

    def __init__(self, values: object, path: str = "") -> None:
        if not isinstance(values, Mapping):
            raise ConfigError(f"the config is {_quote(values)}, no JSON object")
        self._values: Mapping[str, Any] = values
        self._path = path
        self.notes: list[str] = []
        """What was taken without standing in the file, a sentence each."""

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def _raw(self, name: str) -> Any:
        """Return the value of *name*; refuse a missing one."""
        value = self._values.get(name)
        if value is None:
            raise ConfigError(f"the config lacks {self._path}{name}")
        return value

    def _refuse(self, name: str, value: object, wanted: str) -> ConfigError:
        return ConfigError(f"{self._path}{name} is {_quote(value)}, not {wanted}")

    def count(
        self,
        name: str,
        default: int | None = None,
        *,
        low: int = 1,
        high: int = LARGEST,
    ) -> int:
        """Return a whole number.

        Args:
            name: The field.
            default: What SGLang takes without the field; None: it cannot go on.
            low: Smallest value that makes sense.
            high: Largest value that makes sense.

        Raises:
            ConfigError: The field is missing, no integer, or out of range.
        """
        if default is not None and name not in self:
            self.notes.append(
                f"{self._path}{name} is not in the config: SGLang's default "
                f"{default} is taken"
            )
            return default
        value = self._raw(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._refuse(name, value, "a whole number")
        if not low <= value <= high:
            raise self._refuse(name, value, f"between {low} and {high}")
        return value

    def layer_count(self, default: int | None = None) -> int:
        """Return ``num_hidden_layers``.

        Raises:
            ConfigError: It is missing, no integer, or out of range.
        """
        return self.count("num_hidden_layers", default, high=MOST_LAYERS)

    def number(self, name: str) -> float:
        """Return a finite positive number.

        Raises:
            ConfigError: The field is missing, no number, or not above 0.
        """
        value = self._raw(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._refuse(name, value, "a number")
        # NaN fails every comparison, infinity the second one.
        if not 0 < value <= LARGEST:
            raise self._refuse(name, value, f"between 0 and {LARGEST}")
        return float(value)

    def flag(self, name: str) -> bool:
        """Return a switch, False when the field is absent.

        Raises:
            ConfigError: The field is neither true nor false.
        """
        value = self._values.get(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self._refuse(name, value, "true or false")
        return value

    def word(self, name: str, default: str | None = None) -> str:
        """Return a string.

        Raises:
            ConfigError: The field is missing without a default, or no string.
        """
        if default is not None and name not in self:
            return default
        value = self._raw(name)
        if not isinstance(value, str):
            raise self._refuse(name, value, "a string")
        return value

    def kind(self, name: str) -> Literal["absent", "count", "list", "other"]:
        """Return the shape of a field that may be written in several ways."""
        value = self._values.get(name)
        if value is None:
            return "absent"
        if isinstance(value, int) and not isinstance(value, bool):
            return "count"
        return "list" if isinstance(value, list | tuple) else "other"

    def entries(self, name: str) -> tuple[int | str, ...]:
        """Return a list of numbers and words, one for a layer.

        Raises:
            ConfigError: The field is missing, no list, too long, or holds
                something else.
        """
        value = self._raw(name)
        if not isinstance(value, list | tuple):
            raise self._refuse(name, value, "a list")
        if len(value) > MOST_LAYERS:
            raise self._refuse(name, value, f"at most {MOST_LAYERS} long")
        for entry in value:
            if isinstance(entry, bool) or not isinstance(entry, int | str):
                raise self._refuse(name, entry, "a list of numbers or words")
        return tuple(value)

    def words(self, name: str) -> tuple[str, ...]:
        """Return a list of words, one for a layer.

        Raises:
            ConfigError: The field is missing, no list, or holds something else.
        """
        found = self.entries(name)
        for entry in found:
            if not isinstance(entry, str):
                raise self._refuse(name, entry, "a list of words")
        return tuple(str(entry) for entry in found)

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers.

        Raises:
            ConfigError: The field is missing, no list, or holds something else.
        """
        found = self.entries(name)
        for entry in found:
            if not isinstance(entry, int):
                raise self._refuse(name, entry, "a list of whole numbers")
        return tuple(int(entry) for entry in found)

    def section(self, name: str) -> Fields:
        """Return a nested object; its notes are kept with this one's.

        Raises:
            ConfigError: The field is missing or no object.
        """
        value = self._raw(name)
        if not isinstance(value, Mapping):
            raise self._refuse(name, value, "an object")
        nested = Fields(value, f"{self._path}{name}.")
        nested.notes = self.notes
        return nested

    def under(self, fallback: Fields) -> Fields:
        """Return these fields with those of *fallback* where they are silent."""
        merged = {**fallback._values, **self._values}
        fields = Fields(merged, self._path)
        fields.notes = self.notes
        return fields


def _quote(value: object) -> str:
    """Return *value* for a message: short, whatever it is."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, int) and value.bit_length() > LONGEST_QUOTE:
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"
