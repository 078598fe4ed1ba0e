"""Fine-tuning of sequence classifiers: recipes as subclasses of `transformers.Trainer`."""
