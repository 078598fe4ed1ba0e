"""Reports of results: terminal tables, HTML page, notebook view, exported tables and badges."""
