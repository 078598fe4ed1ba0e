"""The Ray Data engine, which builds sets and runs models on all machines of a Ray cluster.

The code here is a thin shell: builders make the rows and the usual predictors make the predictions, in tasks and actors
that Ray places, retries and scales. No other package imports ray.
"""
