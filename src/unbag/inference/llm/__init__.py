"""Language models asked in words: what they are asked, and how their answers become probabilities."""
