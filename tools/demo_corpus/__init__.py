"""The grammar that wrote the demonstration's pairs, and its own semantics: what `unbag.data.demo` ships is made here.

`corpus.generate` draws captions-like NLI pairs whose labels are computed from the meanings behind the sentences;
`vectors` counts word vectors in them. `python -m tools.demo_corpus`, in the repository's root, writes the files.
"""
