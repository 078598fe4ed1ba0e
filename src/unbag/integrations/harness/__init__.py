"""Our sets as tasks of other people's evaluation harnesses."""
