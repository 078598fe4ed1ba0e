"""Entry point of `python -m unbag`, which `torchrun -m unbag …` requires."""

from unbag.cli import main

main()
