"""Faults: every command with everything that may go wrong around it, as one table.

    python -m tests.robustness.fault_injection --commands build,train --faults kill,hub

Each cell runs a command with a fault, looks at what it said and left, runs it again without the fault, and holds what
then is there against what an unbroken run leaves.

    commands.py     the commands, what they are told and what they leave
    child.py        faults within the process: a clock set back, a disk that may not be written, waits cut short
    cells.py        one cell: the fault, and what is found
    lane.py         a place to run cells in, with caches, a Hub and processes of its own
    table.py        all cells, and the table
"""
