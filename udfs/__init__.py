"""Arrow kernels: pure functions from Arrow arrays to Arrow arrays, a whole batch at a time. No Spark session, no I/O."""
