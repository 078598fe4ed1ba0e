"""Evaluation of models on challenge sets: scores, comparisons, verdicts, gates and the human study."""
