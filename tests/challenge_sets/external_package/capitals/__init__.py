"""Package of another author with a challenge set."""
