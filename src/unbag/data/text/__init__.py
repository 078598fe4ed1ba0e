"""Text processing with spaCy: tokens, tags and parses."""
