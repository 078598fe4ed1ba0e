"""Modules that HEX adds to a network: the superficial branch, and the head that removes its contribution."""
