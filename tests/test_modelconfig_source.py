"""Where a config is looked for; nothing is downloaded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mamba_advisor.errors import ConfigError, InputError
from mamba_advisor.modelconfig import read_config

MODEL = {"model_type": "qwen3_next", "full_attention_interval": 4}


def write(folder: Path, content: object = MODEL, name: str = "config.json") -> Path:
    """Write *content* as JSON into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def cached(home: Path, commit: str, content: object = MODEL) -> Path:
    """Write a config into a hub cache under *home*."""
    return write(
        home / "hub" / "models--Qwen--Qwen3-Next" / "snapshots" / commit, content
    )


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give every test an empty Hugging Face home, and return it."""
    home = tmp_path / "huggingface"
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(home))
    return home


def test_path_of_the_file(tmp_path: Path) -> None:
    """A file is read whatever its name."""
    path = write(tmp_path / "m", name="geometry.json")

    found = read_config(path)

    assert (path, MODEL) == (found.path, found.config)
    assert tmp_path / "m" == found.folder


def test_home_that_nobody_has() -> None:
    """A tilde and a user that does not exist is a name like any other."""
    with pytest.raises(InputError, match="is no file, no model folder"):
        read_config("~nobody-of-this-name/config.json")


def test_model_folder(tmp_path: Path) -> None:
    """A folder stands for the config.json inside."""
    path = write(tmp_path / "m")

    assert path == read_config(str(tmp_path / "m")).path


def test_cached_model(no_cache: Path) -> None:
    """A name finds the snapshot that refs/main points to."""
    wanted = cached(no_cache, "aaa", {**MODEL, "head_dim": 1})
    newer = cached(no_cache, "bbb", {**MODEL, "head_dim": 2})
    os.utime(wanted, (1, 1))
    os.utime(newer, (2, 2))

    assert newer == read_config("Qwen/Qwen3-Next").path
    refs = no_cache / "hub" / "models--Qwen--Qwen3-Next" / "refs"
    refs.mkdir()
    (refs / "main").write_text("aaa\n")
    assert wanted == read_config("Qwen/Qwen3-Next").path


def test_cache_of_the_environment(
    no_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HF_HUB_CACHE wins over HF_HOME."""
    path = cached(no_cache, "aaa")
    monkeypatch.setenv("HF_HOME", "/nowhere")
    monkeypatch.setenv("HF_HUB_CACHE", str(no_cache / "hub"))

    assert path == read_config("Qwen/Qwen3-Next").path


def test_cache_folder_of_a_model(no_cache: Path) -> None:
    """The cache's own folder of a model is found through its snapshot."""
    path = cached(no_cache, "aaa")

    assert path == read_config(path.parents[2]).path


def test_quantisation_file_beside_it(tmp_path: Path) -> None:
    """ModelOpt's file stands in where the config says nothing of quantisation."""
    quant = {"quantization": {"kv_cache_quant_algo": "FP8"}}
    write(tmp_path, quant, "hf_quant_config.json")
    path = write(tmp_path)

    assert quant == read_config(path).config["quantization_config"]

    path = write(tmp_path, {**MODEL, "quantization_config": {"quant_method": "fp8"}})
    assert {"quant_method": "fp8"} == read_config(path).config["quantization_config"]


@pytest.mark.parametrize(
    "name",
    ["Qwen/Unknown", "nowhere/at/all", "", "..", "../..", "a\0b", "x" * 5000],
)
def test_nothing_of_that_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message quotes the name, and says that nothing is downloaded."""
    monkeypatch.chdir("/")

    with pytest.raises(InputError) as caught:
        read_config(name)

    assert 2 == caught.value.exit_code
    assert len(str(caught.value)) < 600


def test_name_of_nothing_says_where_it_looked(no_cache: Path) -> None:
    """The cache folder and the way out are named."""
    with pytest.raises(InputError) as caught:
        read_config("Qwen/Unknown")

    assert str(no_cache / "hub") in str(caught.value)
    assert "nothing is downloaded" in str(caught.value)


def test_folder_without_a_config(tmp_path: Path) -> None:
    """An empty folder is no model."""
    with pytest.raises(InputError, match=r"holds no config\.json"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is no JSON"),
        (b"{", "is no JSON"),
        (b"\xff\xfe\x00\x01", "is no JSON"),
        (b"[1, 2]", "holds no JSON object"),
        (b"7", "holds no JSON object"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"head_dim": ' + b"9" * 6000 + b"}", "is no JSON"),
    ],
)
def test_unreadable_content(tmp_path: Path, content: bytes, words: str) -> None:
    """What is no JSON object ends in one line."""
    path = tmp_path / "config.json"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=words):
        read_config(path)


def test_file_of_a_gigabyte(tmp_path: Path) -> None:
    """A file of weights given by mistake is not loaded."""
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.truncate(1 << 30)

    with pytest.raises(InputError, match="too large"):
        read_config(path)
