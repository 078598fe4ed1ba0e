"""What is raised of a model that cannot be had, or whose answers would mean nothing."""


class ModelError(ValueError):
    """A model that cannot be had, or that is no trained classifier."""
