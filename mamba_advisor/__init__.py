"""Read an SGLang boot log, and say how to split memory between its two pools."""

from __future__ import annotations

__version__ = "0.1.0"
