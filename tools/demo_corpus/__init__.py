"""Grammar with a semantics that generates the pairs of the demonstration (`unbag.data.demo`).

`corpus.generate_pairs` samples caption-like NLI pairs. Their labels are computed from the meanings of the sentences.
Run `python -m tools.demo_corpus` in the root of the repository to write the pairs and word vectors computed from them.
"""
