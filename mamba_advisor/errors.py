"""The error tree; each class carries the exit status that it maps to."""

from __future__ import annotations

FAILED_BOOT = 5
"""Exit status after advice on a boot that failed: that is a finding, not an error."""


class MambaAdvisorError(Exception):
    """Base of all errors that a caller may want to catch."""

    exit_code = 3
    """Process exit status that the command line maps this error to."""


class InputError(MambaAdvisorError):
    """A file, stream or option cannot be used."""

    exit_code = 2


class DialectError(MambaAdvisorError):
    """A dialect file is malformed, or contradicts its own samples."""

    exit_code = 2

    def __init__(self, where: str, reason: str, hint: str = "") -> None:
        self.where = where
        self.reason = reason
        self.hint = hint
        super().__init__(f"{where}: {reason}" + (f" ({hint})" if hint else ""))


class ConfigError(MambaAdvisorError):
    """A model's ``config.json`` lacks a field or holds an unusable value."""

    exit_code = 2


class NotHybridError(MambaAdvisorError):
    """The model has no state pool: there is no ratio to set."""

    exit_code = 4


class TooLittleError(MambaAdvisorError):
    """No SGLang boot in the input, or too little of one to advise."""

    exit_code = 3


class FactError(MambaAdvisorError):
    """Figures that cannot be true together, such as a pool of −1 slots."""

    exit_code = 3
