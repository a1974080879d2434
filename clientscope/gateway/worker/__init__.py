"""Worker processes of the gateway, which move bytes: connections, their two sides, limits and the memory budget."""
