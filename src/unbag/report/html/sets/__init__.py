"""What a report shows of each challenge set: one module a set, named like it.

Each has `TITLE`, `QUESTION`, `PAPER` (as `papers` names it in short), `measures(scores)`, rows of name, meaning and
estimate, and `figures(group)`.
"""
