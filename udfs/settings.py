"""The settings by which results are grouped, as columns: one value per push, null where it wasn't pushed.

Rules have `udfs.rules.batch`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.pushes import Pushes

GROUP_ID = ("group.id",)

# A pod's suffix is drawn from the alphabet that Kubernetes uses so that no words arise.
_POD = "[bcdfghjklmnpqrstvwxz2456789]"
_INSTANCE_PARTS = (
    r"[-_.:]?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    rf"-{_POD}{{6,10}}-{_POD}{{5}}(?P<end>$|[-_.])",
    r"(?:[-_.:#]\d+)+$",
)
_WITHOUT = ("", r"\1", "")


def positions(pushes: Pushes, names: tuple[str, ...]) -> pa.Int64Array:
    """Per push where the setting stands among `Pushes.settings`; the last one counts, as in a properties file."""
    found = np.flatnonzero(pc.is_in(pushes.keys, pa.array(names)).to_numpy(zero_copy_only=False))
    last = np.full(len(pushes), -1, np.int64)
    last[pushes.parents[found]] = found
    return pa.array(last, mask=last < 0)


def text(pushes: Pushes, names: tuple[str, ...]) -> pa.StringArray:
    """The setting's value as it was pushed; null also where it was redacted."""
    return pushes.settings["config_value"].take(positions(pushes, names))


def application_client_id(client_ids: pa.StringArray) -> pa.StringArray:
    """client.id without what tells one instance from another: UUIDs, a pod's suffix, counters at the end."""
    encoded = client_ids.dictionary_encode()
    names = encoded.dictionary
    for pattern, replacement in zip(_INSTANCE_PARTS, _WITHOUT, strict=True):
        names = pc.replace_substring_regex(names, pattern, replacement)
    return names.take(encoded.indices)
