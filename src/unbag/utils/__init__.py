"""Utilities independent of NLI: files, hashing, locks, retries, redaction and Hub access."""
