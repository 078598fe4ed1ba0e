"""Labels, corpora, readers and text: the input of challenge sets and of training."""
