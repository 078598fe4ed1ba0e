"""Ray Data as the engine: sets built, and models asked, on as many machines as a Ray cluster has.

Thin shells: rows are made by the builder's own `tables`, answers by the same predictors, in tasks and actors that Ray
places, retries and scales. Nothing else of ours imports ray.
"""
