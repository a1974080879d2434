"""Entry point of the ``clientscope`` command; prints the version before anything else is imported."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs one command; returns its exit status."""
    if sys.argv[1:] == ["--version"]:
        from clientscope import __version__

        print(f"clientscope {__version__}")
        return 0
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
