import subprocess
import sys

from unbag.challenge_sets.pairs import deduplicate


def test_first_item_of_each_sentence_is_kept():
    items = [("A dog runs.", 0), ("A cat runs.", 1), ("A dog runs.", 2), ("a dog runs.", 3), ("A cat runs.", 4)]
    assert [number for _, number in deduplicate(items, lambda item: item[0])] == [0, 1, 3]


def test_hundred_thousand_sentences_need_little_memory():
    code = (
        "import tracemalloc; from unbag.challenge_sets.pairs import deduplicate\n"
        "tracemalloc.start()\n"
        "n = sum(1 for _ in deduplicate((f'{i} {\"long \" * 40}' for i in range(100_000)), str))\n"
        "print(n, tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    n, peak = map(int, done.stdout.split())
    assert n == 100_000
    assert peak < 15e6, "the sentences alone are 20 MB"
