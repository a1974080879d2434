"""The gateway's processes that move bytes: connections, their two sides, limits and the budget of memory."""
