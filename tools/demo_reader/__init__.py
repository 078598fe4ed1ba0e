"""Training of the network that `unbag demo` compares with a bag of words (`python -m tools.demo_reader`).

`network` defines the network in PyTorch, and `training` the training loop.
"""
