"""``server_args=``: keys at the top level, values without evaluation."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mamba_advisor import server_args
from mamba_advisor.server_args import MAX_ARGUMENTS, Brackets, parse_arguments

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
REAL = sorted((SHARED / "logs-real").glob("*.log"))


def test_repr_of_a_data_class() -> None:
    """Up to 0.5.18: key=value in parentheses."""
    arguments = parse_arguments(
        "ServerArgs(model_path='a/b', tp_size=4, dp_size=-1, mem_fraction_static=0.85, "
        "disable_radix_cache=False, max_mamba_cache_size=None, ratio=1e-05)"
    )

    assert {
        "model_path": "a/b",
        "tp_size": 4,
        "dp_size": -1,
        "mem_fraction_static": 0.85,
        "disable_radix_cache": False,
        "max_mamba_cache_size": None,
        "ratio": 1e-05,
    } == arguments


def test_dict() -> None:
    """From 0.5.19: quoted keys in braces."""
    arguments = parse_arguments("{'model_path': \"it's\", 'tp_size': 4, 'x': True}")

    assert {"model_path": "it's", "tp_size": 4, "x": True} == arguments


def test_keys_of_nested_records_are_not_taken() -> None:
    """Only the top level counts, whatever stands inside brackets or strings."""
    arguments = parse_arguments(
        "ServerArgs(a={'tp_size': 9, 'b': [1, (2, 3)]}, moe_dense_tp_size=2, "
        "c=<Mode.X: 1>, d='tp_size=7, dp_size=8', e=Obj(tp_size=6), tp_size=1)"
    )

    assert 1 == arguments["tp_size"]
    assert 2 == arguments["moe_dense_tp_size"]
    assert "{'tp_size': 9, 'b': [1, (2, 3)]}" == arguments["a"]
    assert "<Mode.X: 1>" == arguments["c"]
    assert "tp_size=7, dp_size=8" == arguments["d"]
    assert "Obj(tp_size=6)" == arguments["e"]
    assert "dp_size" not in arguments


def test_first_of_two_equal_keys_counts() -> None:
    """A second one is no news from SGLang."""
    assert {"a": 1} == parse_arguments("(a=1, a=2)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"(a='x\'y', b=1)", {"a": "x'y", "b": 1}),
        (r"(a='x\\', b=1)", {"a": "x\\", "b": 1}),
        (r"(a='l1\nl2', b=1)", {"a": "l1\nl2", "b": 1}),
        (r"(a='\x41', b=1)", {"a": r"\x41", "b": 1}),
        (r"""(a="q'q", b=1)""", {"a": "q'q", "b": 1}),
    ],
)
def test_escapes(text: str, expected: dict[str, object]) -> None:
    """Common escapes are resolved, others stay; none ends a string early."""
    assert expected == parse_arguments(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ServerArgs(a=1, b='x", {"a": 1}),
        ("ServerArgs(a=1, b=12", {"a": 1}),
        ("ServerArgs(a=1, b=[1, 2", {"a": 1}),
        ("ServerArgs(a=1, b", {"a": 1}),
        ("{'a': 1, 'b'", {"a": 1}),
        ("ServerArgs(", {}),
        ("", {}),
        ("ServerArgs(a=1) tail b=2", {"a": 1}),
    ],
)
def test_cut_input_gives_what_was_complete(
    text: str, expected: dict[str, object]
) -> None:
    """A value counts when something follows it."""
    assert expected == parse_arguments(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mem_fraction_static=0.78", {"mem_fraction_static": 0.78}),
        ("a=False ... b=True", {"a": False, "b": True}),
        ("a=1 b=2", {"a": 1, "b": 2}),
        ("'a': 1, 'b': 'x',", {"a": 1, "b": "x"}),
        ("a = 1, b = 2", {"a": 1, "b": 2}),
    ],
)
def test_fragments(text: str, expected: dict[str, object]) -> None:
    """Arguments copied out of the line stand without brackets."""
    assert expected == parse_arguments(text)


def test_source_is_no_argument() -> None:
    """Where only scalars count, a name in a line of source is left out."""
    text = "max_running_requests=self.max_running_requests, tp_size=2"

    assert {"tp_size": 2} == parse_arguments(text, scalars_only=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("server_args=ServerArgs(a=1, b=(2, 3))", True),
        ("server_args=ServerArgs(a=1, b=(2, 3)", False),
        ("server_args=ServerArgs(a=')'", False),
        ("server_args={'a': {}}", True),
        ("server_args={'a': {}", False),
        ("server_args=", False),
        ("server_args=ServerArgs(a=\"(\", b='\\'(')", True),
        ('server_args=ServerArgs(a=")', False),
        ("server_args=ServerArgs(a='b\\\\')", True),
        ("server_args=ServerArgs(a='b\\')", False),
    ],
)
def test_brackets(text: str, expected: bool) -> None:
    """The bracket that opens the object is closed, outside of strings.

    Wherever the line is broken into parts.
    """
    assert expected == Brackets().close(text)
    for width in (1, 2, 5):
        brackets = Brackets()
        parts = [text[at : at + width] for at in range(0, len(text), width)]

        assert expected == [brackets.close(part) for part in parts][-1]


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True),
        st.one_of(
            st.none(), st.booleans(), st.integers(-(10**17), 10**17),
            st.text(st.characters(min_codepoint=32, max_codepoint=126)),
        ),
        max_size=8,
    )
)  # fmt: skip
def test_what_python_prints_is_read_back(arguments: dict[str, object]) -> None:
    """A dict's own repr comes back as it was."""
    assert arguments == parse_arguments(repr(arguments))


