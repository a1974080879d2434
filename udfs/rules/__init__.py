"""The rules, one file each; `registry` lists them, and `engine` is the code that they share."""
