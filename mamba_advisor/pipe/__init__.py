"""The filter core: a log passes through untouched, and advice goes beside it."""

from mamba_advisor.pipe.listener import Listener, Moment, RelayResult
from mamba_advisor.pipe.relay import relay

__all__ = ["Listener", "Moment", "RelayResult", "relay"]
