"""History: Delta tables that the job appends to, and their maintenance."""
