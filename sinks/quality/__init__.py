"""Data quality: samples of the decoded rows of each topic against a suite of expectations (docs/quality.md)."""
