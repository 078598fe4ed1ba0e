"""Run a Space as on the Hub: `python app.py` in its folder, with gradio and without unbag."""

import json
import re
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

_START = """
import runpy, sys
sys.modules["unbag"] = None  # not installed
sys.path.insert(0, ".")
runpy.run_path("app.py", run_name="__main__")
"""
_PATIENCE = 120  # seconds


@contextmanager
def running_app(folder, environment):
    """Run the app in a folder until the block ends, and yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", _START],
        cwd=folder,
        env={**environment, "GRADIO_ANALYTICS_ENABLED": "False", "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"Running on local URL:\s+(\S+)", line):
                yield found[1]
                break
        else:
            raise RuntimeError("the app did not start:\n" + "".join(said))
    finally:
        process.terminate()
        process.communicate(timeout=10)


def ask(address, name, *arguments):
    """Call a function of a running app by its API name and return the result."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = f"{address}/gradio_api/call/{name}"
    body = json.dumps({"data": arguments}).encode()
    request = urllib.request.Request(url, data=body, headers={"content-type": "application/json"})
    event = json.load(opener.open(request, timeout=_PATIENCE))["event_id"]
    text = opener.open(f"{url}/{event}", timeout=_PATIENCE).read().decode()
    assert "event: complete" in text, text
    return json.loads(text.partition("data: ")[2].partition("\n")[0])
