"""Baseline models: bag of words, natural logic, WordNet, and the small neural network of `unbag demo`."""
