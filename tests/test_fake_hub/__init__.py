"""Tests of the test Hub: that the real clients can do with it what they do with the real one."""
