"""Fine-tuning of sequence classifiers with accelerate: one loop for all objectives."""
