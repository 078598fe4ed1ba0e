"""Helpers without any notion of NLI: files, hashing, locks, retries, redaction and access to the Hub."""
