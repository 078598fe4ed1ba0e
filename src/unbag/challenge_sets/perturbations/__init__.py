"""Perturbations of sentences for the challenge sets: pure functions with explicit seeds."""
