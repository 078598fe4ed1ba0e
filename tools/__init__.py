"""What makes files of the repository; none of it is in the package."""
