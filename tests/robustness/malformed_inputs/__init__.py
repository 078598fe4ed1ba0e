"""The attack: inputs of several classes are sampled, and each is given to unbag in a separate process.

    python -m tests.robustness.malformed_inputs --attack-seed 7 --inputs 2000

Every input must end in success, or in one clear error line and exit code 1 or 2 without output files.

    inputs.py       the type of an input, and corruption of tables, JSON and bytes
    valid_files.py  valid files, runs and models, from which the inputs are derived
    files.py  records.py  models.py  options.py  names.py  from_python.py    the classes of inputs
    verdicts.py     the verdict on an input
    running.py      running all inputs, the table, and minimal failing inputs
"""
