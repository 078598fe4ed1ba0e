import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from unbag.data.downloads import PinnedFile, fetch_pinned_file, find_local_copy
from unbag.utils.safe_io import DataError

CONTENT = b"some bytes of other people" * 10_000


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        if self.path in ("/file", "/cut"):
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT if self.path == "/file" else CONTENT[:1000])
        else:
            self.send_error(404)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as made:
        made.asked = []
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def pinned(server):
    return PinnedFile(f"http://127.0.0.1:{server.server_port}/file", SHA256, "file.bin")


def test_file_is_downloaded_once_and_again_if_damaged(server, pinned, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    path = fetch_pinned_file(pinned, cache=tmp_path)
    assert path.name == "file.bin"
    assert path.read_bytes() == CONTENT
    assert fetch_pinned_file(pinned, cache=tmp_path) == path
    [(_, headers)] = server.asked
    assert "Authorization" not in headers
    path.write_bytes(CONTENT[:-1])
    assert fetch_pinned_file(pinned, cache=tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_local_copy_is_used_in_place_or_rejected(server, pinned, tmp_path):
    own = tmp_path / "own.bin"
    own.write_bytes(CONTENT)
    assert fetch_pinned_file(pinned, local_copy=own, cache=tmp_path / "cache") == own
    own.write_bytes(b"something else")
    with pytest.raises(DataError, match=rf"own\.bin: expected file\.bin with sha256 {SHA256}"):
        fetch_pinned_file(pinned, local_copy=own)
    assert not server.asked


def test_copy_is_found_in_subfolder(pinned, tmp_path):
    with pytest.raises(DataError, match=r"none\.bin: expected a copy of http://127.*, got no such file or folder"):
        find_local_copy(pinned, tmp_path / "none.bin")
    with pytest.raises(DataError, match=r"expected file\.bin, a copy of http.*remove --official-file"):
        find_local_copy(pinned, tmp_path)
    deep = tmp_path / "a" / "b" / "file.bin"
    deep.parent.mkdir(parents=True)
    deep.write_bytes(CONTENT)
    assert find_local_copy(pinned, tmp_path) == find_local_copy(pinned, deep) == deep


@pytest.mark.parametrize(
    ("path", "sha256", "words"),
    [
        ("/none", SHA256, r"got the HTTP status 404 Not Found; try again, or obtain file\.bin elsewhere"),
        ("/file", "0" * 64, r"\(another version, or an incomplete download\)"),
        ("/cut", SHA256, "expected a download, got"),
        (None, SHA256, "expected a download, got .*; try again, or obtain"),
    ],
)
def test_invalid_download_leaves_no_files(pinned, tmp_path, monkeypatch, path, sha256, words):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # skips the delays of retries
    with socket.socket() as taken:  # bound but not listening, so connections are refused
        taken.bind(("127.0.0.1", 0))
        url = pinned.url.replace("/file", path) if path else f"http://127.0.0.1:{taken.getsockname()[1]}/file"
        with pytest.raises(DataError, match=words):
            fetch_pinned_file(PinnedFile(url, sha256, "file.bin"), cache=tmp_path)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
