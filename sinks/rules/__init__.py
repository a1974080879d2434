"""What is told of the rules: ``clientscope rules``, and docs/rules.md."""
