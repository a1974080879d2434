"""What each query computes of decoded records: results, inputs of findings, counts, quarantine, and row checks."""
