"""What rules are made of: the batch of typed columns that they judge, effective values, software and its catalogue."""
