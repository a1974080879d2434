"""``clientscope.status``: what each of our processes, the job's queries, and the brokers say of themselves."""
