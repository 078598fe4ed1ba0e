"""Export of challenge sets as tasks of evaluation harnesses."""
