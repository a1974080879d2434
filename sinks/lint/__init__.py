"""``clientscope lint``: what the rules say of settings files, without a cluster.

- `files`: which files, and what a client they are of.
- `places`: a file's settings, and where in it each stands.
- `judging`: the rules, asked about files.
- `findings`: what comes of it; suppressions, owners, fingerprints.
- `shown`: what of a file may be shown.
- `text`, `as_json`, `sarif`, `github`: the formats.
- `command`: all of it, and the exit status.
"""
