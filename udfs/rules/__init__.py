"""The rules, one file each; `registry` lists them, `engine` is what they are made of."""
