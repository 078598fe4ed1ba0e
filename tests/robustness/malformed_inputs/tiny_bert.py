"""Save a tiny random classifier with a tokenizer in the given folder."""

import sys
from pathlib import Path

from tests.robustness.malformed_inputs.valid_files import LABELS, WORDS
from tests.tiny_tokenizer import SPECIAL, tiny_tokenizer


def main() -> None:
    import torch
    import transformers

    folder = Path(sys.argv[1])
    vocabulary = {word: number for number, word in enumerate([*SPECIAL.values(), *WORDS, *map(chr, range(97, 123))])}
    vocabulary |= {f"##{chr(n)}": len(vocabulary) + n - 97 for n in range(97, 123)}
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        id2label=dict(enumerate(LABELS)),
        label2id={label: i for i, label in enumerate(LABELS)},
    )
    torch.manual_seed(0)
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    tiny_tokenizer(vocabulary).save_pretrained(folder)


if __name__ == "__main__":
    main()
