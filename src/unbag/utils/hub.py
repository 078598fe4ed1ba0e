"""Reads from the Hub with retries and one-line errors, downloads of a model's files, and validation of Hub names.

transformers downloads each file when it reads the file, and treats a failed download of an optional file, such as a
chat template, like a missing file. After a network error, a different model would be loaded. So `download_model_files`
downloads all files before loading starts. Names are validated by the Hub's rules, before anything is built or written.
"""

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar
from urllib.parse import urlsplit

from unbag.utils.errors import is_disk_full
from unbag.utils.options import OptionError
from unbag.utils.redaction import extract_first_line, redact
from unbag.utils.retries import (
    call_with_retries,
    find_http_cause,
    import_hub_http,
    is_malformed_response,
    iter_causes,
    read_requested_wait,
)

READ_TRIES: Final = 4  # in addition to the clients' retries, which cover server errors of the Hub
_CHECK_PROXY: Final = "the response may come from a login page or a proxy; check the network and HF_ENDPOINT"
LOG_IN: Final = "log in with `hf auth login`, or set HF_TOKEN"  # advice in messages
_AGAIN: Final = (
    "check the network and HF_ENDPOINT, and rerun the command (HF_HUB_OFFLINE=1 reads cached files without a network)"
)
_UNREADABLE: Final = (AttributeError, IndexError, KeyError, TypeError)
"""Exceptions that the clients raise for JSON with an unexpected structure."""

T = TypeVar("T")


class HubReadError(ValueError):
    """Error for a failed read from the Hub. The message contains the host, the file and a fix."""


def read_from_hub(
    description: str, function: Callable[[], T], *, tries: int = READ_TRIES, retry_connection_errors: bool = False
) -> T:
    """Call a function that reads an object from the Hub, such as `the dataset org/name`, and retry transient failures.

    The function must not modify the Hub, since it may be called several times. If the network fails, the Hub has a
    server error, or the response is malformed, raises `HubReadError`. Other errors of the call are raised as they are.
    """
    try:
        return call_with_retries(function, tries=tries, retry_connection_errors=retry_connection_errors)
    except HubReadError:
        raise
    except Exception as error:
        reason = describe_hub_failure(error)
        if reason is None:
            raise
        raise HubReadError(f"{description}: {reason}") from error


def describe_missing_repo(error: BaseException, repo_type: str, repo_id: str) -> str | None:
    """Build the message for a missing, private or gated repository. Return None for other errors."""
    from huggingface_hub import get_token
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    chain = list(iter_causes(error))
    if any(isinstance(cause, GatedRepoError) for cause in chain):
        problem = "expected access, got a gated repository"
        return f"{repo_type} {repo_id}: {problem}; request access on its page, then {LOG_IN}"
    if not any(
        isinstance(cause, RepositoryNotFoundError)
        # A mirror may respond with a plain 404, without the code by which the client detects a missing repository.
        or (type(cause) is HfHubHTTPError and cause.response.status_code == 404)
        for cause in chain
    ):
        return None
    # Without read access, the Hub also responds with 404 for a private repository.
    private = f"if it is private, {LOG_IN}" if get_token() is None else "if it is private, use a token with read access"
    return f"{repo_type} {repo_id}: expected a repository on the Hub, got none; check the spelling, or {private}"


def describe_hub_failure(error: BaseException) -> str | None:
    """Describe a failure of the network or the Hub, with a fix. Return None for other errors."""
    httpx = import_hub_http()
    from huggingface_hub import is_offline_mode

    if is_offline_mode() or is_disk_full(error):
        return None
    answer = find_http_cause(error)
    if answer is not None and (answer.response.status_code >= 500 or answer.response.status_code in (408, 425, 429)):
        status, url = answer.response.status_code, str(answer.response.request.url)
        message = answer.server_message or answer.response.reason_phrase
        seconds = read_requested_wait(answer)
        when = f"in {seconds:.0f} s" if seconds else "later"
        return f"{_place(url)} responded with {status} ({redact(message)}); rerun the command {when}"
    for cause in iter_causes(error):
        request = getattr(cause, "_request", None)
        place = _place(str(request.url)) if request is not None else _host()
        if isinstance(cause, httpx.TooManyRedirects):
            return f"{place} redirects endlessly ({extract_first_line(cause, max_length=200)}); {_CHECK_PROXY}"
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            host = _host() if request is None else "{0.scheme}://{0.netloc}".format(urlsplit(str(request.url)))
            return f"{redact(host)} cannot be reached ({type(cause).__name__}: {extract_first_line(cause)}); {_AGAIN}"
        if isinstance(cause, httpx.TransportError | ConnectionError | TimeoutError):
            return f"{place} cannot be read ({type(cause).__name__}: {extract_first_line(cause)}); {_AGAIN}"
        if is_malformed_response(cause):
            return f"{place} sent a malformed response ({_summary(cause)}); {_CHECK_PROXY}"
    if isinstance(error, _UNREADABLE):
        return f"{_host()} sent a malformed response ({_summary(error)}); {_CHECK_PROXY}"
    return None


