"""Fault injection: every command with every fault, as a table.

    python -m tests.robustness.fault_injection --commands build,train --faults kill,hub

Each cell runs a command with a fault, checks its messages and files, runs it again without the fault, and compares the
final files with those of an undisturbed run.

    commands.py          the commands with their arguments and outputs
    child.py             faults in the process: a clock set back, a read-only disk, shortened delays
    cells.py             one cell: the fault and the checks
    command_runner.py    an environment for cells, with separate caches, Hub and processes
    table.py             all cells, and the table
"""
