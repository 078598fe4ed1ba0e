"""WordNet: the database, its installation, relations between words, and a baseline that uses them."""
