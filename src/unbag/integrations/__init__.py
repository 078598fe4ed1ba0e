"""Integrations with training loops and evaluation harnesses of other libraries."""
