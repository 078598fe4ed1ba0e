"""Integrations with the training loops and evaluation harnesses of other libraries."""
