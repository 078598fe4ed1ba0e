"""Labels, corpora, readers and text: everything that is read before a challenge set is built."""
