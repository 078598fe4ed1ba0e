"""Ray Data engine, which builds sets and runs models on all machines of a Ray cluster.

The code here is a thin layer: the usual builders and predictors run in tasks and actors, which Ray schedules, retries
and scales. No other package imports ray.
"""
