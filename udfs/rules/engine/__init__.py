"""Shared code of the rules: the batch of typed columns that they judge, effective values, software and its catalogue."""
