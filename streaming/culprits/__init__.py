"""Records that kill the process that decodes them: finding them, reporting them, and continuing without them.

A kernel never raises on bad bytes, so what a worker dies of is a bug of ours, of Arrow or of numpy. It must not stop a query for good.

failed_batch   which records the batch had that a query fails at, and their bytes
probe          a query's kernel in a child process, to see of which record it dies
search         both together; what it finds is skipped from then on (`streaming.checkpoints.job_records.SkippedRecord`)
"""
