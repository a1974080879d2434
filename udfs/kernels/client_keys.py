"""Keys of the clients of a batch's records, as in `clientscope.records.client_key`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.records.client_key import scope
from clientscope.records.principals import ANONYMOUS


def client_keys(columns: Mapping[str, pa.Array]) -> pa.StringArray:
    """Per record `client_key` of its columns cluster, principal, address, instance_id, gateway, epoch and connection."""
    connection = pc.binary_join_element_wise(
        columns["gateway"], columns["epoch"].cast(pa.string()), columns["connection"].cast(pa.string()), "/"
    )
    instance = columns["instance_id"]
    if instance.null_count == len(instance):
        return connection
    return pc.coalesce(pc.binary_join_element_wise(instance, _scopes(columns), "/"), connection)


def _scopes(columns: Mapping[str, pa.Array]) -> pa.StringArray:
    """Few are different in a batch, so each is worked out once."""
    principal, address = columns["principal"], columns["address"].fill_null("")
    principal = pc.if_else(pc.equal(principal, ANONYMOUS), None, principal)
    tagged = pc.coalesce(pc.binary_join_element_wise("=", principal, ""), pc.binary_join_element_wise("@", address, ""))
    clusters, whose = columns["cluster"].fill_null("").dictionary_encode(), tagged.dictionary_encode()
    pairs = clusters.indices.to_numpy().astype(np.int64) * len(whose.dictionary) + whose.indices.to_numpy()
    different, which = np.unique(pairs, return_inverse=True)
    named, texts = clusters.dictionary.to_pylist(), whose.dictionary.to_pylist()
    digests = []
    for pair in different.tolist():
        cluster, tag = divmod(pair, len(texts))
        text = texts[tag]
        digests.append(scope(named[cluster], text[1:] if text[0] == "=" else None, text[1:]))
    # Of a principal the address doesn't count, and is left out above.
    return pa.array(digests, pa.string()).take(pa.array(which))
