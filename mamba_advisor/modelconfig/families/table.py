"""The families: by which ``model_type`` SGLang knows them, and since when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.record import Record


class Family(Record):
    """A family of models, and how its config is read."""

    name: str
    since: str
    """First release that treats it as a hybrid."""

    reader: str
    """Module of this package and function that reads a config; loaded when used."""

    tower: str = ""
    """Section of the text model; empty: the root.  Text-only exports of a wrapper
    have the same fields at the root.
    """

    reads_dtype: bool = False
    """Its class reads ``mamba_ssm_dtype`` from the config (0.5.9+)."""

    merges_root: bool = False
    """Root fields stand in for those that the section lacks."""

    def read(self, tower: Fields) -> Geometry:
        """Return what the text model's fields amount to.

        Raises:
            ConfigError: A field is missing or unusable.
            NotHybridError: The model has no linear layers.
        """
        module, name = self.reader.split(".")
        package = import_module(f"{__package__}.{module}")
        read: Callable[[Fields], Geometry] = getattr(package, name)
        return read(tower)


_TEXT = "text_config"

QWEN3_5 = Family("qwen3_5", "0.5.9", "gdn.read_qwen3_5", _TEXT, True)
QWEN3_5_MOE = Family("qwen3_5_moe", "0.5.9", "gdn.read_qwen3_5", _TEXT, True)
QWEN4_EXP = Family("qwen4_exp", "0.5.20", "gdn.read_qwen4_exp", _TEXT, True)
NEMOTRON_VL = Family(
    "nemotron_h_nano_vl", "0.5.6", "mamba.read_nemotron_h", "llm_config", True
)
NEMOTRON_OMNI = Family(
    "nemotron_h_omni", "0.5.20", "mamba.read_nemotron_h", "llm_config", True
)
BAILING_V3 = Family("bailing_hybrid_v3", "0.5.19", "kda.read_bailing_v3")
INKLING = Family("inkling", "0.5.16", "conv.read_inkling", _TEXT)

FAMILIES: Mapping[str, Family] = {
    "qwen3_next": Family("qwen3_next", "0.5.2", "gdn.read_qwen3_next", "", True),
    "qwen3_5": QWEN3_5,
    "qwen3_5_text": Family("qwen3_5", "0.5.18", "gdn.read_qwen3_5", _TEXT, True),
    "qwen3_5_moe": QWEN3_5_MOE,
    "qwen3_5_moe_text": Family(
        "qwen3_5_moe", "0.5.18", "gdn.read_qwen3_5", _TEXT, True
    ),
    "intern_s2_preview": Family(
        "intern_s2_preview", "0.5.12", "gdn.read_qwen3_5", _TEXT, True
    ),
    "interns2_mobius": Family(
        "interns2_mobius", "0.5.18", "gdn.read_qwen3_5", _TEXT, True
    ),
    "minicpmv4_6": Family("minicpmv4_6", "0.5.12", "gdn.read_qwen3_5", _TEXT, True),
    "minicpmv4_7": Family("minicpmv4_7", "0.5.23", "gdn.read_qwen3_5", _TEXT, True),
    "qwen4_exp": QWEN4_EXP,
    "qwen4_exp_text": QWEN4_EXP,
    "kimi_linear": Family("kimi_linear", "0.5.5", "kda.read_kimi"),
    "kimi_k3": Family("kimi_k3", "0.5.17", "kda.read_kimi", _TEXT),
    "glm5_next": Family(
        "glm5_next", "0.5.20", "kda.read_glm5_next", _TEXT, merges_root=True
    ),
    "nemotron_h": Family("nemotron_h", "0.5.4", "mamba.read_nemotron_h", "", True),
    "nemotron_h_puzzle": Family(
        "nemotron_h_puzzle", "0.5.13", "mamba.read_nemotron_h", "", True
    ),
    "NemotronH_Nano_VL_V2": NEMOTRON_VL,
    "NemotronH_Nano_Omni_Reasoning_V3": NEMOTRON_OMNI,
    "nemotron_h_omni": NEMOTRON_OMNI,
    "falcon_h1": Family("falcon_h1", "0.5.3", "mamba.read_falcon_h1", "", True),
    "jet_nemotron": Family("jet_nemotron", "0.5.6", "gdn.read_jet", "", True),
    "jet_vlm": Family("jet_vlm", "0.5.6", "gdn.read_jet", _TEXT, True),
    "granitemoehybrid": Family("granitemoehybrid", "0.5.9", "mamba.read_granite"),
    "lfm2": Family("lfm2", "0.5.9", "conv.read_lfm2", "", True),
    "lfm2_moe": Family("lfm2_moe", "0.5.9", "conv.read_lfm2"),
    "lfm2_vl": Family("lfm2_vl", "0.5.10", "conv.read_lfm2", _TEXT),
    "bailing_hybrid": Family("bailing_hybrid", "0.5.9", "lightning.read_bailing_v2_5"),
    "bailing_moe_v3_vl": Family(
        "bailing_moe_v3_vl", "0.5.21", "kda.read_bailing_v3", _TEXT
    ),
    "minicpm_sala": Family("minicpm_sala", "0.5.19", "lightning.read_minicpm_sala"),
    "gigachat3_5": Family("gigachat3_5", "0.5.21", "gdn.read_gigachat", "", True),
    "inkling_mm_model": INKLING,
    "inkling_model": INKLING,
    "zaya": Family("zaya", "0.5.14", "conv.read_zaya", "", True),
    "mamba2": Family("mamba2", "0.5.20", "mamba.read_mamba2"),
    "mamba": Family("mamba", "0.5.20", "mamba.read_mamba1"),
    "falcon_mamba": Family("falcon_mamba", "0.5.20", "mamba.read_mamba1"),
}
"""Root ``model_type`` -> its family."""


def find_family(model_type: str, config: Fields) -> Family | None:
    """Return the family of *model_type*, None for an unknown one.

    Args:
        model_type: The root's, or that of a text section.
        config: The fields beside it: Bailing V3 is told from V2.5 by its short
            convolution.
    """
    if model_type == "bailing_hybrid" and "short_conv_kernel_size" in config:
        return BAILING_V3
    return FAMILIES.get(model_type)
