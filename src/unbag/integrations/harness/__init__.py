"""Challenge sets as tasks of evaluation harnesses."""
