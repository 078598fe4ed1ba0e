"""Tests that the test Hub works with the real client libraries."""
