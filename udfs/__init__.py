"""Arrow kernels: pure functions, Arrow arrays in and out, a whole batch at a time.  No Spark session, no I/O."""
