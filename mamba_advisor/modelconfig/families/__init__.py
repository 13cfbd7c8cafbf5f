"""Model families that SGLang treats as hybrid, and how each config is read."""

from mamba_advisor.modelconfig.families.table import FAMILIES, Family, find_family

__all__ = ["FAMILIES", "Family", "find_family"]
