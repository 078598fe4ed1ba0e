"""Fuzzing of what reads outside files, led by coverage where atheris is installed (`pip install atheris`).

    make fuzz SECONDS=600                      # shared by all parsers
    python -m tests.robustness.fuzz --parser rows.csv --seconds 60

What is found goes to `tests/robustness/fuzz/found/`; mended, it is moved to `corpus/PARSER/`, which the suite reads.
"""
