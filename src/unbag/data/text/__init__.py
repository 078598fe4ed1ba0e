"""Sentences as tokens, tags and parses (spaCy)."""
