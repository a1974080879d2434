"""What rules are made with: a push as they judge it, its settings held against the catalogue, what libraries refuse, and a rule itself."""
