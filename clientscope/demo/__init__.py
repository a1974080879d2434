"""Parts of ``clientscope demo``: a broker, a gateway, the job, the page and real clients on this machine."""
