"""Protocol of a connection, without I/O: the meaning of each frame from either side, and the commands that follow."""
