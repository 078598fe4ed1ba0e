"""A small Hugging Face Hub for tests, served over HTTP to unmodified client libraries.

`huggingface_hub`, `datasets`, `evaluate` and `transformers` read from it and write to it. Only `HF_ENDPOINT`
must be set. On the command line: `python -m tests.fake_hub --help`. In a test: the fixtures of `fixtures.py`, or

    with running_hub(mount=folder) as hub:
        subprocess.run([...], env=hub.env(home=tmp_path))
"""
