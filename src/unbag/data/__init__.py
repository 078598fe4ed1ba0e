"""Input of challenge sets and training: labels, corpora, readers and text processing."""
