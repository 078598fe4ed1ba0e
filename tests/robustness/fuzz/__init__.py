"""Fuzzing of the parsers of external files, guided by coverage if atheris is installed (`pip install atheris`).

    make fuzz SECONDS=600                      # shared by all parsers
    python -m tests.robustness.fuzz --parser rows.csv --seconds 60

Failures are written to `tests/robustness/fuzz/found/`. After a fix, move them to `corpus/PARSER/` for the test suite.
"""
