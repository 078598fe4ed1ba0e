"""Tests of the license inherited from several sources."""

from itertools import permutations

import pytest

from unbag.hub.licenses import derive_license


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["mit"], "mit"),
        (["apache-2.0", "cc-by-sa-4.0"], "cc-by-sa-4.0"),  # SNLI
        (["apache-2.0", "cc-by-sa-4.0", "other"], "other"),  # SNLI and MNLI
        (["mit", "cc-by-nc-4.0"], "cc-by-nc-4.0"),  # ANLI
        (["mit", "cc-by-4.0", "cc-by-nc-2.0"], "cc-by-nc-2.0"),
        (["mit", "cc-by-nc-4.0", "cc-by-nc-sa-3.0"], "cc-by-nc-sa-3.0"),  # ANLI and SICK
        (["cc-by-sa-4.0", "cc-by-nc-4.0"], "other"),  # SNLI and ANLI, whose licenses exclude each other
        (["cc-by-sa-4.0", "cc-by-sa-3.0"], "other"),
        (["cc-by-nc-nd-4.0"], "other"),  # does not allow derivatives
        (["openrail++", "mit"], "other"),
        (["mit", None], "other"),
        ([], "other"),
    ],
)
def test_license_does_not_depend_on_source_order(sources, expected):
    assert {derive_license(list(order)) for order in permutations(sources)} == {expected}