@given(st.text(st.sampled_from("abc=:'\"\\,()[]{}<> .1T"), max_size=80))
def test_any_text_is_survived(text: str) -> None:
    """No input raises, and what is read are plain values."""
    for value in parse_arguments(f"({text}").values():
        assert value is None or isinstance(value, bool | int | float | str)


@pytest.mark.parametrize(
    "piece", ["a=(", "'a': '", "a=<", "\\'", "a='\\", "a=1 ", "(", "'\\\""]
)
def test_time_is_linear(piece: str) -> None:
    """A quarter of a megabyte of brackets or quotes takes no second."""
    text = "(" + piece * (250_000 // len(piece))
    start = time.process_time()
    parse_arguments(text)
    Brackets().close(text)

    assert time.process_time() - start < 1


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_real_line_is_read_to_its_end(path: Path) -> None:
    """Every key of a real line is read, and no nested one."""
    text = path.read_bytes().decode("utf-8", "replace")
    for line in re.findall(r"server_args=(\S[^\n]*)", text):
        arguments = parse_arguments(line)

        assert len(arguments) > 250
        assert isinstance(arguments["mem_fraction_static"], float)
        assert Brackets().close(line)


@pytest.mark.parametrize("odd", ["", "odd=[], "])
def test_arguments_without_end(odd: str) -> None:
    """So many are taken, whatever their form, and no more."""
    text = "".join(f"{odd.replace('odd', f'b{n}')}a{n}={n}, " for n in range(9000))

    assert MAX_ARGUMENTS == len(parse_arguments(f"({text}z=1)"))


def test_arguments_without_end_in_two_parts() -> None:
    """The bound holds for what stands on either side of another form together."""
    parts = [", ".join(f"{part}{n}={n}" for n in range(1500)) for part in "ab"]

    assert MAX_ARGUMENTS == len(parse_arguments(f"({', odd=[], '.join(parts)}, z=1)"))


PIECES = (
    *("a=1", "b='x y'", "c=None", "a=2", "'d': True", "'e': 0.5", "f=", "g = 3"),
    *("h='it''s'", "i=[1, 2]", "j={'k': 1, 'l': 2}", "m=<x: 'y'>", "n=1)", "é=1"),
    *("o='", 'p="q, r"', "s='\\''", "…", "...", "", "t=1.5.2", "2u=3", "v=()"),
    *("w=" + "x" * 130, "y" * 85 + "=1", "'z' : 1", "aa=1 bb=2", "cc=\n"),
)


COMMAS = (", ", ", ", ",", " , ", ", ,")


@given(
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from(COMMAS)).map("".join),
        max_size=8,
    ),
    st.sampled_from(("", "(", "{", "ServerArgs(")),
    st.sampled_from(("", ")", "}", "), z=1")),
)
@example(["a=1, ", "i=[1, 2], ", "a=2, ", "b=3, "], "(", "c=4)")
@example(["a=1,", "b=2, ", "c=3, ", "d=4, "], "(", "e=5)")
def test_usual_form_is_read_as_any_other(
    pieces: list[str], opening: str, closing: str
) -> None:
    """What is cut at its commas comes out as the scanner of any form has it."""
    text = opening + "".join(pieces) + closing
    read = parse_arguments(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_args._Usual, "take", lambda _, position, _taken: position)
        assert list(parse_arguments(text).items()) == list(read.items())


