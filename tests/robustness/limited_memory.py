"""Run unbag as one of several processes, where the second one has no memory for the fourth step or all later steps."""

import os
import sys


def main():
    import torch
    from transformers import BertForSequenceClassification

    forward, steps = BertForSequenceClassification.forward, 0

    def limited(self, *args, **kwargs):
        nonlocal steps
        steps += self.training
        if steps > 3 and os.environ["RANK"] == "1":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return forward(self, *args, **kwargs)

    BertForSequenceClassification.forward = limited
    sys.argv = ["unbag", *sys.argv[1:]]
    from unbag.cli import main as command

    command()


if __name__ == "__main__":
    main()
