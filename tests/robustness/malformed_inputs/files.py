"""Files of pairs, predictions, word vectors, annotation sheets and official files, corrupted as tables or bytes."""

from __future__ import annotations

import csv
import io
import json
import random
from typing import Any

from tests.robustness.malformed_inputs.inputs import TEXTS, VALUES, Input, compress, damage
from tests.robustness.malformed_inputs.valid_files import LABELS, PAIRS, WORDS

Rows = list[dict[str, Any]]
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")

_COMMANDS = (
    ("build", "plain", "--data", "FILE", "--output", "out.parquet"),
    ("build", "swapped", "--data", "FILE", "--output", "out"),
    ("build", "permuted", "-o", "q=3", "-o", "min_words=3", "--data", "FILE", "--output", "out"),
    ("lexical", "fit", "--train-data", "FILE", "--pipeline", "all", "--l2", "1", "--output-dir", "out"),
    ("models", "init", "dan", "--corpus", "FILE", "--dimensions", "4", "--output-dir", "out"),
    ("export", "lm-eval", "--sets", "plain", "--data", "FILE", "--output-dir", "out"),
    ("evaluate", "majority", "--train-data", "pairs.csv", "--sets", "plain", "--data", "FILE", "--output-dir", "out"),
)
_UNKNOWN = ("entails?", "yes", "17", "\x1b[31m", "entailment neutral", "[red]", "x" * 300, "ENTAIL MENT", "é")


