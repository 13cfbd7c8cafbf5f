"""The program: the command ``mamba-advisor``, and ``python -m mamba_advisor``."""

from mamba_advisor.patience import hold_signals


def main() -> None:
    """Run the command line; signals wait until it knows what to do with them."""
    hold_signals()
    from mamba_advisor.cli import main as program

    program(prog_name="mamba-advisor")


if __name__ == "__main__":
    main()
