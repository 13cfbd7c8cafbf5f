"""``python -m mamba_advisor``."""

from mamba_advisor.cli import main

if __name__ == "__main__":
    main(prog_name="mamba-advisor")
