"""Building blocks of the tables, figures and examples that challenge sets define and reports show."""
