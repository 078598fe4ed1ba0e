"""What HEX adds to a network: the superficial branch, and the head that answers without what it explains."""
