"""Bag-of-words baselines: lexical features and models."""
