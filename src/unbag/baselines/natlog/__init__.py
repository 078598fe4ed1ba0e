"""Natural logic: seven relations between propositions, proofs over edits, and finite models that decide a relation."""
