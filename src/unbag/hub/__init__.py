"""Publication of data sets, models, results and Spaces on the Hub."""
