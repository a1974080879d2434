"""Status records in ``clientscope.status``: of clientscope's processes, the job's queries, and the brokers."""