def format_rows(rows: Rows, ending: str, header: list[str] | None = None) -> bytes:
    """Return rows as a file in a format."""
    names = header or list(dict.fromkeys(name for row in rows for name in row))
    if ending == ".jsonl":
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    if ending == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        def column(name):
            values = [row.get(name) for row in rows]
            try:
                return pa.array(values)
            except (pa.ArrowException, TypeError, ValueError, UnicodeError, OverflowError):
                return pa.array([None if value is None else ascii(value) for value in values])

        file = io.BytesIO()
        pq.write_table(pa.table([column(name) for name in names], names=names), file)
        return file.getvalue()
    text = io.StringIO(newline="")
    if ending == ".tsv":
        for row in [dict(zip(names, names, strict=True)), *rows]:
            text.write("\t".join(str(row.get(name, "")).translate({9: 32, 10: 32, 13: 32}) for name in names) + "\n")
    else:
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows(["" if row.get(name) is None else row[name] for name in names] for row in rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _corrupt_pairs(rng: random.Random, ending: str) -> tuple[Rows, str, str]:
    """Return corrupted rows, a description of the corruption, and the required verdict."""
    rows: Rows = [{"premise": p, "hypothesis": h, "label": label} for p, h, label in PAIRS]
    name, row = rng.choice(("premise", "hypothesis", "label")), rng.choice(rows)
    how = rng.randrange(9)
    if how == 0:
        return [{key: value for key, value in row.items() if key != name} for row in rows], f"no {name}", "refuse"
    if how == 1:
        odd = f"{name}_{rng.choice('πß*é')}"
        return [{odd if key == name else key: value for key, value in row.items()} for row in rows], odd, "refuse"
    if how == 2:
        row["label"] = rng.choice(_UNKNOWN)
        return rows, f"label {row['label']!r}", "refuse"
    if how == 3:
        row[name] = rng.choice(TEXTS)
        return rows, f"{name} {row[name][:20]!r}", ""
    if how == 4:
        row[name] = rng.choice(VALUES)
        text = ending in (".csv", ".tsv") or name == "label" or row[name] is None or isinstance(row[name], str)
        return rows, f"{name} {repr(row[name])[:30]}", "" if text or ending == ".parquet" else "refuse"
    if how == 5:
        for each in rows:
            each["extra"] = rng.choice(TEXTS) if ending != ".csv" else "x"
        return rows, "a column more", "succeed" if ending in (".csv", ".jsonl") else ""
    if how == 6:
        for each in rows:
            each[name] = rng.choice(VALUES)
        return rows, f"all {name}", ""
    if how == 7:
        row["id"] = rng.choice(TEXTS)
        return rows, "one id", ""
    for each in rows:
        each["id"] = "same"
    return rows, "the same id", ""


def pairs(rng: random.Random) -> Input:
    """Sample a corrupted file of pairs."""
    ending = rng.choice(ENDINGS)
    rows, about, expected = _corrupt_pairs(rng, ending)
    content = format_rows(rows, ending)
    if rng.random() < 0.2 and ending != ".parquet":
        content, ending = compress(content), ending + ".gz"
    return _build_pairs_input(rng, f"given{ending}", content, expected, about)


def _build_pairs_input(rng: random.Random, name: str, content: Any, expected: str, about: str) -> Input:
    arguments = tuple(name if part == "FILE" else part for part in rng.choice(_COMMANDS))
    return Input("pairs", arguments, {name: content}, ("pairs.csv",), expected, about)  # type: ignore[arg-type]


def bytes_of_pairs(rng: random.Random) -> Input:
    """Sample a file of pairs that was damaged by a disk, a network or an editor."""
    rows: Rows = [{"premise": p, "hypothesis": h, "label": label} for p, h, label in PAIRS]
    ending = rng.choice((*ENDINGS, ".csv.gz", ".jsonl.gz"))
    content = format_rows(rows, ending.removesuffix(".gz"))
    content = compress(content) if ending.endswith(".gz") else content
    how, expected = rng.randrange(12), ""
    if how == 0:
        other = rng.choice([each for each in ENDINGS if each not in (ending, ".tsv", ".csv")])
        content, about = format_rows(rows, other), f"{other} inside"
        expected = "refuse" if ending not in (".csv", ".tsv") and ending != other else ""
    elif how == 1 and ending in (".csv", ".tsv", ".jsonl"):
        content, about, expected = b"\xef\xbb\xbf" + content, "a byte order mark", "succeed"
    elif how == 2 and ending in (".csv", ".tsv", ".jsonl"):
        content, about, expected = content.replace(b"dog", b"d\xffg", 1), "a byte that is not UTF-8", "refuse"
    elif how == 3 and ending in (".csv", ".tsv"):
        first, rest = content.split(b"\n", 1)
        cut = b"," if ending == ".csv" else b"\t"
        content, about, expected = first + b"\n" + rest.replace(cut, b" ", 1), "a cell too few", "refuse"
    elif how == 4 and ending == ".jsonl":
        first, rest = content.split(b"\n", 1)
        extra = rng.choice((b"[1]", b'"x"', b"null", b"{", b'{"premise": "a", "premise": "b"}', b"[" * 100_000, b"}"))
        content, about, expected = first + b"\n" + extra + b"\n" + rest, f"the line {extra[:20]!r}", "refuse"
    elif how == 5 and ending.endswith(".gz"):
        content, about, expected = content[: rng.randrange(20, len(content) - 1)], "gzip cut short", "refuse"
    else:
        content, about = damage(content, rng)
        expected = "refuse" if about in ("empty", "an LFS pointer", "a page of HTML", "brackets") else ""
    return _build_pairs_input(rng, f"given{ending}", content, expected, about)


def places_of_pairs(rng: random.Random) -> Input:
    """Sample an object that is no file, in place of a file of pairs."""
    special = rng.choice(("fifo", "folder", "zero", "loop", "absent"))
    ending = rng.choice((*ENDINGS, ".csv.gz", ".txt", ""))
    return _build_pairs_input(rng, f"given{ending}", special, "refuse", special)


def predictions(ids: list[str]) -> Any:
    """Return a function that samples corrupted prediction files of a set."""

    def draw(rng: random.Random) -> Input:
        ending = rng.choice(ENDINGS)
        hard = rng.random() < 0.5
        if hard:
            rows: Rows = [{"id": each, "prediction": rng.choice(LABELS)} for each in ids]
        else:
            rows = [{"id": each, **dict(zip(LABELS, (0.5, 0.3, 0.2), strict=True))} for each in ids]
        row, name = rng.choice(rows), "prediction" if hard else rng.choice(LABELS)
        how, expected = rng.randrange(11), "refuse"
        if how == 0:
            rows.remove(row)
            about = "one row less"
        elif how == 1:
            rows.append(dict(row))
            about = "one row twice"
        elif how == 2:
            row["id"] = rng.choice([*TEXTS, "x#1"])
            about = f"id {row['id'][:20]!r}"
        elif how == 3:
            wrong = _UNKNOWN if hard else (float("nan"), 1e999, -0.5, 7.0, "x", "", None, True, [], "0,5")
            row[name] = rng.choice(wrong)
            about, expected = f"{name} {row[name]!r}", "" if row[name] in (True, "17") else "refuse"
        elif how == 4:
            rows = [{key: value for key, value in each.items() if key != "id"} for each in rows]
            about = "no ids"
        elif how == 5:
            rows = [{key: value for key, value in each.items() if key != name} for each in rows]
            about, expected = f"no {name}", "refuse"
        elif how == 6:
            rng.shuffle(rows)
            about, expected = "another order", "succeed"
        elif how == 7:
            for each in rows:
                each["extra"] = 1
            about, expected = "a column more", "succeed"
        elif how == 8:
            row.pop(name)
            about = f"a row without {name}"
        elif how == 9:
            rows = []
            about = "no rows"
        else:
            content, about = damage(format_rows(rows, ending), rng)
            expected = "refuse" if about in ("empty", "an LFS pointer", "a page of HTML", "brackets") else ""
            return _build_predictions_input(ending, content, expected, about)
        header = None if rows else ["id", "prediction"]
        return _build_predictions_input(ending, format_rows(rows, ending, header), expected, about)

    return draw


def _build_predictions_input(ending: str, content: bytes, expected: str, about: str) -> Input:
    arguments = ("score", f"given{ending}", "--set", "set.parquet", "--output-dir", "out")
    return Input("predictions", arguments, {f"given{ending}": content}, ("set.parquet",), expected, about)  # type: ignore[arg-type]


def vectors(rng: random.Random) -> Input:
    """Sample a corrupted file of word vectors."""
    lines = [f"{word} {n} .5 -{n}e-1" for n, word in enumerate(WORDS)]
    place, how, expected = rng.randrange(len(lines)), rng.randrange(10), "refuse"
    ending = rng.choice((".txt", ".vec", ".txt.gz", ".zip"))
    if how == 0:
        lines[max(1, place)] += rng.choice((" x", " nan", " inf", " 1e999", " 0x1p4"))
        about = "a cell that is no number"
        expected = ""  # words can contain spaces
    elif how == 1:
        lines[max(1, place)] = rng.choice(("word", "word 1", "word 1 2"))
        about = "too few numbers"
    elif how == 2:
        lines[max(1, place)] = f"word {rng.choice(('nan', 'inf', '-inf', '1e999'))} 1 2"
        about = "not finite"
    elif how == 3:
        lines = [f"{len(lines) + rng.choice((-3, 5, 10**9))} 3", *lines]
        about = "a header that promises another number of words"
    elif how == 4:
        lines = [f"{len(lines)} {rng.choice((0, 2, 300, 10**12))}", *lines]
        about, expected = "a header of other dimensions", ""
    elif how == 5:
        lines = [f"{len(lines)} 3", *lines]
        about, expected = "word2vec's header", "succeed"
    elif how == 6:
        lines = [f"{word}ß 1 2 3" for word in WORDS]
        about = "no word of ours"
    elif how == 7:
        lines = rng.choice(([], [""], ["", ""], ["word"], ["1 2 3"], [" 1 2 3"], ["\0 1 2 3"]))
        about, expected = f"{lines}", ""
    else:
        about, expected = "", ""
    content = "".join(line + "\n" for line in lines).encode()
    if not about:
        content, about = damage(content, rng)
        expected = "refuse" if about in ("empty", "an LFS pointer", "a page of HTML") else ""
    if ending == ".zip":
        content, expected, about = _archive(content, rng, expected, about)
    elif ending == ".txt.gz":
        content = compress(content)
        if rng.random() < 0.2:
            content, expected, about = content[: rng.randrange(1, len(content) - 1)], "refuse", "gzip cut short"
    name = f"given{ending}"
    arguments = ("models", "init", "dan", "--corpus", "pairs.csv", "--vectors", name, "--output-dir", "out")
    return Input("word vectors", arguments, {name: content}, ("pairs.csv",), expected, about)  # type: ignore[arg-type]


def _archive(content: bytes, rng: random.Random, expected: str, about: str) -> tuple[bytes, str, str]:
    import zipfile

    file, several = io.BytesIO(), rng.random() < 0.3
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("a.txt", "../b.txt") if several else ("a.txt",):
            archive.writestr(zipfile.ZipInfo(name), content)
    return (file.getvalue(), "refuse", "two files in the archive") if several else (file.getvalue(), expected, about)


def sheets(rng: random.Random) -> Input:
    """Sample a corrupted annotation sheet or answer key."""
    sheet: Rows = [
        {"number": str(n), "premise": "A dog.", "hypothesis": "A.", "label": LABELS[n % 3]} for n in range(8)
    ]
    key: Rows = [
        {
            "number": str(n),
            "id": f"id{n}",
            "label": LABELS[n % 3],
            "drawn_from": ("D^c", "D^f")[n % 2],
            "length": "shorter",
        }
        for n in range(8)
    ]
    which = rng.choice(("sheet", "key"))
    rows = sheet if which == "sheet" else key
    row, how, expected = rng.choice(rows), rng.randrange(7), "refuse"
    name = rng.choice(("number", "label") if which == "sheet" else ("number", "label", "drawn_from"))
    if how == 0:
        row["label"] = rng.choice(_UNKNOWN)
        about = f"label {row['label']!r}"
    elif how == 1:
        rows[:] = [{k: v for k, v in each.items() if k != name} for each in rows]
        about = f"no {name}"
    elif how == 2:
        row["number"] = rng.choice(("99", "x", "-1", "1.0")) if which == "sheet" else "99"
        about = f"number {row['number']}"
    elif how == 3:
        rows.append(dict(row))
        about = "a number twice"
    elif how == 4:
        for each in rows:
            each["label"] = ""
        about = "no label"
    elif how == 5:
        row[name], expected = rng.choice(TEXTS), ""
        about = f"{name} {row[name][:20]!r}"
    else:
        about, expected = "", ""
    contents = {"people/sheet.csv": format_rows(sheet, ".csv"), "people/key.csv": format_rows(key, ".csv")}
    if not about:
        name = f"people/{which}.csv"
        contents[name], about = damage(contents[name], rng)
        expected = "refuse" if about in ("empty", "an LFS pointer", "a page of HTML") else ""
    arguments = ("human-study", "score", "people", "people/sheet.csv")
    return Input("people's sheets", arguments, contents, (), expected, f"{which}: {about}")  # type: ignore[arg-type]


def authors(rng: random.Random) -> Input:
    """Sample a file that differs from the official file."""
    name = rng.choice(("breaking_nli", "sicck"))
    content, about = damage(b'{"sentence1": "A.", "sentence2": "B.", "gold_label": "neutral"}\n' * 5, rng)
    special = rng.choice((None, None, "fifo", "folder", "absent", "loop"))
    arguments = ("build", name, "--official-file", "theirs", "--output", "out")
    return Input("authors' files", arguments, {"theirs": special or content}, (), "refuse", special or about)
