"""History: Delta tables that the job appends to, and what looks after them."""