def test_arguments_as_printed_are_remembered_within_bounds() -> None:
    """What many logs print is looked at once; what never comes again is dropped."""
    known = server_args._KNOWN[""]
    for start in range(0, 3 * server_args.MAX_KNOWN, 1000):
        text = ", ".join(f"a{n}={n}" for n in range(start, start + 1000))
        read = parse_arguments(f"({text}, z={start})")
        assert read == {**{f"a{n}": n for n in range(start, start + 1000)}, "z": start}
        assert len(known) <= server_args.MAX_KNOWN
    long = "b" * 40 + "=" + "1" * server_args.BRIEF
    assert parse_arguments(f"({long}, {long}, c=1)") == {"b" * 40: "1" * 80, "c": 1}
    assert long not in known


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"({'n' * 80}=[1], {'m' * 81}=[2], a=1)", {"n" * 80: "[1]"}),
        ("(clé=[1], b=[2], c=3)", {"clé": "[1]", "b": "[2]", "c": 3}),
        ("(éa=[1], b=2)", {}),
        ("(a= <x, y>, b=2)", {"a": "<x, y>", "b": 2}),
        ("{xa': 1, 'b': 2, 'c': 3}", {}),
        ("{'a': 1, b': 2, 'c': 3}", {"a": 1}),
        ("(b=1, a=2, b=3, c=4)", {"b": 1, "a": 2, "c": 4}),
        ("(a=" + "9" * 18 + ", b=1)", {"a": int("9" * 18), "b": 1}),
        (
            f"(a=0.{'1' * 17}, b=0.{'1' * 18}, c=1)",
            {"a": float(f"0.{'1' * 17}"), "b": f"0.{'1' * 18}", "c": 1},
        ),
        ("(a=1e12, b=1e0012, c=1)", {"a": 1e12, "b": "1e0012", "c": 1}),
        (
            "(a=1e+, b=1e, c=-, d=.5, e=1.)",
            {"a": "1e+", "b": "1e", "c": "-", "d": ".5", "e": 1.0},
        ),
        ("(a=" + "1" * 16 + ".5, b=1)", {"a": "1" * 16 + ".5", "b": 1}),
        ("(a='\\', b=2', c=3)", {"a": "', b=2", "c": 3}),
        ("(a='\\n', b='\\\\', c=3)", {"a": "\n", "b": "\\", "c": 3}),
    ],
)
def test_names_and_values_at_their_limits(
    text: str, expected: dict[str, object]
) -> None:
    """Too long or of another form: a value stays text, a name ends the reading."""
    read = parse_arguments(text)

    assert list(expected.items()) == list(read.items())
    assert list(map(type, expected.values())) == list(map(type, read.values()))


def test_more_commas_than_are_cut_at() -> None:
    """Arguments behind a list of thousands are read as any others."""
    text = f"(a=[{', '.join('1' * (2 * MAX_ARGUMENTS + 100))}], b=2, c=[3], d=4)"
    read = parse_arguments(text)

    assert ["a", "b", "c", "d"] == list(read)
    assert (2, "[3]", 4) == (read["b"], read["c"], read["d"])


def test_digits_of_other_scripts() -> None:
    """They are digits to Python, in a number with a point and without."""
    assert {"a": 3.0, "b": 2.5} == parse_arguments("(a=\u0663, b=\u0662.\u0665)")
    assert float is type(parse_arguments("(a=\u0663, b=1)")["a"])


def test_names_given_again_and_again() -> None:
    """They count once, and what stands behind thousands of them is read."""
    text = f"({'a=1, ' * (MAX_ARGUMENTS + 500)}tp_size=2, dp_size=3)"

    assert {"a": 1, "tp_size": 2, "dp_size": 3} == parse_arguments(text)
