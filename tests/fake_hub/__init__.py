"""A small Hugging Face Hub for tests, served over HTTP to unmodified client libraries.

`huggingface_hub`, `datasets`, `evaluate` and `transformers` read from it and write to it. Only `HF_ENDPOINT`
must be set. On the command line: `python -m tests.fake_hub --help`. In a test: the fixtures of `fixtures.py`, or

    with running_hub(mount=folder) as hub:
        subprocess.run([...], env=hub.env(home=tmp_path))

Read in this order:

    content.py                       names, contents and changes of repositories
    store.py, mounts.py              writable and read-only repositories
    accounts.py, access.py           authentication and permissions
    hub.py, routing.py               the Hub; one request, and URL routes
    repositories.py, transfers.py    the handlers
    cards.py                         the metadata of a README.md
    faults.py, requests_log.py       injected faults, and a log of all requests
    app.py, serving.py, __main__.py  the server
    running.py, client_process.py, fixtures.py, callers.py    entry points for tests
"""
