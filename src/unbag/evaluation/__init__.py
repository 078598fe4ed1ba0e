"""Evaluation of models on challenge sets: scores, comparison, verdict, gates and human study."""
