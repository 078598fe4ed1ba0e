"""Tests of unbag, laid out like the rooms they test."""
