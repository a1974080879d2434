"""Search for a policy by its name."""

from __future__ import annotations

import importlib
from importlib import metadata

from clientscope.errors import SettingsError
from clientscope.policy.interface import ClientConfigPolicy

ENTRY_POINT_GROUP = "clientscope.policies"
_SETTING = "client_config_policy_class_name"


def load_policy(name: str) -> type[ClientConfigPolicy]:
    """The class behind a dotted name, ``module.Class``, or, for a name without a dot, behind an entry point of `ENTRY_POINT_GROUP`.

    Raises:
        SettingsError: there is no such policy, two packages claim the entry point, or it is not a ClientConfigPolicy.
    """
    dotted = name if "." in name else _entry_point(name)
    module_name, _, class_name = dotted.rpartition(".")
    try:
        policy_class = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"{_SETTING}: {name}: {error}", f"a dotted name such as my_package.my_module.MyPolicy, or an entry point: {_choice()}"
        ) from None
    except Exception as error:
        raise SettingsError(
            f"{_SETTING}: {name}: importing it raised {type(error).__name__}", f"python -c 'import {module_name}'"
        ) from None
    if not (isinstance(policy_class, type) and issubclass(policy_class, ClientConfigPolicy)):
        raise SettingsError(
            f"{_SETTING}: {name} is not a ClientConfigPolicy", "derive it from clientscope.policy.interface.ClientConfigPolicy"
        )
    return policy_class


def _entry_point(name: str) -> str:
    found = {point.value: point for point in metadata.entry_points(group=ENTRY_POINT_GROUP, name=name)}
    if not found:
        raise SettingsError(f"{_SETTING}: no entry point {name} in the group {ENTRY_POINT_GROUP}", f"there are: {_choice()}")
    if len(found) > 1:
        claims = ", ".join(f"{value} ({point.dist.name if point.dist else 'unknown package'})" for value, point in sorted(found.items()))
        raise SettingsError(f"{_SETTING}: entry point {name} is claimed more than once: {claims}", "give the dotted name of the class")
    (value,) = found
    return value.replace(":", ".")


def _choice() -> str:
    return ", ".join(sorted({point.name for point in metadata.entry_points(group=ENTRY_POINT_GROUP)})) or "none is installed"
