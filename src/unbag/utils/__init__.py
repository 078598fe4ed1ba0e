"""Helpers that know nothing of NLI: files, hashing, locks, retries, redaction and access to the Hub."""
