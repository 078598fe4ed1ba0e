"""Doors into other people's training loops: a callback, an evaluator, and a function of predictions."""
