"""From sentence to sentence: the perturbations of the challenge sets, pure and seeded."""
