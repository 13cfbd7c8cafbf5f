"""Find and read a ``config.json``; nothing is downloaded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mamba_advisor.errors import ConfigError, InputError
from mamba_advisor.record import Record

LARGEST_FILE = 16 << 20
"""Bytes of the largest file that is taken for a ``config.json``."""

QUANT_FILE = "hf_quant_config.json"
"""ModelOpt's file beside the config, which SGLang reads where the config is silent."""


class ConfigFile(Record):
    """A model's ``config.json``, and where it lies."""

    path: Path
    """The file."""

    config: Mapping[str, Any]
    """Its content; a quantisation file beside it is put in where it is silent."""

    @property
    def folder(self) -> Path:
        """The folder that would also hold the weights."""
        return self.path.parent


def read_config(name: str | os.PathLike[str]) -> ConfigFile:
    """Read the ``config.json`` that *name* stands for.

    Args:
        name: A file, a model's folder, or the name of a model in the local Hugging
            Face cache, for example ``"Qwen/Qwen3.5-9B"``.

    Raises:
        ConfigError: The file holds no JSON object.
        InputError: There is no such file, folder or cached model, or it cannot be
            read.
    """
    path = _find(os.fspath(name))
    config = _read_object(path)
    quant = path.parent / QUANT_FILE
    if "quantization_config" not in config and _is_file(quant):
        config = {**config, "quantization_config": _read_object(quant)}
    return ConfigFile(path, config)


def _find(name: str) -> Path:
    """Return the file behind *name*."""
    given = Path(os.path.expanduser(name))
    try:
        if given.is_dir():
            return _inside(given)
        if given.exists():
            return given
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name!r:.200} cannot be opened: {why}") from error
    snapshots = _cached(name)
    if snapshots:
        return snapshots[-1]
    raise InputError(
        f"{name!r:.200} is no file, no model folder and no model in the local Hugging "
        f"Face cache ({_cache_folder()}); nothing is downloaded: give the path of the "
        "model's config.json"
    )


def _inside(folder: Path) -> Path:
    path = folder / "config.json"
    if _is_file(path):
        return path
    # The cache's own folder of a model, models--ORG--NAME.
    found = _snapshots(folder)
    if found:
        return found[-1]
    raise InputError(f"{folder} holds no config.json")


def _cache_folder() -> Path:
    """Return the hub cache, by the environment as Hugging Face's library has it."""
    if hub := os.environ.get("HF_HUB_CACHE"):
        return Path(os.path.expanduser(hub))
    home = os.environ.get("HF_HOME", "~/.cache/huggingface")
    return Path(os.path.expanduser(home), "hub")


def _cached(name: str) -> list[Path]:
    """Return the configs of a cached model, the one in force last."""
    parts = name.split("/")
    if not 1 <= len(parts) <= 2 or any(part in ("", ".", "..") for part in parts):  # noqa: PLR2004
        return []
    return _snapshots(_cache_folder() / ("models--" + "--".join(parts)))


def _snapshots(folder: Path) -> list[Path]:
    """Return the configs under *folder*/snapshots: newest last, ``main`` behind it."""
    try:
        found = [
            path for path in folder.glob("snapshots/*/config.json") if _is_file(path)
        ]
        found.sort(key=lambda path: (path.stat().st_mtime, path))
        main = folder / "refs" / "main"
        if _is_file(main):
            commit = main.read_text(encoding="utf-8", errors="replace").strip()
            found.sort(key=lambda path: path.parent.name == commit)
    except (OSError, ValueError):
        return []
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _read_object(path: Path) -> Mapping[str, Any]:
    """Return the JSON object in *path*."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise InputError(f"{path} is too large for a config.json")
        content = json.loads(data)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply") from error
    except ValueError as error:
        # json's own errors, bytes that are no UTF-8, integers without end
        raise ConfigError(f"{path} is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path} holds no JSON object")
    return content
