"""Metrics as pure functions of arrays, with numpy as the only dependency."""
