"""Trains the network that `unbag demo` puts beside a bag of words: `python -m tools.demo_reader` writes its weights.

`network` is the network in torch, `training` how it learns.
"""
