"""Parts of tables, figures and examples of results: challenge sets make theirs of them, and `report` shows these."""
