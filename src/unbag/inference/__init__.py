"""Inference: run an NLI model on any number of rows, and store its probabilities."""
