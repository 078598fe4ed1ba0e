"""Publishing of datasets, models, results and Spaces on the Hub."""
