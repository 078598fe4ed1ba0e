"""Baseline models: bag of words, natural logic, WordNet, and the network of the demonstration."""
