"""Models that are ready to be trained: a vocabulary, vectors, and what is known of its words."""
