"""How large a model is."""

from typing import Any, Final

import torch

from unbag.models import Kind

_TAGS: Final = 51  # of spaCy's small English pipeline, and one for no tag
_TABLES: Final = {"spelling": 24, "tags": _TAGS, "stems": True, "relations": 1}


def parameters(kind: Kind, **options: Any) -> int:
    """Return the parameters of a kind of model above its word embeddings of 300 dimensions.

    Args:
        kind: the kind.
        options: of its config, where not as its authors have them.
    """
    tables = {name: value for name, value in _TABLES.items() if name in kind.needs}
    config: Any = kind.config
    with torch.device("meta"):  # nothing is drawn, nothing is held
        network: Any = kind.network(config(num_labels=3, **{**kind.options, **tables, **options}))
    total = sum(int(each.numel()) for each in network.parameters())
    return total - int(network.embeddings.table.weight.numel())
