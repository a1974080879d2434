"""The commands: one file each, with its settings and its `run`; `registry` lists them. The top layer, which may import everything.

A file imports at its top only what ``--help`` needs, and everything else inside `run`, so that no command waits for another's libraries.
A larger command is a package: settings and `run` in its ``__init__``, the work beside it.

- `command`: the types of a registry's entries.
- `sources`: settings from flags, environment and TOML.
- `parser`: the command line.
"""
