"""Natural logic: seven relations between sentences, proofs from edits, and finite models that determine relations."""
