"""A small Hugging Face Hub for tests, over real HTTP, for clients that do not know it is not the real one.

`huggingface_hub`, `datasets`, `evaluate` and `transformers` read from it and write to it unmodified; only `HF_ENDPOINT`
tells them where it is. By hand: `python -m tests.fake_hub --help`. In a test: the fixtures of `fixtures.py`, or

    with running_hub(mount=folder) as hub:
        subprocess.run([...], env=hub.env(home=tmp_path))

Read in this order:

    keys.py, content.py, edits.py    what a repository is called, what it holds, how it changes
    repository.py                    what all repositories can do; store.py (written to) and mounts.py (read in place)
    large_files.py, xet_store.py     the two ways the bytes of large files are kept
    accounts.py, access.py           who is calling, and what they may do
    hub.py, call.py, routing.py      the parts together; one request; which handler answers it
    repos.py, refs.py, trees.py, uploads.py, lfs.py, downloads.py, xet.py    the handlers, by subject
    faults.py, requests_log.py       what tests add: broken answers on demand, and a record of every request
    app.py, serving.py, __main__.py  the server
    running.py, client_process.py, fixtures.py    what tests use
"""
