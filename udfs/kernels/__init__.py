"""Computations of each query on decoded records: results, inputs of findings, counts, quarantine, and row checks."""
