"""Tests of unbag, in the layout of the package."""
