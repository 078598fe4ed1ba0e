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


def _build_pinned_file(server, path="/file", content=CONTENT):
    url = f"http://127.0.0.1:{server.server_port}{path}"
    return PinnedFile(url, hashlib.sha256(content).hexdigest(), "file.bin")


def _list_files(folder):
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_file_is_downloaded_once(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    path = fetch_pinned_file(_build_pinned_file(server), cache=tmp_path)
    assert path.name == "file.bin"
    assert path.read_bytes() == CONTENT
    assert fetch_pinned_file(_build_pinned_file(server), cache=tmp_path) == path
    [(_, headers)] = server.asked
    assert "Authorization" not in headers


def test_local_copy_is_used_in_place(server, tmp_path):
    own = tmp_path / "own.bin"
    own.write_bytes(CONTENT)
    assert fetch_pinned_file(_build_pinned_file(server), local_copy=own, cache=tmp_path / "cache") == own
    assert not server.asked


def test_local_copy_with_other_content_is_rejected(server, tmp_path):
    own = tmp_path / "own.bin"
    own.write_bytes(b"something else")
    with pytest.raises(
        DataError, match=rf"own\.bin: expected file\.bin with sha256 {_build_pinned_file(server).sha256}"
    ):
        fetch_pinned_file(_build_pinned_file(server), local_copy=own)


def test_copy_is_found_in_subfolder(tmp_path):
    pinned = PinnedFile("https://host/file.bin", hashlib.sha256(CONTENT).hexdigest(), "file.bin")
    with pytest.raises(DataError, match=r"none\.bin: expected a copy of https://host.*, got no such file or folder"):
        find_local_copy(pinned, tmp_path / "none.bin")
    with pytest.raises(DataError, match=r"expected file\.bin, a copy of https.*remove --official-file"):
        find_local_copy(pinned, tmp_path)
    deep = tmp_path / "a" / "b" / "file.bin"
    deep.parent.mkdir(parents=True)
    deep.write_bytes(CONTENT)
    assert find_local_copy(pinned, tmp_path) == find_local_copy(pinned, deep) == deep


def test_damaged_cached_copy_is_replaced(server, tmp_path):
    path = fetch_pinned_file(_build_pinned_file(server), cache=tmp_path)
    path.write_bytes(CONTENT[:-1])
    assert fetch_pinned_file(_build_pinned_file(server), cache=tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("/none", CONTENT, r"got the HTTP status 404 Not Found; try again, or obtain file\.bin elsewhere"),
        ("/file", b"another version", r"\(another version, or an incomplete download\)"),
        ("/cut", CONTENT, "expected a download, got"),
    ],
)
def test_invalid_download_leaves_no_files(server, tmp_path, monkeypatch, path, content, words):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # skips the delays of retries
    with pytest.raises(DataError, match=words):
        fetch_pinned_file(_build_pinned_file(server, path, content), cache=tmp_path)
    assert not _list_files(tmp_path)


def test_missing_network_is_reported(tmp_path):
    with socket.socket() as taken:  # bound but not listening, so connections are refused
        taken.bind(("127.0.0.1", 0))
        pinned = PinnedFile(f"http://127.0.0.1:{taken.getsockname()[1]}/file", "0" * 64, "file.bin")
        with pytest.raises(DataError, match=r"expected a download, got .*; try again, or obtain"):
            fetch_pinned_file(pinned, cache=tmp_path)
    assert not _list_files(tmp_path)
