"""Baselines that no training data of a model enters: bags of words, natural logic and WordNet."""
