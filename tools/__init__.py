"""Scripts that generate or check files of the repository. They are not part of the package."""
