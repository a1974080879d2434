"""Steps: pure functions from DataFrame to DataFrame.  Each starts from `sources.records`."""
