"""Natural logic: the seven relations between propositions, and finite models that tell which of them holds."""
