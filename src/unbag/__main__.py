"""Run the command line as `python -m unbag`, which is what `torchrun -m unbag …` needs."""

from unbag.cli import main

main()
