"""The arithmetic of every metric: pure functions of arrays, numpy only."""
