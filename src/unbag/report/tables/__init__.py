"""How each challenge set's scores are shown in a terminal: one module a set, named like it.

Each has `table(result)`, which fits 80 columns, and `verdict(result)`, which says in a sentence what the scores mean.
"""
