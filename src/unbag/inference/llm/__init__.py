"""Language models as predictors: prompts, and probabilities from their responses."""
