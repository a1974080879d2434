"""Entry point of the ``clientscope`` command; prints the version before anything else is imported."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

_WITHOUT_PANDAS = ("lint", "explain", "rules")
"""Commands that use Arrow alone. pyarrow imports pandas at its first array if it is installed: a third of their time."""


class _NoPandas(MetaPathFinder):
    """Finder by which pandas isn't installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Raises for pandas; for anything else the next finder is asked."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas isn't used by this command", name=fullname)


def main() -> int:
    """Runs one command; returns its exit status."""
    if sys.argv[1:] == ["--version"]:
        from clientscope import __version__

        print(f"clientscope {__version__}")
        return 0
    if sys.argv[1:2] and sys.argv[1] in _WITHOUT_PANDAS:
        sys.meta_path.insert(0, _NoPandas())
    from clientscope import cli, package_names
    from clientscope.errors import EnvironmentProblem

    try:
        package_names.check()
    except EnvironmentProblem as error:
        cli.show(error)
        return 1
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
