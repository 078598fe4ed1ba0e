"""The attack: inputs drawn from classes, each given to unbag in a process of its own, and what became of it.

    python -m tests.robustness.malformed_inputs --attack-seed 7 --inputs 2000

Every input ends in success or in one clear line and exit code 1 or 2, and leaves nothing where it was refused.

    inputs.py       what an input is, and what tables, JSON and bytes can be spoilt to
    ground.py       what is sound: files, runs and models that the inputs are made from
    files.py  records.py  models.py  options.py  names.py  from_python.py    the classes
    verdicts.py     what became of an input
    running.py      giving them all, the table, and the smallest input that shows a failure
"""