def _summary(error: BaseException) -> str:
    return f"{type(error).__name__}: {extract_first_line(error, max_length=200)}"


def _host() -> str:
    from huggingface_hub import constants

    return redact(constants.ENDPOINT)


def _place(url: str) -> str:
    """Strip the query of a URL, which may contain a signature that grants access."""
    parts = urlsplit(url)
    return redact(f"{parts.scheme}://{parts.netloc}{parts.path}")


_SMALL: Final = frozenset({".json", ".txt", ".model", ".tiktoken", ".jinja", ".spm", ".codes", ".vocab"})
_TEMPLATES: Final = "additional_chat_templates"
MODULE_FOLDER: Final = re.compile(r"\d+_\w+")
"""Name of the folder of a sentence-transformers module, such as `2_Dense`."""
_WEIGHTS: Final = ("model*.safetensors", "*.safetensors", "pytorch_model*.bin", "*.bin")
"""Patterns in order of preference. Only the files of the first matching pattern are downloaded."""


def download_model_files(repo: str, revision: str | None, *, weights: bool = True, code: bool = False) -> Path:
    """Download config, tokenizer, weights and code of a model, or find them in the cache if offline. Return the path.

    `code` is the repository's Python code, if the user trusts it. If the process is offline and the model is not in the
    cache, raises `OSError`.
    """
    from huggingface_hub import HfApi, is_offline_mode, snapshot_download

    what = f"the model {repo}" + (f" at {revision}" if revision else "")
    if not is_offline_mode():
        listed = read_from_hub(what, lambda: HfApi().list_repo_files(repo, revision=revision))
        wanted = select_model_files(listed, weights=weights, code=code)
        return Path(read_from_hub(what, lambda: snapshot_download(repo, revision=revision, allow_patterns=wanted)))

    def find(patterns: list[str]) -> Path:
        # This raises if a file of these patterns is missing and the client has a listing of the repository.
        cached = snapshot_download(
            repo, revision=revision, local_files_only=True, allow_patterns=patterns, ignore_patterns=["*/*"]
        )
        return Path(cached)

    folder = find([f"*{suffix}" for suffix in sorted(_SMALL)])
    if not weights:
        return folder
    return find([next((each for each in _WEIGHTS if any(folder.glob(each))), _WEIGHTS[0])])


def select_model_files(names: list[str], *, weights: bool, code: bool = False) -> list[str]:
    """Select the files of a repository that are needed to load its model.

    >>> select_model_files(["config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx"], weights=True)
    ['config.json', 'model.safetensors']
    """
    paths = [PurePosixPath(name) for name in names]
    modules = [path for path in paths if len(path.parts) == 2 and MODULE_FOLDER.fullmatch(path.parts[0])]
    top = [path for path in paths if len(path.parts) == 1]
    wanted = [path for path in top if path.suffix in _SMALL]
    wanted += [path for path in paths if path.parts[0] == _TEMPLATES]
    wanted += [path for path in modules if path.suffix in _SMALL]
    if code:
        wanted += [path for path in top if path.suffix == ".py"]
    if weights:
        matches = ([path for path in top if path.match(pattern)] for pattern in _WEIGHTS)
        wanted += next(filter(None, matches), [])
        wanted += [path for path in modules if path.suffix in (".safetensors", ".bin")]
    return [str(path) for path in wanted]


_CONFIG: Final = re.compile(r"\w(?:[\w+-]|\.(?!\.)){0,95}")
_PATH: Final = re.compile(r"[^\x00-\x1f\x7f\\]+")


def validate_repo(name: str) -> str:
    """Validate the name of a Hub repository, `organization/name`, and return it."""
    if name.count("/") != 1 or not is_model_name(name):
        raise OptionError(
            "expected a Hub repository as organization/name (letters, digits and _, with single - or . between them), "
            f"got {name!r}"
        )
    return name


def validate_push_repo(name: str) -> str:
    """Validate the name of a Hub organization or repository, and return it."""
    if "/" in name:
        return validate_repo(name)
    if not is_model_name(name):
        raise OptionError(
            f"expected a Hub organization (letters, digits, - _ and .) or organization/name, got {name!r}"
        )
    return name


def validate_config_name(name: str) -> str:
    """Validate the name of a dataset config, which is also a folder name in the repository, and return it."""
    if not _CONFIG.fullmatch(name):
        raise OptionError(
            "expected a config name with at most 96 letters, digits, - _ + and ., starting with a letter, digit or _, "
            f"got {name!r}; choose a name with --config"
        )
    return name


def validate_repo_path(path: str) -> str:
    """Validate a file path in a repository, and return it."""
    if not _PATH.fullmatch(path) or any(part in ("", ".", "..", ".git") for part in path.split("/")):
        raise ValueError(f"expected a file path in the repository, got {path!r}")
    return path


def is_model_name(name: str) -> bool:
    """Check whether a text is a valid model id on the Hub: `organization/name` or a single word.

    >>> is_model_name("org/name"), is_model_name("gpt2"), is_model_name("../x"), is_model_name("a b")
    (True, True, False, False)
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return name.isascii() and name.isprintable()  # huggingface_hub accepts other letters, the Hub does not
