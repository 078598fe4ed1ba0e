"""Fine-tuning of sequence classifiers with accelerate: one loop, and one file an objective."""
